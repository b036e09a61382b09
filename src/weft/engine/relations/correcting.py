"""EMIT CHANGES: what changes is told as soon as a row says so, and put right when a late one says otherwise.

    early     as if all rows had come, up to the greatest event time      +x at 3    -x at 7
    final     once nothing before the watermark can change                           +x at 3    -x at 6
    told                                                       +x at 3    -x at 7    +x at 7, -x at 6

Whoever adds up all that is told before the watermark has what is true.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.engine.relations.calendar import Calendar
from weft.engine.relations.evaluate import schema_of
from weft.kernels.arrow import TIME
from weft.kernels.relations.changes import consolidate, ordered
from weft.kernels.relations.tables import Changes, columns_of
from weft.plan.relations import Emitted
from weft.plan.relationtree import columns, reach_back, told_columns
from weft.share.relations.weave import Key
from weft.times import BEGINNING, Instant

_TIME, _WEIGHT = "_weft_time", "_weft_weight"  # columns of what is saved, behind those of the rows


class Correcting:
    """What was told early of a query, and is not final yet."""

    def __init__(self, relation: Emitted, asked: Key) -> None:
        """`asked`: the query as it is written, and after which time it began; another is told apart by it."""
        self.rows_of, self.asked = relation.source, asked
        self._schema = schema_of(columns(relation))
        self._rows = schema_of(told_columns(relation))
        self._usual = reach_back(relation)
        self._told = Calendar(self._rows, self._usual)

    def __len__(self) -> int:
        return len(self._told)

    def answers(self, early: Changes, final: Changes, upto: Instant) -> pa.Table:
        """What is new early, and what was told too early, now that all before `upto` is final."""
        self._told.put(Changes(early.table, early.times, -early.weights))
        wrong = consolidate(Changes.concat([self._told.take(upto), final]))
        told = consolidate(Changes.concat([early, wrong]))
        told = ordered(told.take(np.repeat(np.arange(len(told)), np.abs(told.weights))))
        signs = pa.array(np.where(told.weights > 0, "+", "-"), pa.string())
        times = pa.array(told.times, mask=told.times == BEGINNING).cast(TIME)
        return pa.table([signs, times, *told.table.columns], schema=self._schema)

    def save(self) -> pa.Table:
        """What it holds, as a table of a snapshot."""
        held = self._told.all()
        named = {str(at): column for at, column in enumerate(columns_of(held.table))}
        return pa.table(named | {_TIME: held.times, _WEIGHT: held.weights})

    def restore(self, saved: pa.Table) -> None:
        """Hold what was saved, and nothing else."""
        self._told = Calendar(self._rows, self._usual)
        *rows, times, weights = columns_of(saved)
        table = pa.table(rows, schema=self._rows) if rows else self._rows.empty_table()
        self._told.put(Changes(table, times.to_numpy(), weights.to_numpy()))
