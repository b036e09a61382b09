"""DISTINCT of rows with lives."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from weft.engine.relations.evaluate import schema_of
from weft.engine.relations.operator import Stateless, Told
from weft.kernels.relations.longest import Longest
from weft.kernels.relations.tables import Lives
from weft.plan.relations import Distinct
from weft.plan.relationtree import columns
from weft.times import BEGINNING, Instant


class Deduplicating(Stateless):
    """Each different row once, while there is any: delta-star.

    Where one life of a value ends and the next begins depends on all that was told of it before. So what is
    held is kept in snapshots; rows that are read again afterwards change nothing of it.
    """

    def __init__(self, relation: Distinct) -> None:
        super().__init__(columns(relation))
        self._longest = Longest(len(self.columns))
        self._ahead = Lives.empty(schema_of(self.columns))  # rows that begin later
        self._since = BEGINNING
        self._known = BEGINNING  # rows that began before are part of what was saved

    @property
    def rows(self) -> int:  # type: ignore[override]
        return len(self._longest) + len(self._ahead)

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return self._longest.nbytes + int(self._ahead.table.nbytes) + 16 * len(self._ahead)

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        (rows,) = told
        assert isinstance(rows, Lives)
        if self._known > BEGINNING:
            rows = rows.filter(rows.begins >= self._known)
        waiting = Lives.concat([self._ahead, rows])
        if upto == BEGINNING:
            self._ahead = waiting
            return rows.take(rows.begins[:0])
        begun = waiting.begins < upto
        self._ahead = waiting.filter(~begun)
        since, self._since = self._since, upto
        return self._longest.step(waiting.filter(begun), since, upto)

    def save(self) -> pa.Table:
        """What it holds, as a table of a snapshot."""
        return self._longest.state()

    def restore(self, saved: pa.Table, since: Instant) -> None:
        """Go on from what was saved when all before `since` had been told."""
        self._since = self._known = since
        if saved.num_rows:  # the columns of nothing have no types
            self._longest = Longest.restored(saved)


class DeduplicatingAll(Stateless):
    """The same, with all rows that have not ended in one list, which is looked through in every step."""

    def __init__(self, relation: Distinct) -> None:
        super().__init__(columns(relation))
        self._input = Lives.empty(schema_of(self.columns))
        self._told = Longest(len(self.columns))
        self._since = BEGINNING

    @property
    def rows(self) -> int:  # type: ignore[override]
        return len(self._input) + len(self._told)

    @property
    def nbytes(self) -> int:  # type: ignore[override]
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
