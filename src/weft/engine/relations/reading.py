"""The leaves of the graph: rows of a stream, each for as long as it is in its window."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.engine.relations.calendar import Calendar
from weft.engine.relations.evaluate import schema_of
from weft.engine.relations.operator import Carried, Told, ends_of
from weft.kernels.arrow import whole
from weft.kernels.relations.tables import NEVER, Changes, Lives
from weft.plan.relations import Rows
from weft.plan.relationtree import columns
from weft.share.intakes import CONDITION
from weft.times import BEGINNING, Instant


class Reading(Carried):
    """The rows of a stream after `bound` for which the condition of the leaf holds.

    A row that comes too late, before what is complete already, is there from then on.
    """

    def __init__(self, leaf: Rows, time: str, bound: Instant) -> None:
        super().__init__(columns(leaf))
        self._leaf, self._time, self.bound = leaf, time, bound
        self._names = [item.expr.sql for item in leaf.items]
        self._where = None if leaf.where is None else CONDITION + leaf.where.sql
        self._schema = schema_of(self.columns)
        self._new: list[Lives] = []
        self.complete = BEGINNING
        self._late = 0

    def feed(self, rows: pa.Table) -> None:
        """The rows of one batch."""
        wanted = {self._time, *self._names, *([self._where] if self._where else [])}
        if not wanted <= set(rows.column_names):
            return  # a batch from before anyone asked for this; its rows are before `bound`
        times = whole(rows.column(self._time)).cast(pa.int64()).to_numpy()
        mine = times > self.bound
        if self._where is not None:
            holds = whole(rows.column(self._where)).fill_null(False)
            mine &= holds.to_numpy(zero_copy_only=False)
        self._late += int(np.count_nonzero(mine & (times < self.complete)))
        begins, ends = np.maximum(times, self.complete), ends_of(times, self._leaf.range)
        table = pa.table([rows.column(name) for name in self._names], names=self._schema.names)
        self._new.append(Lives(table.cast(self._schema), begins, ends).filter(mine & (begins < ends)))

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        new, self._new = self._new, []
        self.complete = upto
        return Lives.concat(new) if new else Lives.empty(self._schema)

    def late(self) -> int:
        """How many rows have come late since this was last asked."""
        found, self._late = self._late, 0
        return found


class ReadingChanges(Reading):
    """The same rows as changes: that a row ends is told when it does, so the window is held."""

    def __init__(self, leaf: Rows, time: str, bound: Instant) -> None:
        super().__init__(leaf, time, bound)
        self._ends = Calendar(self._schema, leaf.range)

    @property
    def rows(self) -> int:
        return len(self._ends)

    @property
    def nbytes(self) -> int:
        return self._ends.nbytes

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        new = super().advance(told, upto)
        assert isinstance(new, Lives)
        ending = new.filter(new.ends < NEVER)
        self._ends.put(Changes(ending.table, ending.ends, np.full(len(ending), -1)))
        begun = Changes(new.table, new.begins, np.ones(len(new), np.int64))
        return Changes.concat([begun, self._ends.take(upto)])
