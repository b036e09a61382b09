"""Group keys to small integers and back."""

from __future__ import annotations

from collections.abc import Sequence
from sys import getsizeof
from typing import Any

import numpy as np
import pyarrow as pa

from weft.kernels.combine import Ints


class GroupIndex:
    """Ids 0, 1, 2, ... of the distinct keys met, in order of first appearance.

    Null, NaN and "" are keys like any other; 0.0 and -0.0 are one key. Without keys there is one group.
    """

    def __init__(self, key_count: int) -> None:
        self.key_count = key_count
        self._begin()

    def _begin(self) -> None:
        self._columns = [_Distinct() for _ in range(self.key_count)]
        self._pairs = [_Distinct() for _ in range(self.key_count - 1)]
        self._keys: list[pa.Array] | None = None  # per group; None as long as there is none
        self._family: Ints = np.zeros(
            0, np.int64
        )  # per group; groups that differ in the last key alone share it
        self._count = 0

    def __len__(self) -> int:
        return self._count if self.key_count else 1

    @property
    def nbytes(self) -> int:
        tables = sum(getsizeof(distinct.ids) for distinct in (*self._columns, *self._pairs))
        return sum(int(array.nbytes) for array in self._keys or ()) + tables + int(self._family.nbytes)

    def add(self, keys: Sequence[pa.Array], rows: int | None = None) -> Ints:
        """The ids of the keys, new where they have not been met. `rows`: how many, where there is no key."""
        if not self.key_count:
            return np.zeros(rows or 0, np.int64)
        hashed = [_canonical(array) for array in keys]
        family, ids = np.zeros(len(hashed[0]), np.int64), self._columns[0].add(hashed[0])
        for column, pair, array in zip(self._columns[1:], self._pairs, hashed[1:]):
            family, ids = ids, pair.add(_pair(ids, column.add(array)))
        self._remember(ids, family, keys)
        return ids

    def lookup(self, keys: Sequence[pa.Array], rows: int | None = None) -> Ints:
        """The ids of the keys, -1 where they have not been met."""
        if not self.key_count:
            return np.zeros(rows or 0, np.int64)
        hashed = [_canonical(array) for array in keys]
        ids = self._columns[0].find(hashed[0])
        for column, pair, array in zip(self._columns[1:], self._pairs, hashed[1:]):
            other = column.find(array)
            found = pair.find(_pair(ids, other))
            ids = np.where((ids < 0) | (other < 0), -1, found)
        return ids

    def take(self, ids: Ints) -> list[pa.Array]:
        """The keys of the groups, one array per key."""
        if self._keys is None:
            return [pa.nulls(0) for _ in range(self.key_count)]
        chosen = pa.array(ids)
        return [array.take(chosen) for array in self._keys]

    def family(self, ids: Ints) -> Ints:
        """A number for the keys of each group but the last."""
        return self._family[ids]

    def keep(self, ids: Ints) -> None:
        """Forget all groups but these, which become 0, 1, 2, ..."""
        if self._keys is None:
            return
        kept = self.take(ids)
        self._begin()
        self.add(kept)

    def _remember(self, ids: Ints, family: Ints, keys: Sequence[pa.Array]) -> None:
        """Ids are dealt out in order of appearance: the new ones are those above all before them."""
        new = np.flatnonzero(ids >= self._count)
        if not new.size:
            return
        first = new[np.unique(ids[new], return_index=True)[1]]
        fresh = [_normal(array.take(pa.array(first))) for array in keys]
        known = self._keys or [array.slice(0, 0) for array in fresh]
        self._keys = [pa.concat_arrays([old, _as(add, old.type)]) for old, add in zip(known, fresh)]
        self._family = np.concatenate([self._family, family[first]])
        self._count += len(first)


class _Distinct:
    """The distinct values met, numbered: what a batch brings is looked up without hashing the rest again."""

    def __init__(self) -> None:
        self.type: pa.DataType | None = None
        self.ids: dict[Any, int] = {}

    def add(self, array: pa.Array) -> Ints:
        if self.type is None:
            self.type = array.type
        values, places = self._encode(array)
        new = [value for value in values if value not in self.ids]
        self.ids.update(zip(new, range(len(self.ids), len(self.ids) + len(new))))
        return np.fromiter(map(self.ids.__getitem__, values), np.int64, len(values))[places]

    def find(self, array: pa.Array) -> Ints:
        values, places = self._encode(array)
        return np.fromiter((self.ids.get(value, -1) for value in values), np.int64, len(values))[places]

    def _encode(self, array: pa.Array) -> tuple[list[Any], Ints]:
        """The distinct values of a batch, and which of them stands at each row."""
        array = array if self.type is None else _as(array, self.type)
        encoded = array.dictionary_encode(null_encoding="encode")
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def _pair(left: Ints, right: Ints) -> pa.Array:
    return pa.array((left << 32) | (right & 0xFFFFFFFF))


def _normal(array: pa.Array) -> pa.Array:
    """Floats with one zero and one NaN."""
    if not pa.types.is_floating(array.type):
        return array
    numbers = np.array(array.fill_null(0).to_numpy(zero_copy_only=False)) + 0
    numbers[np.isnan(numbers)] = np.nan
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return pa.array(numbers, array.type, mask=nulls)


def _canonical(array: pa.Array) -> pa.Array:
    """Equal keys as equal values of a plain type."""
    type = array.type
    if pa.types.is_floating(type):
        return _normal(array).view(pa.int32() if pa.types.is_float32(type) else pa.int64())
    if pa.types.is_date32(type):
        return array.view(pa.int32())
    if pa.types.is_timestamp(type):
        return array.view(pa.int64())
    if pa.types.is_nested(type):
        return pa.array(map(repr, array.to_pylist()), pa.string())
    return array


def _as(array: pa.Array, type: pa.DataType) -> pa.Array:
    return array if array.type == type else array.cast(type)
