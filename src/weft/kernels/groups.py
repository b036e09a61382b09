"""Group keys to small integers and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from weft.kernels.arrow import all_true
from weft.kernels.combine import Bools, Ints
from weft.kernels.growing import Growing
from weft.kernels.hashing import hash_plain
from weft.kernels.hashtable import HashTable
from weft.kernels.keys import Keys, TextKeys, as_type, keys_of
from weft.kernels.plain import Plain, plain

PIECE = 1 << 16  # rows that are looked up at a time
FEW = 4096


class GroupIndex:
    """Ids 0, 1, 2, ... of the distinct keys met, in order of first appearance.

    Null, NaN and "" are keys like any other; 0.0 and -0.0 are one key. Without keys there is one group.

    Keys are found by their hashes and compared with those stored, so what comes out never rests on chance: if
    two different keys have one hash, all are hashed anew with another seed.
    """

    _hash = staticmethod(hash_plain)

    def __init__(self, key_count: int) -> None:
        self.key_count = key_count
        self._begin()

    def _begin(self) -> None:
        self._table, self._seed = HashTable(), 0
        self._texts: dict[Any, int] = {}  # a cache, where there are few
        self._keys: list[Keys] | None = None  # None as long as there is none
        self._prefixes: GroupIndex | None = None  # the keys but the last, once they are asked for
        self._family = Growing(np.zeros(0, np.int64))  # per group its prefix, as far as it was asked for

    def __len__(self) -> int:
        return len(self._table) if self.key_count else 1

    @property
    def nbytes(self) -> int:
        prefixes = 0 if self._prefixes is None else self._prefixes.nbytes
        keys = sum(each.nbytes for each in self._keys or ())
        return keys + self._table.nbytes + self._family.nbytes + prefixes

    def add(self, keys: Sequence[pa.Array], rows: int | None = None) -> Ints:
        """The ids of the keys, new where they have not been met. `rows`: how many, where there is no key."""
        if not self.key_count:
            return np.zeros(rows or 0, np.int64)
        if self._keys is None:
            self._keys = [keys_of(key.type) for key in keys]
        keys = [as_type(key, mine.type) for key, mine in zip(keys, self._keys, strict=True)]
        few = self.key_count == 1 and max(len(keys[0]), len(self)) <= FEW
        return self._add_few(keys[0]) if few and isinstance(self._keys[0], TextKeys) else self._add(keys)

    def _add_few(self, key: pa.Array) -> Ints:
        """The same for a few texts: a dict finds those met before at half the price."""
        encoded = key.dictionary_encode(null_encoding="encode")
        texts = encoded.dictionary.to_pylist()
        found = [self._texts.get(text, -1) for text in texts]
        if -1 in found:
            found = self._add([encoded.dictionary]).tolist()
            known = self._texts if len(self._texts) <= FEW else {}
            self._texts = known | dict(zip(texts, found))
        ids: Ints = np.array(found, np.int64)[encoded.indices.to_numpy()]
        return ids

    def _add(self, keys: Sequence[pa.Array]) -> Ints:
        added = []
        for piece in _pieces(keys):
            flat = [plain(key) for key in piece]
            while (ids := self._try_add(piece, flat)) is None:
                self._reseed()
            added.append(ids)
        return np.concatenate(added)

    def _try_add(self, keys: Sequence[pa.Array], flat: Sequence[Plain]) -> Ints | None:
        """The ids of the keys; None if two keys share a hash, and nothing is added."""
        assert self._keys is not None
        before = len(self)
        ids, first = self._table.add(self._hash(flat, len(flat[0]), self._seed))
        if not first.size:
            return ids if self._are(ids, flat) else None
        for mine, key in zip(self._keys, keys):
            mine.extend(key.take(pa.array(first)))
        others = np.ones(len(ids), bool)
        others[first] = False
        rows = np.flatnonzero(others)
        if self._are(ids[rows], [part.take(rows) for part in flat]):
            return ids
        for mine in self._keys:
            mine.truncate(before)
        return None

    def _are(self, ids: Ints, flat: Sequence[Plain]) -> bool:
        """Whether the keys of all these groups are these."""
        return all_true(self._equal(ids, flat))

    def _equal(self, ids: Ints, flat: Sequence[Plain]) -> Bools:
        assert self._keys is not None
        same = self._keys[0].equal(ids, flat[0])
        for mine, part in zip(self._keys[1:], flat[1:]):
            same &= mine.equal(ids, part)
        return same

    def _reseed(self) -> None:
        """Hash all keys anew, with a seed that gives different hashes to all of them."""
        assert self._keys is not None
        flat = [mine.plain() for mine in self._keys]
        count = len(flat[0])
        while True:
            self._seed += 1
            self._table = HashTable()
            self._table.add(self._hash(flat, count, self._seed))
            if len(self._table) == count:
                return

    def lookup(self, keys: Sequence[pa.Array], rows: int | None = None) -> Ints:
        """The ids of the keys, -1 where they have not been met."""
        if not self.key_count:
            return np.zeros(rows or 0, np.int64)
        if self._keys is None:
            return np.full(len(keys[0]), -1, np.int64)
        keys = [as_type(key, mine.type) for key, mine in zip(keys, self._keys, strict=True)]
        return np.concatenate([self._find(piece) for piece in _pieces(keys)])

    def _find(self, keys: Sequence[pa.Array]) -> Ints:
        flat = [plain(key) for key in keys]
        ids = self._table.find(self._hash(flat, len(flat[0]), self._seed))
        known = ids >= 0
        if all_true(known):
            return np.where(self._equal(ids, flat), ids, -1)
        rows = np.flatnonzero(known)
        ids[rows[~self._equal(ids[rows], [part.take(rows) for part in flat])]] = -1
        return ids

    def take(self, ids: Ints) -> list[pa.Array]:
        """The keys of the groups, one array per key."""
        if self._keys is None:
            return [pa.nulls(0) for _ in range(self.key_count)]
        return [mine.take(ids) for mine in self._keys]

    def family(self, ids: Ints) -> Ints:
        """A number for the keys of each group but the last."""
        if self._prefixes is None:
            self._prefixes = GroupIndex(self.key_count - 1)
        new = np.arange(len(self._family), len(self))
        if new.size:
            self._family.extend(self._prefixes.add(self.take(new)[:-1], len(new)))
        family: Ints = self._family.used[ids]
        return family

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_texts": {}}

    def keep(self, ids: Ints) -> None:
        """Forget all groups but these, which become 0, 1, 2, ..."""
        if self._keys is None:
            return
        kept = self.take(ids)
        self._begin()
        self.add(kept)


def _pieces(keys: Sequence[pa.Array]) -> list[Sequence[pa.Array]]:
    """The rows in pieces, so that what is made of them on the way stays small; at least one."""
    rows = len(keys[0])
    return [keys] if rows <= PIECE else [[k.slice(at, PIECE) for k in keys] for at in range(0, rows, PIECE)]
