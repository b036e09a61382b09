"""DISTINCT of rows with lives: each value is told with a life, and when that ends, the longest goes on.

    rows of one value     [1        6)
                             [2 4)
                              [3        8)                      [12  14)
    told                  [1        6)[6  8)                    [12  14)

That is delta-star of Golab (2006), 3.5.2, with its erratum: what goes on is the equal row that lives longest,
not the youngest, for rows of other operators live for any time. Per value that is there, its life and at most
one that goes on are held: no more than twice what was told and has not ended.

All values, and all lives of a value, are done at once: whichever row is told, which goes on after it depends
on its end alone, so each row knows its next, and those that are told are the ones that can be reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from weft.errors import Bug
from weft.kernels.arrow import array_of, numbers
from weft.kernels.combine import Ints
from weft.kernels.groups import GroupIndex
from weft.kernels.relations.lots import Scale
from weft.kernels.relations.tables import Lives, columns_of
from weft.times import BEGINNING, Instant

_NONE = BEGINNING  # the end of a life that is not there
_FEW = 4096  # values that may be known though they are not there
_END, _NEXT = "_weft_end", "_weft_next"  # columns of a state, behind those of the values


class Longest:
    """The values that are there, each with the end of the life that was told, and of the one that goes on."""

    def __init__(self, column_count: int) -> None:
        self._index = GroupIndex(column_count)
        self._ends = np.zeros((2, 0), np.int64)  # [told or goes on, value]

    def __len__(self) -> int:
        """How many lives are held."""
        return int(np.count_nonzero(self._ends != _NONE))

    @property
    def nbytes(self) -> int:
        return self._index.nbytes + int(self._ends.nbytes)

    def step(self, lives: Lives, since: Instant, upto: Instant) -> Lives:
        """What is told from `since` until `upto`: of all rows that begin in between, and what is held.

        Spans follow one another. A row that began before `since` counts from then on.
        """
        since = max(since, BEGINNING + 2)
        begins = np.maximum(lives.begins, since)
        wanted = np.flatnonzero(begins < lives.ends)
        ids = self._index.add(columns_of(lives.take(wanted).table), len(wanted))
        rows = self._among_held(ids, begins[wanted], lives.ends[wanted], since)
        told = rows.told(upto)
        self._hold(rows, told, upto)
        starts = rows.starts(told)
        new = np.flatnonzero(rows.begins[told] >= since - 1)
        answer = self._lives(rows.values[told[new]], starts[new], rows.ends[told[new]], lives)
        self._forget()
        return answer

    def state(self) -> pa.Table:
        """All that is held, as a table: the values, and the ends of their lives."""
        there = np.flatnonzero(self._ends[0] != _NONE)
        told, goes_on = self._ends[:, there]
        columns = {f"{at}": column for at, column in enumerate(self._index.take(there))}
        return pa.table(columns | {_END: array_of(told), _NEXT: array_of(goes_on, goes_on != _NONE)})

    @classmethod
    def restored(cls, state: pa.Table) -> Self:
        """From what `state` gave."""
        *values, told, goes_on = columns_of(state)
        made = cls(len(values))
        made._index.add(values, len(state))
        if len(made._index) != len(state):
            raise Bug(
                "snapshot-state", f"{len(state)} values were saved, {len(made._index)} of them different"
            )
        made._ends = np.stack((numbers(told, np.int64, _NONE), numbers(goes_on, np.int64, _NONE)))
        return made

    def mended(self, lives: Lives, upto: Instant) -> Lives:
        """Lives of values, at most one of each after `upto`: those end as was told of what is held."""
        on = np.flatnonzero(lives.ends >= upto)
        ids = self._index.lookup(columns_of(lives.take(on).table), len(on))
        ends = lives.ends.copy()
        ends[on] = self._ends[0, ids]
        return Lives(lives.table, lives.begins, ends)

    def _among_held(self, ids: Ints, begins: Ints, ends: Ints, since: Instant) -> Rows:
        """The rows and what is held; of a value, what was told comes first, then what goes on."""
        which, held = np.nonzero(self._ends != _NONE)
        values = np.concatenate((ids, held))
        begins = np.concatenate((begins, since - 2 + which))
        return Rows.of(values, begins, np.concatenate((ends, self._ends[which, held])))

    def _hold(self, rows: Rows, told: Ints, upto: Instant) -> None:
        """The last life of each value that was told, and the longest of all that began."""
        self._ends = np.full((2, len(self._index)), _NONE)
        values = rows.values[told]
        last = told[np.flatnonzero(np.diff(values, append=-1))]
        last = last[rows.ends[last] >= upto]
        self._ends[0, rows.values[last]] = rows.ends[last]
        longest = rows.longest_of_all(last)
        some = longest > rows.ends[last]
        self._ends[1, rows.values[last[some]]] = longest[some]

    def _lives(self, values: Ints, begins: Ints, ends: Ints, like: Lives) -> Lives:
        if not len(values):
            return Lives.empty(like.table.schema)
        return Lives(pa.Table.from_arrays(self._index.take(values), like.table.schema.names), begins, ends)

    def _forget(self) -> None:
        """Values that are not there, once they are many."""
        there = np.flatnonzero(self._ends[0] != _NONE)
        if len(self._index) > 2 * len(there) + _FEW:
            self._index.keep(there)
            self._ends = self._ends[:, there]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows sorted by value and begin; for each the one that lives longest of those up to it, of its value."""

    values: Ints
    begins: Ints
    ends: Ints
    longest: Ints

    @classmethod
    def of(cls, values: Ints, begins: Ints, ends: Ints) -> Rows:
        order = np.lexsort((begins, values))
        values, begins, ends = values[order], begins[order], ends[order]
        by_end = np.argsort(ends)
        ranks = np.empty(len(ends), np.int64)
        ranks[by_end] = np.arange(len(ends))
        greatest = np.maximum.accumulate(values * len(ends) + ranks)  # a greater value begins anew
        return cls(values, begins, ends, by_end[greatest - values * len(ends)])

    def told(self, upto: Instant) -> Ints:
        """The rows that are told, ascending: the first of each value, and all that follow on one another."""
        count = len(self.values)
        reached = np.zeros(count + 1, bool)
        first = np.flatnonzero(np.diff(self.values, prepend=-1))
        reached[self.longest[self._last_alike()[first]]] = True
        steps = [self._nexts(upto)]
        while (steps[-1] < count).any():
            steps.append(steps[-1][steps[-1]])  # twice as far
        for step in reversed(steps):
            reached[step[reached]] = True
        return np.flatnonzero(reached[:count])

    def starts(self, told: Ints) -> Ints:
        """When the lives of these rows are told to begin: not before the one before has ended."""
        starts = self.begins[told].copy()
        after = np.flatnonzero(np.diff(self.values[told]) == 0) + 1
        starts[after] = np.maximum(starts[after], self.ends[told[after - 1]])
        return starts

    def longest_of_all(self, rows: Ints) -> Ints:
        """The greatest end of all rows with the same value."""
        last = np.searchsorted(self.values, self.values[rows], side="right") - 1
        return self.ends[self.longest[last]]

    def _nexts(self, upto: Instant) -> Ints:
        """For each row that which goes on when it ends, or else begins next; none is the number of rows."""
        count = len(self.values)
        nexts = np.full(count + 1, count)
        ending = np.flatnonzero(self.ends < upto)
        if not len(ending):
            return nexts
        scale = Scale.of(self.begins, int(self.values[-1]) + 1)
        codes = (self.values << scale.bits) + scale.encode(self.begins)
        asked = (self.values[ending] << scale.bits) + scale.encode(self.ends[ending] + 1)
        behind = np.searchsorted(codes, asked)  # the first that begins later
        goes_on = self.longest[behind - 1]
        later = np.minimum(behind, count - 1)
        follows = (behind < count) & (self.values[later] == self.values[ending])
        later = np.where(follows, self.longest[self._last_alike()[later]], count)
        nexts[ending] = np.where(self.ends[goes_on] > self.ends[ending], goes_on, later)
        return nexts

    def _last_alike(self) -> Ints:
        """For each row the last with its value and begin."""
        new = (np.diff(self.values, append=-1) != 0) | (np.diff(self.begins, append=0) != 0)
        last = np.flatnonzero(new)
        return np.repeat(last, np.diff(last, prepend=-1))
