"""DISTINCT of rows with lives."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from weft.engine.relations.evaluate import schema_of
from weft.engine.relations.operator import Carried, Told
from weft.kernels.relations.longest import Longest
from weft.kernels.relations.tables import Lives
from weft.plan.relations import Distinct
from weft.plan.relationtree import columns
from weft.times import BEGINNING, Instant


class Deduplicating(Carried):
    """Each different row once, while there is any: delta-star.

    Where one life of a value ends and the next begins depends on all that was told of it before. So what is
    held is kept in snapshots; of rows that are read again afterwards the lives end as they were told to.
    """

    def __init__(self, relation: Distinct) -> None:
        super().__init__(columns(relation))
        self.longest = Longest(len(self.columns))
        self._ahead = Lives.empty(schema_of(self.columns))  # rows that begin later
        self._since = BEGINNING
        self._saved: Longest | None = None  # what was held, until its rows are back

    @property
    def rows(self) -> int:
        return len(self.longest) + len(self._ahead)

    @property
    def nbytes(self) -> int:
        return self.longest.nbytes + int(self._ahead.table.nbytes) + 16 * len(self._ahead)

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        (rows,) = told
        assert isinstance(rows, Lives)
        if self._saved is not None:
            return self._refilled(rows, upto)
        return self._begun(rows, upto)

    def _begun(self, rows: Lives, upto: Instant) -> Lives:
        waiting = Lives.concat([self._ahead, rows])
        if upto == BEGINNING:
            self._ahead = waiting
            return rows.take(rows.begins[:0])
        begun = waiting.begins < upto
        self._ahead = waiting.filter(~begun)
        since, self._since = self._since, upto
        return self.longest.step(waiting.filter(begun), since, upto)

    def _refilled(self, rows: Lives, upto: Instant) -> Lives:
        """What had been told, as far as its rows are back: for those that rest on it."""
        told = self._begun(rows, upto)
        assert self._saved is not None
        self.longest, self._saved = self._saved, None
        return self.longest.mended(told, upto)

    def save(self) -> pa.Table:
        """What it holds, as a table of a snapshot."""
        return self.longest.state()

    def restore(self, saved: pa.Table) -> None:
        """Go on from what was saved, once the rows of then are back: with the next that it is told."""
        nothing = not saved.num_rows  # its columns have no types
        self._saved = Longest(len(self.columns)) if nothing else Longest.restored(saved)


class DeduplicatingAll(Carried):
    """The same, with all rows that have not ended in one list, which is looked through in every step."""

    def __init__(self, relation: Distinct) -> None:
        super().__init__(columns(relation))
        self._input = Lives.empty(schema_of(self.columns))
        self._told = Longest(len(self.columns))
        self._since = BEGINNING

    @property
    def rows(self) -> int:
        return len(self._input) + len(self._told)

    @property
    def nbytes(self) -> int:
        return self._told.nbytes + int(self._input.table.nbytes) + 16 * len(self._input)

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        (rows,) = told
        assert isinstance(rows, Lives)
        self._input = Lives.concat([self._input, rows])
        if upto == BEGINNING:
            return rows.take(rows.begins[:0])
        made = self._told.step(self._input.filter(self._input.begins < upto), self._since, upto)
        self._input, self._since = self._input.filter(self._input.ends > upto), upto
        return made
