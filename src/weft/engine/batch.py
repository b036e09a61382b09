"""A micro-batch on its way into the ingest log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from weft.engine import ingest
from weft.engine.buckets import CELLS, split
from weft.engine.census import Asked, Told, is_looked_at, told_by
from weft.engine.intake import STANDING, passing_tables, standing_names
from weft.log.bundle import Bundle
from weft.share.nodes import StreamPlan
from weft.times import Instant


@dataclass(frozen=True, slots=True)
class Batch:
    """What level 1 made of one micro-batch."""

    stream: str
    number: int
    table: pa.Table  # of level 1, or what it counts where the cells are elsewhere
    layout: Mapping[int, Sequence[int]]
    epoch: int
    plan: StreamPlan
    standing: Mapping[str, pa.Table]  # rows for the standing filters, by query name
    dead: pa.Table | None  # rows that went wrong: query, reason, event_time, row
    spark_id: str
    now: Instant  # what current_timestamp was taken for
    started: float  # seconds since 1970
    buckets: int = 0  # its cells are kept apart by so many buckets; 0: together
    cells: pa.Table | None = None  # where `table` only counts, and they are together
    written: Sequence[Bundle] = ()  # cells that executors have written, apart by bucket
    told: Sequence[Told] = ()  # what these tell of the rows
    asked: Asked = field(default_factory=Asked)  # what rows were asked that these do not tell

    def meta(self) -> dict[str, Any]:
        """What its record says."""
        counts = ingest.count(self.table, self.plan)
        return {
            "epoch": self.epoch,
            "min_time": counts.min_time,
            "max_time": counts.max_time,
            "rows": counts.rows,
            "no_time": counts.no_time,
            "ahead": counts.ahead,
            "corrupt": counts.corrupt,
            "late": counts.late,
            "failed": dict(counts.failed),
            "feeds": ingest.describe(self.plan, self.layout),
            "standing": sorted({*self._standing_names(), *self._standing_written()}),
            "spark": self.spark_id,
            "now": self.now,
            "started": self.started,
            "buckets": self.buckets,
        }

    def tables(self) -> dict[str, pa.Table]:
        """What its file holds."""
        tables = {} if self.written else self._cells()
        tables |= passing_tables(self.standing, self.plan, self.buckets)
        if self.dead is not None and self.dead.num_rows:
            tables["dead"] = self.dead
        return tables

    def what_cells_tell(self) -> Sequence[Told]:
        """What they tell of its rows, those that executors have written or those that are here."""
        if self.written:
            return self.told
        cells = self.table if self.cells is None else self.cells
        return [told_by(cells, self.standing, self.plan, is_looked_at(self.number))]

    def _standing_names(self) -> list[str]:
        return standing_names(self.standing, self.plan, self.buckets)

    def _standing_written(self) -> list[str]:
        names = [name for bundle in self.written for name in bundle.tables]
        return [name.removeprefix(STANDING) for name in names if name.startswith(STANDING)]

    def _cells(self) -> dict[str, pa.Table]:
        cells = ingest.cells(self.table) if self.cells is None else self.cells
        if not self.buckets:
            return {CELLS: cells}
        return split(cells, ingest.describe(self.plan, self.layout), self.buckets)
