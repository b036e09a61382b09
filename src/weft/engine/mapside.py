"""Level 1 on executors: each task makes cells of its rows and writes them into the ingest log, by bucket.

    rows of a partition ─► cells ─► one file: bucket 0 | bucket 1 | ... | rows of standing filters

No shuffle and nothing through the driver: a bucket reads its part of every file when it folds the batch. What
a task that was given up has written is in no record, and is swept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from weft.engine import ingest
from weft.engine.buckets import split
from weft.engine.census import Told, told_by
from weft.engine.intake import passing_tables
from weft.engine.rowcells import row_cells, row_standing
from weft.log.bundle import Bundle, write_bundle
from weft.log.paths import locate
from weft.share.nodes import StreamPlan
from weft.share.rowcolumns import key_layout
from weft.times import Instant

_AT_ONCE = 1_000_000  # rows that are aggregated together: bounds the memory of a task


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done with the rows of a batch."""

    directory: str  # of the ingest log of its stream: a path, or a URL
    stem: str
    buckets: int
    watermark: Instant | None
    values: bool  # is it to be told what values keys have?


@dataclass(frozen=True, slots=True)
class Written:
    """What a task has written, its rows counted by status, and what they are like."""

    bundle: Bundle
    totals: pa.Table
    told: Told


def write_cells(batches: Iterable[pa.RecordBatch], order: Order, plan: StreamPlan) -> Iterator[Written]:
    """Aggregate rows whose expressions Spark has evaluated; one file for each so many of them."""
    for rows, table in make_cells(batches, plan, order.watermark):
        cells, standing = ingest.cells(table), row_standing(rows, plan)
        tables = split(cells, ingest.describe(plan, key_layout(plan)), order.buckets)
        tables |= passing_tables(standing, plan, order.buckets)
        bundle = write_bundle(locate(order.directory), order.stem, tables, "ingest.data")
        yield Written(bundle, ingest.totals(table), told_by(cells, standing, plan, order.values))


@dataclass(frozen=True, slots=True)
class Said:
    """What a task says of its rows where the driver holds the cells."""

    totals: pa.Table
    cells: pa.Table
    standing: dict[str, pa.Table]


def say_cells(
    batches: Iterable[pa.RecordBatch], plan: StreamPlan, watermark: Instant | None
) -> Iterator[Said]:
    """Aggregate rows; what is counted of each cell is of no use but in total, and is not shipped."""
    for rows, table in make_cells(batches, plan, watermark):
        yield Said(ingest.totals(table), ingest.cells(table), row_standing(rows, plan))


def make_cells(
    batches: Iterable[pa.RecordBatch], plan: StreamPlan, watermark: Instant | None
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """So many rows at a time, and the level 1 table of these."""
    for rows in _chunks(batches):
        yield rows, row_cells(rows, plan, watermark)


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= _AT_ONCE:
            yield pa.Table.from_batches(held)
            held = []
    if any(each.num_rows for each in held):
        yield pa.Table.from_batches(held)
