"""The rows of one side of a join: found by key and time, each held until its life has ended.

    store.pairs(keys, begins, ends)    row 0   ──  17, 42       rows with equal keys, alive at the same time
                                       row 2   ──  42
    store.take(refs, columns)          17, 42, 42  ─►  their columns

Rows lie in *classes* by how long they live. Those of one class live equally long, so a probe finds just the
rows that it has met, and none else; where a class is made of several lengths of life, or of any, it looks at
some in vain. Fewer classes are fewer look-ups: which lengths are kept together is for others to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from weft.kernels.arrow import whole
from weft.kernels.combine import Bools, Ints
from weft.kernels.groups import GroupIndex
from weft.kernels.relations.lots import Found, Lot, Probe, lengths_of
from weft.kernels.relations.shelf import Shelf
from weft.kernels.relations.tables import NEVER, NOTHING, Lives
from weft.times import BEGINNING, Duration, Instant

_FEW = 4096  # keys that may be known though no row has them

Keys = Sequence[pa.Array | pa.ChunkedArray]


class RowStore:
    """Rows with `key_count` keys, which lie together in a class where `classes` lists how long they live.

    Rows of any other length are a class of their own, and those without end another. A null key is equal to
    nothing, so rows that have one are not held; `null_safe`: it is equal to itself.
    """

    def __init__(
        self,
        key_count: int,
        classes: Sequence[Sequence[Duration]] = (),
        *,
        null_safe: bool = False,
        schema: pa.Schema | None = None,
    ) -> None:
        self._index = GroupIndex(key_count)
        self._null_safe = null_safe
        self._shelf = Shelf(schema)
        self._before = BEGINNING
        self._lots: list[Lot] = []
        self.regroup(classes)

    def regroup(self, classes: Sequence[Sequence[Duration]]) -> None:
        """From now on rows lie in these classes, also those that are held."""
        known = {NEVER: len(classes)} | {each: at for at, some in enumerate(classes) for each in some}
        self._lengths = np.array(sorted(known), np.int64)
        self._class_of = np.array([known[each] for each in sorted(known)], np.int64)
        held = [rows for lot in self._lots for rows in lot.rows_by_run()]
        self._lots = [Lot() for _ in range(len(classes) + 2)]
        for keys, begins, ends, refs in held:
            self._sort_in(keys, begins, ends, refs)

    def __len__(self) -> int:
        """How many rows are held that have not ended."""
        return len(self._shelf)

    @property
    def nbytes(self) -> int:
        return self._shelf.nbytes + self._index.nbytes + sum(lot.nbytes for lot in self._lots)

    def add(self, keys: Keys, lives: Lives) -> None:
        """Hold rows until they end; those that have ended already are not held."""
        wanted = (
            (lives.begins < lives.ends) & (lives.ends > self._before) & self._comparable(keys, len(lives))
        )
        rows = np.flatnonzero(wanted)
        if len(rows) < len(lives):
            keys, lives = [whole(key).take(pa.array(rows)) for key in keys], lives.take(rows)
        refs = self._shelf.put(lives)
        if not len(lives):
            return
        ids = self._index.add([whole(key) for key in keys], len(lives))
        self._sort_in(ids, lives.begins, lives.ends, refs)

    def _sort_in(self, keys: Ints, begins: Ints, ends: Ints, refs: Ints) -> None:
        lengths = lengths_of(begins, ends)
        places = np.searchsorted(self._lengths, lengths)
        known = self._lengths[places] == lengths
        classes = np.where(known, self._class_of[places], len(self._lots) - 1)
        for at in np.unique(classes):
            mine = np.flatnonzero(classes == at)
            self._lots[at].add(keys[mine], begins[mine], ends[mine], refs[mine])

    def pairs(self, keys: Keys, begins: Ints, ends: Ints) -> Found:
        """The pairs of these rows with rows that have equal keys and live when they do, in no order."""
        found = list(self.pieces(keys, begins, ends))
        if len(found) == 1:
            return found[0]
        columns = ([getattr(each, name) for each in found] for name in ("rows", "refs", "begins", "ends"))
        return Found(*(np.concatenate([NOTHING, *parts]) for parts in columns))

    def pieces(self, keys: Keys, begins: Ints, ends: Ints) -> Iterator[Found]:
        """The same, a piece after the other, for there may be very many where a key is frequent."""
        ids = self._index.lookup([whole(key) for key in keys], len(begins))
        rows = np.flatnonzero((ids >= 0) & (begins < ends))
        rows = rows[np.argsort(ids[rows])]
        since = np.maximum(begins[rows], self._before)  # some rows that have ended may still lie in a run
        probe = Probe(since, ids[rows], begins[rows], ends[rows], rows)
        for lot in self._lots if len(rows) else ():
            yield from lot.find(probe)

    def take(self, refs: Ints, columns: Sequence[str] | None = None) -> pa.Table:
        """Columns of rows that are held; None: all."""
        return self._shelf.take(refs, columns)

    def begins(self, refs: Ints) -> Ints:
        return self._shelf.begins(refs)

    def ends(self, refs: Ints) -> Ints:
        return self._shelf.ends(refs)

    @property
    def keys(self) -> int:
        """How many different keys rows have had; few more than they have."""
        return len(self._index)

    def all(self) -> Lives:
        """All rows that are held, in the order in which they came."""
        lives = self._shelf.all()
        return lives.filter(lives.ends > self._before)

    def live(self, at: Instant) -> Ints:
        """The rows that are there as of `at`, in the order in which they came."""
        return self._shelf.live(at)

    def expire(self, before: Instant) -> None:
        """Forget rows with `end <= before`, and keys that no row has, once they are many."""
        self._before = max(self._before, before)
        self._shelf.expire(self._before)
        for lot in self._lots:
            lot.expire(self._before)
        if len(self._index) > 2 * len(self) + _FEW:
            self._forget_keys()

    def _forget_keys(self) -> None:
        in_use = [keys for lot in self._lots for keys, *_ in lot.rows_by_run()]
        known = np.unique(np.concatenate([NOTHING, *in_use]))
        self._index.keep(known)
        for lot in self._lots:
            lot.renumber(known)

    def _comparable(self, keys: Keys, rows: int) -> Bools:
        """Where no key is null, or where that does not matter."""
        wanted = np.ones(rows, bool)
        for key in keys:
            if key.null_count and not self._null_safe:
                wanted &= whole(key).is_valid().to_numpy(zero_copy_only=False)
        return wanted
