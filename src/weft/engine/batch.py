"""A micro-batch on its way into the ingest log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from weft.engine import ingest
from weft.share.nodes import StreamPlan
from weft.times import Instant


@dataclass(frozen=True, slots=True)
class Batch:
    """What level 1 made of one micro-batch."""

    stream: str
    number: int
    table: pa.Table
    layout: Mapping[int, Sequence[int]]
    epoch: int
    plan: StreamPlan
    standing: Mapping[str, pa.Table]  # rows for the standing filters, by query name
    dead: pa.Table | None  # rows that went wrong: query, reason, event_time, row
    spark_id: str
    now: Instant  # what current_timestamp was taken for
    started: float  # seconds since 1970

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
            "standing": list(self.standing),
            "spark": self.spark_id,
            "now": self.now,
            "started": self.started,
        }

    def tables(self) -> dict[str, pa.Table]:
        """What its file holds."""
        tables = {"cells": ingest.cells(self.table)}
        tables |= {f"standing:{name}": rows for name, rows in self.standing.items()}
        if self.dead is not None and self.dead.num_rows:
            tables["dead"] = self.dead
        return tables
