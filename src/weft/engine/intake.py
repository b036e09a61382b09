"""The rows that pass through a batch as its tables: of standing filters, and what relations are made of.

standing:late_trades    rows of a standing filter
standing:               rows of relations, together: for those that are held in the driver
rows:4f1c..:0           the same apart by bucket, once for each key that relations in buckets go by
rows:4f1c..:1
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from weft.engine.relations.parting import places
from weft.kernels.relations.tables import take
from weft.log.ingest import IngestRecord
from weft.share.nodes import Intake, StreamPlan

STANDING = "standing:"  # begins the names of tables with the rows of standing filters
INTAKE = ""  # the name, among those of standing filters, of the rows that relations are made of
_ROWS = "rows:"  # begins the names of tables with such rows apart by bucket


def passing_tables(standing: Mapping[str, pa.Table], plan: StreamPlan, buckets: int) -> dict[str, pa.Table]:
    """The rows that pass through, by the names of their tables; `buckets` 0: there are none."""
    names = standing_names(standing, plan, buckets)
    tables = {f"{STANDING}{name}": standing[name] for name in names}
    if plan.intake is not None and buckets and INTAKE in standing:
        for by in plan.intake.parted:
            tables |= _apart(standing[INTAKE], by, buckets)
    return tables


def standing_names(standing: Mapping[str, pa.Table], plan: StreamPlan, buckets: int) -> list[str]:
    """Of which of the names there is one table with all rows."""
    return [name for name in standing if name != INTAKE or _is_whole(plan.intake, buckets)]


def _is_whole(intake: Intake | None, buckets: int) -> bool:
    return intake is None or intake.whole or not intake.parted or not buckets


def _apart(rows: pa.Table, by: tuple[str, ...], buckets: int) -> dict[str, pa.Table]:
    place = places([rows.column(name) for name in by], rows.num_rows, buckets)
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(buckets + 1))
    spans = zip(range(buckets), ends, ends[1:], strict=False)
    return {part_name(by, at): take(rows, order[start:end]) for at, start, end in spans if start < end}


def part_name(by: tuple[str, ...], bucket: int) -> str:
    """The table with the rows of a bucket, where they lie by these expressions."""
    return f"{_key_name(by)}{bucket}"


def is_apart(record: IngestRecord, by: tuple[str, ...]) -> bool:
    """Are the rows of a batch apart by these expressions?"""
    return any(name.startswith(_key_name(by)) for name in record.tables)


def rows_together(record: IngestRecord, load: Callable[[str], pa.Table]) -> pa.Table | None:
    """All rows of a batch that relations are made of; None if it has none."""
    if STANDING + INTAKE in record.tables:
        return load(STANDING + INTAKE)
    names = sorted(name for name in record.tables if name.startswith(_ROWS))
    alike = [name for name in names if name.rpartition(":")[0] == names[0].rpartition(":")[0]]
    return pa.concat_tables([load(name) for name in alike]) if alike else None


def _key_name(by: tuple[str, ...]) -> str:
    return f"{_ROWS}{hashlib.sha256(repr(by).encode()).hexdigest()[:16]}:"
