"""What is there of rows that change, as lives within a span of time.

before the span     x twice
changes             -x at 3, +y at 5
in the span [0, 9)  x [0 9), x [0 3), y [5 9)
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.kernels.combine import Ints
from weft.kernels.groups import GroupIndex
from weft.kernels.relations.counted import Moved, count
from weft.kernels.relations.tables import Changes, Lives, columns_of
from weft.times import Instant

_FEW = 4096  # rows that may be known though they are not there


class Holding:
    """How often every different row is there; rows are equal if all their columns are."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._index = GroupIndex(len(schema.names))
        self._counts = np.zeros((2, 0), np.int64)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._counts[0]))

    @property
    def nbytes(self) -> int:
        return self._index.nbytes + int(self._counts.nbytes)

    def step(self, changes: Changes, since: Instant, upto: Instant) -> Lives:
        """What is there in [since, upto), of what was there before and all changes in between.

        Spans follow one another. A row that is there several times has as many lives.
        """
        before, moved = self._take(changes)
        first = np.full(before.shape[1], upto)
        np.minimum.at(first, moved.ids, moved.times)
        held = np.flatnonzero(before[0] > 0)
        after, ends = _after(moved, before[0]), _ends(moved, upto)
        ids = np.concatenate((held, moved.ids))
        begins = np.concatenate((np.full(len(held), since), moved.times))
        ends = np.concatenate((first[held], ends))
        there = np.concatenate((before[0][held], after))
        some = np.flatnonzero((there > 0) & (begins < ends))
        some = np.repeat(some, there[some])
        made = Lives(self._rows(ids[some]), begins[some], ends[some])
        self._forget()
        return made

    def skip(self, changes: Changes) -> None:
        """The same, where nobody asks what is there meanwhile."""
        self._take(changes)
        self._forget()

    def _take(self, changes: Changes) -> tuple[Ints, Moved]:
        ids = self._index.add(columns_of(changes.table), len(changes))
        before = np.zeros((2, len(self._index)), np.int64)
        before[:, : self._counts.shape[1]] = self._counts
        sides = np.zeros(len(ids), np.int64)
        moved, self._counts = count(lambda a, _: a, ids, changes.times, sides, changes.weights, before)
        return before, moved

    def _rows(self, ids: Ints) -> pa.Table:
        if not self._schema.names or not len(ids):
            return self._schema.empty_table()
        return pa.Table.from_arrays(self._index.take(ids), schema=self._schema)

    def _forget(self) -> None:
        """Rows that are not there, once they are many."""
        if len(self._index) > 2 * len(self) + _FEW:
            there = np.flatnonzero(self._counts[0])
            self._index.keep(there)
            self._counts = self._counts[:, there]


def _after(moved: Moved, before: Ints) -> Ints:
    """How often each row is there after each change; changes are sorted by row and time."""
    sums = np.cumsum(moved.weights)
    first = np.flatnonzero(np.diff(moved.ids, prepend=-1))
    others = np.repeat(sums[first] - moved.weights[first], np.diff(first, append=len(sums)))
    after: Ints = before[moved.ids] + sums - others
    return after


def _ends(moved: Moved, upto: Instant) -> Ints:
    """Until when that holds: the next change of the row, or the end of the span."""
    ends = np.append(moved.times[1:], upto)[: len(moved)]
    ends[np.diff(moved.ids, append=-1) != 0] = upto
    return ends
