"""Level 1 of one batch, by the cheapest way that can be gone.

by columns     files that weft reads by itself: few rows here, many in Spark's Python workers
few rows       Spark evaluates the rows, and they are aggregated here
by the crew    executors aggregate their rows and write them, where cells live in buckets
many rows      Spark aggregates the rows or, where that hardly shrinks them, its workers do
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from weft.engine import census
from weft.engine.errands import Crew
from weft.engine.ingest import AHEAD, CORRUPT, NO_TIME
from weft.engine.mapside import Order, Written
from weft.engine.parquetfiles import Piece, read, spread
from weft.engine.rowcells import row_cells, row_standing, standing_table
from weft.engine.rowscan import RowScan, Unsuited
from weft.errors import WeftError
from weft.log.bundle import Bundle
from weft.log.ingest import IngestLog
from weft.share.nodes import StreamPlan
from weft.spark.executors import SparkCrew
from weft.spark.filescan import FileScan
from weft.spark.level1 import bad_rows, collect, level1, small_rows, standing
from weft.spark.workers import Scanning, Workers
from weft.times import Instant

SMALL = 20_000  # rows: up to this many, shipping them costs less than an aggregation with its shuffle
SHRINKS = 4  # rows a cell: below, aggregating in Spark costs more than shipping the rows as they are
MOST_DEAD = 100_000  # rows of one batch that are kept as dead letters; all are counted


@dataclass(frozen=True, slots=True)
class Given:
    """A batch, and what it is to be taken in by."""

    rows: DataFrame
    number: int
    plan: StreamPlan
    now: Instant
    watermark: Instant | None
    crew: Crew | None


@dataclass(frozen=True, slots=True)
class Made:
    """What level 1 made of a batch; `table` only counts where there are `cells`, or they are `written`."""

    table: pa.Table
    standing: Mapping[str, pa.Table] = field(default_factory=dict)  # rows of standing filters, by query
    cells: pa.Table | None = None
    written: Sequence[Bundle] = ()
    told: Sequence[census.Told] = ()  # by the cells that are written
    dead: pa.Table | None = None
    asked: census.Asked = field(default_factory=census.Asked)  # once in a while


class Ways:
    """The ways of one stream. Which one is gone depends on the size of the batch before."""

    def __init__(self, spark: SparkSession, log: IngestLog) -> None:
        self.spark = spark
        self.files: FileScan | None = None  # where weft may read files by itself
        self._log = log
        self._last_rows: int | None = None
        self._last_cells = 0
        self._workers: Workers | None = None
        self._no_workers = False

    def take(self, given: Given) -> Made:
        """Level 1 of a batch."""
        made = (
            self._by_columns(given) or self._few_rows(given) or self._by_crew(given) or self._many_rows(given)
        )
        is_looked_at = given.number > 0 and census.is_looked_at(given.number)  # the first is waited for
        return replace(made, asked=_asked(given)) if is_looked_at else made

    def note(self, table: pa.Table, cells: pa.Table | None) -> None:
        """A batch was taken in: it had so many rows and cells."""
        self._last_rows = total(table, "rows")
        self._last_cells = (table if cells is None else cells).num_rows

    def _by_columns(self, given: Given) -> Made | None:
        found = self.files.of(given.number, given.plan) if self.files is not None else None
        if self.files is None or found is None:
            return None
        scan, parts = found
        try:
            if sum(part.rows for part in parts) <= SMALL:
                made = self._read_here(parts, scan, given)
            else:
                shares = spread(parts, self.spark.sparkContext.defaultParallelism)
                made = self._read_by_workers(Scanning(shares, given.now, given.watermark), given)
        except Unsuited as error:
            self.files.give_up(error)
            return None
        return None if made is None else replace(made, dead=_dead(given, made.table))

    def _read_here(self, parts: Sequence[Piece], scan: RowScan, given: Given) -> Made | None:
        batches = list(read(parts, scan, given.now))
        if not batches:
            return None
        rows = pa.Table.from_batches(batches)
        return Made(row_cells(rows, given.plan, given.watermark), row_standing(rows, given.plan))

    def _read_by_workers(self, errand: Scanning, given: Given) -> Made | None:
        if isinstance(given.crew, SparkCrew):
            return _written(given.crew.scan_cells(errand, self._order(given, given.crew), given.plan))
        workers = self._able_workers()
        if workers is None:
            return None
        said = workers.scan(errand, given.plan)
        names = dict.fromkeys(name for each in said for name in each.standing)
        return Made(
            _joined(each.totals for each in said),
            {name: _joined(each.standing[name] for each in said if name in each.standing) for name in names},
            _joined(each.cells for each in said),
        )

    def _few_rows(self, given: Given) -> Made | None:
        if self._last_rows is not None and self._last_rows > SMALL:
            return None
        rows = collect(small_rows(given.rows, given.plan, given.now, SMALL + 1))
        if rows.num_rows > SMALL:  # a partition may hold more than it gave
            return None
        table = row_cells(rows, given.plan, given.watermark)
        return Made(table, row_standing(rows, given.plan), dead=_dead(given, table))

    def _by_crew(self, given: Given) -> Made | None:
        if not isinstance(given.crew, SparkCrew):
            return None
        rows = small_rows(given.rows, given.plan, given.now)
        written = given.crew.write_cells(rows, self._order(given, given.crew), given.plan)
        if not written:  # no rows
            return None
        made = _written(written)
        return replace(made, dead=_dead(given, made.table))

    def _order(self, given: Given, crew: SparkCrew) -> Order:
        return Order(
            str(self._log.directory),
            self._log.stem(given.number),
            crew.buckets,
            given.watermark,
            census.is_looked_at(given.number),
        )

    def _many_rows(self, given: Given) -> Made:
        plan = given.plan
        twice = bool(plan.passing)  # two jobs over one batch, one counts: read the source once
        if twice:
            given = replace(given, rows=given.rows.persist())
        try:
            table = self._aggregated(given)
            filtered = standing(given.rows, plan, given.now) if plan.passing else None
            apart = {} if filtered is None else _by_query(collect(filtered), plan)
            return Made(table, apart, dead=_dead(given, table))
        finally:
            if twice:
                given.rows.unpersist()

    def _aggregated(self, given: Given) -> pa.Table:
        """The level 1 table: by an aggregation of Spark's or, where that hardly shrinks them, in its workers.

        An aggregation that gives a row for every few shuffles and hashes nearly all of them. Workers get the
        rows as Arrow columns and sort them.
        """
        hardly_shrink = self._last_cells * SHRINKS > (self._last_rows or 0)
        workers = self._able_workers() if hardly_shrink else None
        if workers is not None:
            rows = small_rows(given.rows, given.plan, given.now)
            if made := workers.cells(rows, given.plan, given.watermark):
                return _joined(made)
        return collect(level1(given.rows, given.plan, given.now, given.watermark))

    def _able_workers(self) -> Workers | None:
        """The workers of the session, unless they cannot run weft."""
        if self._workers is None and not self._no_workers:
            found = Workers(self.spark)
            try:
                found.check(found.numbered(1))
                self._workers = found
            except WeftError:
                self._no_workers = True
        return self._workers


def _asked(given: Given) -> census.Asked:
    """What cells do not tell: about how many values columns have, and how many rows meet conditions.

    It reads the batch once more, of which these columns only; values are counted by HyperLogLogs of Spark's.
    """
    columns, conditions = given.plan.asked, census.unknown_conditions(given.plan)
    if not columns and not conditions:
        return census.Asked()
    counts = [f"approx_count_distinct({column})" for column in columns]
    counts += [f"count_if({condition})" for condition in conditions]
    (found,) = given.rows.selectExpr(*counts).collect()
    values, passed = found[: len(columns)], found[len(columns) :]
    return census.Asked(
        dict(zip(columns, map(float, values), strict=True)),
        dict(zip(conditions, map(float, passed), strict=True)),
    )


def _dead(given: Given, table: pa.Table) -> pa.Table | None:
    """The rows that went wrong, read again only where level 1 counted some."""
    plan = given.plan
    late = plan.stream.statement.keep_late and total(table, "late") > 0
    failed = any(total(table, f"e{at}") for at in range(len(plan.guards)))
    statuses = set(table.column("status").to_pylist())
    if not (late or failed or statuses & {NO_TIME, AHEAD, CORRUPT}):
        return None
    return bad_rows(given.rows, plan, given.now, given.watermark, late).limit(MOST_DEAD).toArrow()


def _written(written: Sequence[Written]) -> Made:
    return Made(
        _joined(each.totals for each in written),
        written=tuple(each.bundle for each in written),
        told=tuple(each.told for each in written),
    )


def _joined(tables: Iterable[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables, promote_options="default")


def total(table: pa.Table, name: str) -> int:
    """The sum of a counter of the level 1 table."""
    return int(pc.sum(table.column(name)).as_py() or 0)


def _by_query(rows: pa.Table, plan: StreamPlan) -> dict[str, pa.Table]:
    """The rows of all standing filters, apart, under the names their queries gave the columns."""
    found = {}
    for at, filter_ in enumerate(plan.passing):
        mine = rows.filter(pc.equal(rows.column("q"), at))
        if mine.num_rows:
            found[filter_.name] = standing_table(mine, at, filter_)
    return found
