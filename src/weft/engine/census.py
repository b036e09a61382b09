"""Which part of a stream's rows each WHERE lets pass: level 1 counts them anyway."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from weft.engine.batch import Batch
from weft.share.nodes import Op, StreamPlan

FADE = 0.9  # of what was counted, with every batch: what rows are like may change


class Census:
    """Rows, and rows that pass, by stream and predicate; the last ten batches or so."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, float]] = {}
        self._passed: dict[str, dict[str, float]] = {}

    def count(self, batch: Batch) -> None:
        """Count a batch; one whose cells have been written elsewhere tells nothing."""
        rows, cells = _total(batch.table, "rows"), batch.table if batch.cells is None else batch.cells
        seen = self._rows.setdefault(batch.stream, {})
        passed = self._passed.setdefault(batch.stream, {})
        for where, name in _counts(batch.plan).items():
            if name in cells.column_names:
                seen[where] = FADE * seen.get(where, 0.0) + rows
                passed[where] = FADE * passed.get(where, 0.0) + _total(cells, name)

    def passing(self, stream: str) -> dict[str, float]:
        """By predicate, which part of the rows it lets pass."""
        seen, passed = self._rows.get(stream, {}), self._passed.get(stream, {})
        return {where: min(1.0, passed[where] / rows) for where, rows in seen.items() if rows}


def _total(table: pa.Table, name: str) -> float:
    return float(pc.sum(table.column(name)).as_py() or 0)


def _counts(plan: StreamPlan) -> dict[str, str]:
    """For each predicate a column of the level 1 table that counts the rows that pass."""
    return {
        partial.where.sql: f"f{root}_p{at}"
        for root in plan.roots
        for at, partial in enumerate(plan.feeds[root].partials)
        if partial.op is Op.COUNT and partial.arg is None and partial.where is not None
    }
