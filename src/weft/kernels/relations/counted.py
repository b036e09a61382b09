"""Counts by row, side by side, and a function of the two: DISTINCT, EXCEPT, INTERSECT, EXISTS on changes.

    time     1       2       3
    left    +1      +1      -1          of one row
    right                   +1
    a, b    1, 0    2, 0    1, 1
    a - b   +1      +1      -2          what EXCEPT ALL tells

All changes of one instant count together: nothing comes and goes within it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.kernels.combine import Bools, Ints
from weft.kernels.groups import GroupIndex
from weft.kernels.relations.tables import NOTHING, Changes, columns_of

Function = Callable[[Ints, Ints], Ints]  # how often a row is there, of how often it is on the left and right

LEFT, RIGHT = 0, 1
_FEW = 4096  # rows that may be known though they are nowhere


def distinct(left: Ints, right: Ints) -> Ints:
    return _once((left > 0) | (right > 0))


def except_all(left: Ints, right: Ints) -> Ints:
    more: Ints = np.maximum(left - right, 0)
    return more


def except_distinct(left: Ints, right: Ints) -> Ints:
    return _once((left > 0) & (right == 0))


def intersect_all(left: Ints, right: Ints) -> Ints:
    return np.minimum(left, right)


def intersect_distinct(left: Ints, right: Ints) -> Ints:
    return _once((left > 0) & (right > 0))


def semi(left: Ints, right: Ints) -> Ints:
    """Rows while they have a match; on the right the matches of that very row are counted."""
    return np.where(right > 0, left, 0)


def anti(left: Ints, right: Ints) -> Ints:
    """Rows while they have no match."""
    return np.where(right == 0, left, 0)


def _once(there: Bools) -> Ints:
    return there.astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """Changes by id and time, no two alike; none has the weight 0."""

    ids: Ints
    times: Ints
    weights: Ints

    def __len__(self) -> int:
        return len(self.ids)


def count(
    function: Function, ids: Ints, times: Ints, sides: Ints, weights: Ints, held: Ints
) -> tuple[Moved, Ints]:
    """What changes of the function's value, and the counts afterwards.

    `held[side, id]` counts what was there before the first of these changes, which come in any order.
    """
    if not len(ids):
        return Moved(NOTHING, NOTHING, NOTHING), held
    order = np.lexsort((times, ids))
    ids, times = ids[order], times[order]
    new_id = np.concatenate(([True], ids[1:] != ids[:-1]))
    starts = np.flatnonzero(new_id | np.concatenate(([True], times[1:] != times[:-1])))
    both = np.where(sides[order] == np.array([[LEFT], [RIGHT]]), weights[order], 0)
    moved = np.add.reduceat(both, starts, axis=1)
    ids, times, first = ids[starts], times[starts], np.flatnonzero(new_id[starts])
    sums = np.cumsum(moved, axis=1)
    before_id = np.repeat((sums - moved)[:, first], np.diff(first, append=len(ids)), axis=1)
    after = held[:, ids] + sums - before_id
    change = function(*after) - function(*(after - moved))
    told, last = np.flatnonzero(change), np.append(first[1:], len(ids)) - 1
    counts = held.copy()
    counts[:, ids[last]] = after[:, last]
    return Moved(ids[told], times[told], change[told]), counts


class Counting:
    """The counts of rows on two sides; equal in all columns, null to null and NaN to NaN."""

    def __init__(self, function: Function, column_count: int) -> None:
        self._function = function
        self._index = GroupIndex(column_count)
        self._counts = np.zeros((2, 0), np.int64)

    def __len__(self) -> int:
        """How many different rows there are on either side."""
        return int(np.count_nonzero(self._counts.any(axis=0)))

    @property
    def nbytes(self) -> int:
        return self._index.nbytes + int(self._counts.nbytes)

    def step(self, left: Changes, right: Changes | None = None) -> Changes:
        """What changes, of all changes in a span of time; spans follow one another. Named as on the left."""
        sources = [left] if right is None else [left, right]
        ids = [self._index.add(columns_of(each.table), len(each)) for each in sources]
        sides = np.repeat(np.arange(len(sources)), [len(each) for each in sources])
        times = np.concatenate([each.times for each in sources])
        weights = np.concatenate([each.weights for each in sources])
        moved, self._counts = count(
            self._function, np.concatenate(ids), times, sides, weights, self._with_room()
        )
        told = self._rows(moved, left.table.schema)
        self._forget()
        return told

    def _with_room(self) -> Ints:
        """The counts, zero for rows that have not been met before."""
        counts = np.zeros((2, len(self._index)), np.int64)
        counts[:, : self._counts.shape[1]] = self._counts
        return counts

    def _rows(self, moved: Moved, schema: pa.Schema) -> Changes:
        if not len(moved):
            return Changes.empty(schema)
        table = pa.Table.from_arrays(self._index.take(moved.ids), schema.names)
        return Changes(table, moved.times, moved.weights)

    def _forget(self) -> None:
        """Rows that are nowhere, once they are many."""
        if len(self._index) > 2 * len(self) + _FEW:
            there = np.flatnonzero(self._counts.any(axis=0))
            self._index.keep(there)
            self._counts = self._counts[:, there]
