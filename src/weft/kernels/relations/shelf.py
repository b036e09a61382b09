"""Rows with lives in the order in which they came, in few parts, each row under a number that it keeps.

    refs    0 1 2 3 4 5 | 9 11 12 | 13 14 15        7, 8 and 10 have ended, and their part was written anew

Rows that live equally long end in the order in which they came: parts go as a whole, from the front. Of rows
that do not, those that have ended are at most a quarter of what is held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.kernels.combine import Ints
from weft.kernels.relations.tables import NOTHING, Lives, take
from weft.times import Instant

_PART = 1 << 14  # rows of a part, at least, before it is left alone
_PARTS = 16  # and beyond that this share of all rows
_ENDED, _WORN = 4, 8  # parts are written anew when one row in 4 has ended: those that lost one in 8


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Rows by ascending number; the least and the greatest of their ends."""

    refs: Ints
    lives: Lives
    first_end: Instant
    last_end: Instant

    @classmethod
    def of(cls, refs: Ints, lives: Lives) -> Part:
        return cls(refs, lives, int(lives.ends.min()), int(lives.ends.max()))

    def ended(self, before: Instant) -> int:
        """How many rows have ended."""
        return int(np.count_nonzero(self.lives.ends <= before)) if self.first_end <= before else 0

    def without(self, before: Instant) -> Part:
        """Without the rows that have ended; some have not."""
        left = np.flatnonzero(self.lives.ends > before)
        return Part.of(self.refs[left], self.lives.take(left))


class Shelf:
    """`put` gives every row its number, by which it is taken until it has ended."""

    def __init__(self, schema: pa.Schema | None = None) -> None:
        self._schema = schema  # of the rows, once it is known
        self._parts: list[Part] = []
        self._ended: list[int] = []  # rows of each part
        self._next = 0
        self._numbers: Ints | None = None  # of all rows, while it is known
        self._tables: dict[str, pa.Table] = {}  # of all rows, while they are known

    def __len__(self) -> int:
        """How many rows have not ended."""
        return self._rows() - sum(self._ended)

    @property
    def nbytes(self) -> int:
        return sum(3 * part.refs.nbytes + int(part.lives.table.nbytes) for part in self._parts)

    def put(self, lives: Lives) -> Ints:
        """The numbers of rows, none of which has ended."""
        self._schema = self._schema or lives.table.schema
        refs = np.arange(self._next, self._next + len(lives))
        if not len(lives):
            return refs
        self._next += len(lives)
        last = self._last_to_leave(len(lives))
        parts = [*self._parts[last:], Part.of(refs, lives)]
        together = Lives.concat([part.lives for part in parts])
        self._parts[last:] = [Part.of(np.concatenate([part.refs for part in parts]), together)]
        self._ended[last:] = [sum(self._ended[last:])]
        self._forget()
        return refs

    def _last_to_leave(self, rows: int) -> int:
        """How many parts stay as they are when so many rows come: those behind are put together with them."""
        last, most = len(self._parts), max(_PART, self._rows() // _PARTS)
        while last and rows < most and len(self._parts[last - 1].refs) < 2 * rows:
            last -= 1
            rows += len(self._parts[last].refs)
        return last

    def take(self, refs: Ints, columns: Sequence[str] | None) -> pa.Table:
        """Columns of rows that have not ended; None: all."""
        table = self._table("rows", [part.lives.table for part in self._parts])
        return take(table if columns is None else table.select(columns), self._places(refs))

    def begins(self, refs: Ints) -> Ints:
        return self._times("begins", [part.lives.begins for part in self._parts], refs)

    def ends(self, refs: Ints) -> Ints:
        return self._times("ends", [part.lives.ends for part in self._parts], refs)

    def all(self) -> Lives:
        """All rows, of which some may have ended."""
        nothing = Lives.empty(pa.schema([]) if self._schema is None else self._schema)
        return Lives.concat([part.lives for part in self._parts]) if self._parts else nothing

    def live(self, at: Instant) -> Ints:
        """The numbers of the rows that are there as of `at`, ascending."""
        there = [part.refs[(part.lives.begins <= at) & (at < part.lives.ends)] for part in self._parts]
        return np.concatenate([NOTHING, *there])

    def expire(self, before: Instant) -> None:
        """Forget rows with `end <= before`."""
        self._parts = [part for part in self._parts if part.last_end > before]
        self._ended = [part.ended(before) for part in self._parts]
        if _ENDED * sum(self._ended) > self._rows():
            for at, ended in enumerate(self._ended):
                if _WORN * ended > len(self._parts[at].refs):
                    self._parts[at], self._ended[at] = self._parts[at].without(before), 0
        self._forget()

    def _rows(self) -> int:
        return sum(len(part.refs) for part in self._parts)

    def _forget(self) -> None:
        self._numbers, self._tables = None, {}

    def _places(self, refs: Ints) -> Ints:
        """Where the rows lie, counted through all parts."""
        if self._numbers is None:
            self._numbers = np.concatenate([NOTHING, *(part.refs for part in self._parts)])
        known = self._numbers
        if len(known) and known[-1] - known[0] == len(known) - 1:
            behind: Ints = refs - known[0]
            return behind
        return np.searchsorted(known, refs)

    def _times(self, name: str, times: list[Ints], refs: Ints) -> Ints:
        table = self._table(name, [pa.table({name: pa.array(each)}) for each in times or [NOTHING]])
        found: Ints = take(table, self._places(refs)).column(name).to_numpy()
        return found

    def _table(self, name: str, parts: list[pa.Table]) -> pa.Table:
        if name not in self._tables:
            nothing = pa.schema([]) if self._schema is None else self._schema
            self._tables[name] = pa.concat_tables(parts) if parts else nothing.empty_table()
        return self._tables[name]
