"""Rows with lives, and rows that change: the two things that relations hand to each other.

    Lives      row  begin  end        the row is there as of every t with begin <= t < end
    Changes    row  time   weight     from then on the row is there so many times more, or fewer

Times are whole microseconds. A life that has no end ends NEVER; one that ends where it begins is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.kernels.arrow import whole
from weft.kernels.combine import Bools, Ints
from weft.times import Instant

NEVER: Instant = 2**63 - 1  # after every instant that a row can have
NOTHING: Ints = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Lives:
    """Rows, each told once; a table without columns has rows as well, and so they are counted by `begins`."""

    table: pa.Table
    begins: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.begins)

    @classmethod
    def empty(cls, schema: pa.Schema) -> Self:
        return cls(schema.empty_table(), NOTHING, NOTHING)

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """The rows of all parts, of which there is at least one."""
        begins = np.concatenate([part.begins for part in parts])
        ends = np.concatenate([part.ends for part in parts])
        return cls(_together([part.table for part in parts]), begins, ends)

    def take(self, rows: Ints) -> Lives:
        return Lives(take(self.table, rows), self.begins[rows], self.ends[rows])

    def filter(self, wanted: Bools) -> Lives:
        return self.take(np.flatnonzero(wanted))

    def changes(self, since: Instant, upto: Instant) -> Changes:
        """What changes at the times of [since, upto): a life that began before only ends."""
        some = self.begins < self.ends
        come = np.flatnonzero(some & (self.begins >= since) & (self.begins < upto))
        gone = np.flatnonzero(some & (self.ends >= since) & (self.ends < upto))
        times = np.concatenate((self.begins[come], self.ends[gone]))
        weights = np.repeat(np.array([1, -1]), [len(come), len(gone)])
        return Changes(take(self.table, np.concatenate((come, gone))), times, weights)


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Rows that begin to hold (a weight above zero) or end (below), in any order."""

    table: pa.Table
    times: Ints
    weights: Ints

    def __len__(self) -> int:
        return len(self.times)

    @classmethod
    def empty(cls, schema: pa.Schema) -> Self:
        return cls(schema.empty_table(), NOTHING, NOTHING)

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """The changes of all parts, of which there is at least one."""
        times = np.concatenate([part.times for part in parts])
        weights = np.concatenate([part.weights for part in parts])
        return cls(_together([part.table for part in parts]), times, weights)

    def take(self, rows: Ints) -> Changes:
        return Changes(take(self.table, rows), self.times[rows], self.weights[rows])

    def filter(self, wanted: Bools) -> Changes:
        return self.take(np.flatnonzero(wanted))


def columns_of(table: pa.Table) -> list[pa.Array]:
    """The columns, each in one piece."""
    return [whole(column) for column in table.columns]


def take(table: pa.Table, rows: Ints) -> pa.Table:
    """Rows of a table by their places; a table without columns stays as it is."""
    return pc.take(table, pa.array(rows), boundscheck=False) if table.num_columns else table


def _together(tables: Sequence[pa.Table]) -> pa.Table:
    """In one piece each column, so that rows are taken from it without looking for their piece."""
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables).combine_chunks()
