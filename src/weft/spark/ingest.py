"""The ingest of one stream: each of Spark's batches goes through level 1 into the ingest log."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from weft.engine.batch import Batch
from weft.engine.errands import Crew
from weft.engine.ingest import AHEAD, CORRUPT, NO_TIME
from weft.engine.mapside import Order, Written
from weft.engine.parquetfiles import Piece, read, spread
from weft.engine.report import Pace
from weft.engine.rowcells import row_cells, row_standing, standing_table
from weft.engine.rowscan import RowScan, Unsuited
from weft.engine.runtime import Runtime
from weft.errors import WeftError
from weft.log.bundle import Bundle
from weft.log.paths import AnyPath
from weft.plan.nodes import Stream
from weft.share.nodes import StreamPlan
from weft.share.rowcolumns import key_layout
from weft.spark.bisect import culprits
from weft.spark.checkpoint import check_checkpoint, checkpoint_of, query_id
from weft.spark.executors import SparkCrew
from weft.spark.filescan import FileScan
from weft.spark.level1 import bad_rows, collect, level1, small_rows, standing
from weft.spark.stream import start_stream
from weft.spark.workers import Scanning, Workers
from weft.times import Instant

SMALL = 20_000  # rows: up to this many, shipping them costs less than an aggregation with its shuffle
SHRINKS = 4  # rows a cell: below, aggregating in Spark costs more than shipping the rows as they are
MOST_DEAD = 100_000  # rows of one batch that are kept as dead letters; all are counted


@dataclass(frozen=True, slots=True)
class Made:
    """What level 1 made of a batch; `table` only counts where there are `cells`, or they are `written`."""

    table: pa.Table
    standing: Mapping[str, pa.Table] = field(default_factory=dict)  # rows of standing filters, by query
    cells: pa.Table | None = None
    written: Sequence[Bundle] = ()
    dead: pa.Table | None = None


class Halted(Exception):
    """Ends the query of a stream in front of a batch that cannot be taken as the stream is read now."""


class Ingest:
    """The ingest of one stream: what is done with each of its batches."""

    def __init__(self, spark: SparkSession, runtime: Runtime, stream: Stream) -> None:
        self.spark, self.runtime, self.stream = spark, runtime, stream
        self.query: StreamingQuery | None = None
        self.columns: tuple[str, ...] = ()  # none: it is fed by hand
        self.error: WeftError | None = None  # what ended the query: Spark hands on only its text
        self.halted = False
        self._checkpoint: AnyPath | None = None
        self._spark_id: str | None = None  # of the checkpoint
        self._files: FileScan | None = None
        self._stopping = False
        self.last_rows: int | None = None
        self.last_cells = 0
        self._workers: Workers | None = None
        self._no_workers = False
        self.batch_seconds = 0.0
        self.rows_per_second = 0.0
        self.last_arrival = time.time()

    def start(self, trigger: str | None, once: bool) -> None:
        _, plan = self.runtime.stream_plan(self.stream.name)
        assert plan is not None
        self.columns, self.error, self.halted, self._stopping = plan.columns, None, False, False
        checkpoint = checkpoint_of(self.runtime.home, self.stream.name)
        check_checkpoint(checkpoint, self.runtime.catalog, self.runtime.logs[self.stream.name])
        self._checkpoint, self._spark_id = checkpoint, None
        self._files = FileScan(self.spark, self.stream, checkpoint)
        self.query = start_stream(
            self.spark, self.stream, self.columns, checkpoint, self.on_batch, trigger, once
        )
        self.runtime.catalog.bind_spark_query(self.stream.name, str(self.query.id))

    def stop(self) -> None:
        """End after the batch under way."""
        self._stopping = True
        query, self.query = self.query, None  # whoever asks meanwhile is not to take it for ended by itself
        if query is not None:
            with suppress(Exception):
                query.stop()

    def on_batch(self, batch: DataFrame, number: int) -> None:
        """Called by Spark, one batch after the other; a batch may come again after a crash."""
        try:
            self._take(batch, number)
        except WeftError as error:
            self.error = error
            raise

    def _take(self, batch: DataFrame, number: int) -> None:
        name, started = self.stream.name, time.time()
        while not self.runtime.has(name, number):
            epoch, plan = self.runtime.stream_plan(name)
            if plan is None or (self.columns and not set(plan.columns) <= set(self.columns)):
                # If Spark took it for done it would be lost. It comes again when the stream is started anew.
                self.halted = True
                raise Halted(f"batch {number} of {name} must wait for another start")
            made = self.ingest(batch, number, epoch, plan, started)
            if self.runtime.commit(made):
                self._note(made, time.time() - started)

    def ingest(self, batch: DataFrame, number: int, epoch: int, plan: StreamPlan, started: float) -> Batch:
        """Level 1 of one batch; queries that break it are found, taken out of force, and it is done again."""
        try:
            return self._level1(batch, number, epoch, plan, started)
        except WeftError:
            raise
        except Exception as error:
            failed = {} if self._stopping else culprits(batch, self.runtime.program, plan, _clock(), error)
            if self._stopping:  # Spark breaks off what is under way: no query is at fault
                raise
            self.runtime.quarantine(failed)
            epoch, rest = self.runtime.stream_plan(self.stream.name)
            if rest is None:
                self.halted = True
                raise
            return self.ingest(batch, number, epoch, rest, started)

    def _level1(self, batch: DataFrame, number: int, epoch: int, plan: StreamPlan, started: float) -> Batch:
        now, watermark = _clock(), self.runtime.watermark(self.stream.name)
        crew = self.runtime.crew  # the cells may be moved meanwhile; the batch goes where they were
        made = self._by_columns(batch, number, plan, now, watermark, crew)
        if made is None:
            made = self._few_rows(batch, plan, now, watermark)
        if made is None and isinstance(crew, SparkCrew):
            made = self._by_crew(batch, number, plan, now, watermark, crew)
        made = made or self._many_rows(batch, plan, now, watermark)
        if self._spark_id is None and self._checkpoint is not None:
            self._spark_id = query_id(self._checkpoint)
        return Batch(
            stream=self.stream.name,
            number=number,
            table=made.table,
            layout=key_layout(plan),
            epoch=epoch,
            plan=plan,
            standing=made.standing,
            dead=made.dead,
            spark_id=self._spark_id or "",
            now=now,
            started=started,
            buckets=0 if crew is None else crew.buckets,
            cells=made.cells,
            written=made.written,
        )

    def _by_columns(
        self,
        batch: DataFrame,
        number: int,
        plan: StreamPlan,
        now: Instant,
        watermark: Instant | None,
        crew: Crew | None,
    ) -> Made | None:
        """Files that weft reads by itself, few rows here and many in workers; None: Spark is to read them."""
        found = self._files.of(number, plan) if self._files is not None else None
        if self._files is None or found is None:
            return None
        scan, parts = found
        try:
            if sum(part.rows for part in parts) <= SMALL:
                made = self._read_here(parts, scan, plan, now, watermark)
            else:
                shares = spread(parts, self.spark.sparkContext.defaultParallelism)
                made = self._read_by_workers(Scanning(shares, now, watermark), number, plan, crew)
        except Unsuited as error:
            self._files.give_up(error)
            return None
        if made is None:
            return None
        return replace(made, dead=self._dead(batch, plan, made.table, now, watermark))

    def _read_here(
        self,
        parts: Sequence[Piece],
        scan: RowScan,
        plan: StreamPlan,
        now: Instant,
        watermark: Instant | None,
    ) -> Made | None:
        batches = list(read(parts, scan, now))
        if not batches:
            return None
        rows = pa.Table.from_batches(batches)
        return Made(row_cells(rows, plan, watermark), row_standing(rows, plan))

    def _read_by_workers(
        self, errand: Scanning, number: int, plan: StreamPlan, crew: Crew | None
    ) -> Made | None:
        if isinstance(crew, SparkCrew):
            order = self._order(number, crew, errand.watermark)
            written = crew.scan_cells(errand, order, plan)
            return _written(written)
        workers = self._able_workers()
        if workers is None:
            return None
        said = workers.scan(errand, plan)
        names = dict.fromkeys(name for each in said for name in each.standing)
        return Made(
            _joined(each.totals for each in said),
            {name: _joined(each.standing[name] for each in said if name in each.standing) for name in names},
            _joined(each.cells for each in said),
        )

    def _order(self, number: int, crew: SparkCrew, watermark: Instant | None) -> Order:
        log = self.runtime.logs[self.stream.name]
        return Order(str(log.directory), log.stem(number), crew.buckets, watermark)

    def _few_rows(
        self, batch: DataFrame, plan: StreamPlan, now: Instant, watermark: Instant | None
    ) -> Made | None:
        """A small batch: Spark evaluates the rows, and they are aggregated here; None: it is not small."""
        if self.last_rows is not None and self.last_rows > SMALL:
            return None
        rows = collect(small_rows(batch, plan, now, SMALL + 1))
        if rows.num_rows > SMALL:  # a partition may hold more than it gave
            return None
        table = row_cells(rows, plan, watermark)
        return Made(table, row_standing(rows, plan), dead=self._dead(batch, plan, table, now, watermark))

    def _by_crew(
        self,
        batch: DataFrame,
        number: int,
        plan: StreamPlan,
        now: Instant,
        watermark: Instant | None,
        crew: SparkCrew,
    ) -> Made | None:
        """A large batch where cells live in buckets: executors aggregate their rows and write them."""
        order = self._order(number, crew, watermark)
        written = crew.write_cells(small_rows(batch, plan, now), order, plan)
        if not written:  # no rows
            return None
        made = _written(written)
        return replace(made, dead=self._dead(batch, plan, made.table, now, watermark))

    def _many_rows(self, batch: DataFrame, plan: StreamPlan, now: Instant, watermark: Instant | None) -> Made:
        """A large batch is aggregated by Spark."""
        twice = bool(plan.standing and plan.taps)  # two jobs over one batch: read the source once
        rows = batch.persist() if twice else batch
        try:
            table = self._aggregated(rows, plan, now, watermark)
            filtered = _by_query(collect(standing(rows, plan, now)), plan) if plan.standing else {}
            return Made(table, filtered, dead=self._dead(rows, plan, table, now, watermark))
        finally:
            if twice:
                rows.unpersist()

    def _aggregated(
        self, rows: DataFrame, plan: StreamPlan, now: Instant, watermark: Instant | None
    ) -> pa.Table:
        """The level 1 table: by an aggregation of Spark's or, where that hardly shrinks them, in its workers.

        An aggregation that gives a row for every few shuffles and hashes nearly all of them. Workers get the
        rows as Arrow columns and sort them.
        """
        workers = self._able_workers() if self.last_cells * SHRINKS > (self.last_rows or 0) else None
        if workers is not None:
            made = workers.cells(small_rows(rows, plan, now), plan, watermark)
            if made:
                return pa.concat_tables(made, promote_options="default")
        return collect(level1(rows, plan, now, watermark))

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

    def pace(self) -> Pace:
        """How fast it goes, for the status."""
        query = self.query
        state = "running" if query is not None and query.isActive else "stopped"
        return Pace(self.rows_per_second, self.batch_seconds, state)

    def _dead(
        self,
        rows: DataFrame,
        plan: StreamPlan,
        table: pa.Table,
        now: Instant,
        watermark: Instant | None,
    ) -> pa.Table | None:
        """The rows that went wrong, read again only where level 1 counted some."""
        late = plan.stream.statement.keep_late and _total(table, "late") > 0
        failed = any(_total(table, f"e{at}") for at in range(len(plan.guards)))
        statuses = set(table.column("status").to_pylist())
        if not (late or failed or statuses & {NO_TIME, AHEAD, CORRUPT}):
            return None
        return bad_rows(rows, plan, now, watermark, late).limit(MOST_DEAD).toArrow()

    def _note(self, made: Batch, seconds: float) -> None:
        rows = _total(made.table, "rows")
        self.last_rows, self.batch_seconds = rows, seconds
        self.last_cells = (made.table if made.cells is None else made.cells).num_rows
        passed = max(time.time() - self.last_arrival, 1e-3)
        self.rows_per_second = 0.7 * self.rows_per_second + 0.3 * rows / passed
        if rows:
            self.last_arrival = time.time()


def _written(written: Sequence[Written]) -> Made:
    return Made(_joined(each.totals for each in written), written=tuple(each.bundle for each in written))


def _joined(tables: Iterable[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables, promote_options="default")


def _clock() -> Instant:
    return time.time_ns() // 1000


def _total(table: pa.Table, name: str) -> int:
    return int(pc.sum(table.column(name)).as_py() or 0)


def _by_query(rows: pa.Table, plan: StreamPlan) -> dict[str, pa.Table]:
    """The rows of all standing filters, apart, under the names their queries gave the columns."""
    found = {}
    for at, filter_ in enumerate(plan.standing):
        mine = rows.filter(pc.equal(rows.column("q"), at))
        if mine.num_rows:
            found[filter_.query.name] = standing_table(mine, at, filter_)
    return found
