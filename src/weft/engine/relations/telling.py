"""What is told of a relation: the answers of a query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.engine.relations.calendar import Calendar
from weft.engine.relations.evaluate import schema_of
from weft.engine.relations.operator import Told, as_changes
from weft.kernels.arrow import TIME, whole
from weft.kernels.relations.changes import consolidate
from weft.kernels.relations.tables import NEVER, Changes, Lives
from weft.lang.bodies import Emission
from weft.plan.relationpatterns import stays
from weft.plan.relations import AsOf, Emitted
from weft.plan.relationtree import WINDOW, columns, is_windowed, reach_back, told_columns, walk
from weft.times import BEGINNING, Instant


class Telling:
    """The top of a query: from what is new of its relation to answers."""

    def __init__(self, relation: Emitted, after: Instant = BEGINNING) -> None:
        """`after`: nothing up to this time is told."""
        self.relation, self.after, self.columns = relation, after, columns(relation)
        self._windowed = is_windowed(relation.source)
        self._slide = next((node.slide for node in walk(relation) if isinstance(node, AsOf)), None)
        self._stays = stays(relation.source)
        self.schema = schema_of(self.columns)
        self._below = schema_of(told_columns(relation))
        apart = self._windowed and relation.emission is not Emission.RSTREAM
        told = self._without_window(self._below) if apart else self._below
        self._later = Calendar(told, reach_back(relation))

    def __len__(self) -> int:
        """How many changes it has yet to tell."""
        return len(self._later)

    @property
    def nbytes(self) -> int:
        return self._later.nbytes

    def changes(self, rows: Told, upto: Instant) -> Changes:
        """What changes before `upto`, and was not told before."""
        return self._due(self._outlived(rows), upto)

    def is_of(self, relation: Emitted, after: Instant) -> bool:
        return self.relation == relation and self.after == after

    def answers(self, rows: Told, upto: Instant) -> pa.Table:
        """The answers that are new, complete before `upto`."""
        told = self._answers(rows, upto)
        return told if self.after == BEGINNING else told.filter(self._is_after(told))

    def _is_after(self, told: pa.Table) -> pa.Array:
        """Which answers are of an instant after `after`; that of a window is its last."""
        at = told.column(WINDOW[1].name if self._windowed else self.columns[0].name)
        times = whole(at).cast(pa.int64()).fill_null(BEGINNING)
        return pa.array(times.to_numpy() > self.after + self._windowed)

    def _answers(self, rows: Told, upto: Instant) -> pa.Table:
        rows = self._outlived(rows)
        match self.relation.emission:
            case Emission.RSTREAM:
                return rows.table if isinstance(rows, Lives) else self._begun(rows, upto).table
            case Emission.LIVES | Emission.WSTREAM if isinstance(rows, Lives):
                return self._lives(rows)
            case Emission.DSTREAM:
                return self._changed(rows, upto, -1)
            case _:
                return self._changed(rows, upto, 1)

    def _lives(self, rows: Lives) -> pa.Table:
        ends = _times(rows.ends, rows.ends == NEVER)
        return self._table([_times(rows.begins, rows.begins == BEGINNING), ends], rows.table)

    def _outlived(self, rows: Told) -> Told:
        """Rows that stay when an internal window lets go of what they are made of, with ends of their own."""
        if not isinstance(rows, Lives) or not (self._stays or self.relation.ends):
            return rows
        ends = np.full(len(rows), NEVER)
        for ending in self.relation.ends:
            times = whole(rows.table.column(ending.name)).cast(pa.int64())
            ends = np.minimum(ends, times.fill_null(NEVER - ending.range).to_numpy() + ending.range)
        return Lives(rows.table.select(self._below.names), rows.begins, ends)

    def _changed(self, rows: Told, upto: Instant, sign: int) -> pa.Table:
        """The rows that begin to hold, or end, once nothing can change that."""
        mine = _each(self._due(rows, upto), sign)
        if self._windowed:
            return self._window(mine)
        times = [_times(mine.times, mine.times == BEGINNING)]
        if self.relation.emission is Emission.LIVES:
            times.append(pa.nulls(len(mine), TIME))
        return self._table(times, mine.table)

    def _begun(self, rows: Changes, upto: Instant) -> Changes:
        """The rows of windows: each is there as of one instant alone."""
        self._later.put(rows)
        return _each(consolidate(self._later.take(upto)), 1)

    def _due(self, rows: Told, upto: Instant) -> Changes:
        if self._windowed and isinstance(rows, Lives):
            assert self._slide is not None
            rows = Lives(self._without(rows.table), rows.begins, rows.begins + self._slide)
        self._later.put(as_changes(rows))
        due = consolidate(self._later.take(upto))
        return due.filter(due.weights > 0) if self._stays else due

    def _window(self, mine: Changes) -> pa.Table:
        asof = next(node for node in walk(self.relation) if isinstance(node, AsOf))
        ends = mine.times + 1
        return self._table([_times(ends - asof.range), _times(ends)], mine.table)

    def _without(self, table: pa.Table) -> pa.Table:
        return table.drop_columns([column.name for column in WINDOW])

    def _without_window(self, schema: pa.Schema) -> pa.Schema:
        return pa.schema(list(schema)[len(WINDOW) :])

    def _table(self, first: Sequence[pa.Array], rest: pa.Table) -> pa.Table:
        return pa.table([*first, *rest.columns], schema=self.schema)


def _each(changes: Changes, sign: int) -> Changes:
    """Those that begin, or end, one by one."""
    mine = changes.filter(changes.weights * sign > 0)
    return mine.take(np.repeat(np.arange(len(mine)), np.abs(mine.weights)))


def _times(at: np.ndarray, null: np.ndarray | None = None) -> pa.Array:
    return pa.array(at, pa.int64(), mask=null).cast(TIME)
