"""A program running on Spark: one streaming query per stream, beside them the answer loop and delivery.

Spark's thread, per stream   batch ─► level 1 ─► Runtime.commit
answer thread                          Runtime.step ─► answer log
delivery thread                                          ─► sinks
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from weft.engine.batch import Batch
from weft.engine.delivery import Delivery
from weft.engine.ingest import AHEAD, CORRUPT, NO_TIME
from weft.engine.report import Pace
from weft.engine.rowcells import row_cells, row_standing, standing_table
from weft.engine.runtime import Runtime
from weft.errors import RunError, WeftError
from weft.plan.nodes import Stream
from weft.share.nodes import StreamPlan
from weft.spark.bisect import culprits
from weft.spark.level1 import bad_rows, collect, level1, small_rows, standing
from weft.spark.sql import key_layout
from weft.spark.stream import start_stream
from weft.times import Instant

SMALL = 20_000  # rows: up to this many, shipping them costs less than an aggregation with its shuffle
MOST_DEAD = 100_000  # rows of one batch that are kept as dead letters; all are counted
POLL = 0.2  # seconds between looks at the clock, where nothing else wakes a loop

# The level 1 table, the rows of standing filters by query, and dead letters.
Made = tuple[pa.Table, Mapping[str, pa.Table], pa.Table | None]


class Ingest:
    """The ingest of one stream: what is done with each of its batches."""

    def __init__(self, spark: SparkSession, runtime: Runtime, stream: Stream) -> None:
        self.spark, self.runtime, self.stream = spark, runtime, stream
        self.query: StreamingQuery | None = None
        self.columns: tuple[str, ...] = ()
        self.last_rows: int | None = None
        self.batch_seconds = 0.0
        self.rows_per_second = 0.0
        self.last_arrival = time.time()

    def start(self, trigger: str | None, once: bool) -> None:
        _, plan = self.runtime.stream_plan(self.stream.name)
        assert plan is not None
        self.columns = plan.columns
        checkpoint = self.runtime.home.directory("checkpoints", self.stream.name)
        self._check_checkpoint(checkpoint)
        self.query = start_stream(
            self.spark, self.stream, self.columns, checkpoint, self.on_batch, trigger, once
        )
        self.runtime.catalog.bind_spark_query(self.stream.name, str(self.query.id))

    def _check_checkpoint(self, checkpoint: Path) -> None:
        """Refuse, before a row is read, a checkpoint that is not the one the log was written from."""
        name, metadata = self.stream.name, checkpoint / "metadata"
        bound = self.runtime.catalog.spark_query(name)
        if metadata.exists() and bound is not None:
            self.runtime.catalog.bind_spark_query(name, json.loads(metadata.read_text())["id"])
        elif self.runtime.logs[name].next > 0:
            raise RunError(
                "checkpoint-missing",
                f"stream `{name}` has a log, but the checkpoint that belongs to it is gone",
                because=str(checkpoint),
                help="restore the home as a whole, checkpoint and log, or start afresh in another home",
            )

    def on_batch(self, batch: DataFrame, number: int) -> None:
        """Called by Spark, one batch after the other; a batch may come again after a crash."""
        name, started = self.stream.name, time.time()
        while not self.runtime.has(name, number):
            epoch, plan = self.runtime.stream_plan(name)
            if plan is None:
                return
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
            failed = culprits(batch, self.runtime.program, plan, self._now(), error)
            self.runtime.quarantine(failed)
            epoch, rest = self.runtime.stream_plan(self.stream.name)
            if rest is None:
                raise
            return self.ingest(batch, number, epoch, rest, started)

    def _level1(self, batch: DataFrame, number: int, epoch: int, plan: StreamPlan, started: float) -> Batch:
        now, watermark = self._now(), self.runtime.watermark(self.stream.name)
        made = self._few_rows(batch, plan, now, watermark) or self._many_rows(batch, plan, now, watermark)
        query_id = str(self.query.id) if self.query is not None else ""
        table, filtered, dead = made
        return Batch(
            self.stream.name, number, table, key_layout(plan), epoch, plan, filtered, dead, query_id, started
        )

    def _few_rows(
        self, batch: DataFrame, plan: StreamPlan, now: Instant | None, watermark: Instant | None
    ) -> Made | None:
        """A small batch: Spark evaluates the rows, and they are aggregated here; None: it is not small."""
        if self.last_rows is not None and self.last_rows > SMALL:
            return None
        rows = collect(small_rows(batch, plan, now, SMALL + 1))
        if rows.num_rows > SMALL:  # a partition may hold more than it gave
            return None
        table = row_cells(rows, plan, watermark)
        return table, row_standing(rows, plan), self._dead(batch, plan, table, now, watermark)

    def _many_rows(
        self, batch: DataFrame, plan: StreamPlan, now: Instant | None, watermark: Instant | None
    ) -> Made:
        """A large batch is aggregated by Spark."""
        twice = bool(plan.standing and plan.taps)  # two jobs over one batch: read the source once
        rows = batch.persist() if twice else batch
        try:
            table = collect(level1(rows, plan, now, watermark))
            filtered = _by_query(collect(standing(rows, plan, now)), plan) if plan.standing else {}
            return table, filtered, self._dead(rows, plan, table, now, watermark)
        finally:
            if twice:
                rows.unpersist()

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
        now: Instant | None,
        watermark: Instant | None,
    ) -> pa.Table | None:
        """The rows that went wrong, read again only where level 1 counted some."""
        late = plan.stream.statement.keep_late and _total(table, "late") > 0
        failed = any(_total(table, f"e{at}") for at in range(len(plan.guards)))
        statuses = set(table.column("status").to_pylist())
        if not (late or failed or statuses & {NO_TIME, AHEAD, CORRUPT}):
            return None
        return bad_rows(rows, plan, now, watermark, late).limit(MOST_DEAD).toArrow()

    def _now(self) -> Instant | None:
        ahead = self.stream.statement.max_ahead
        return None if ahead is None else time.time_ns() // 1000

    def _note(self, made: Batch, seconds: float) -> None:
        rows = _total(made.table, "rows")
        self.last_rows, self.batch_seconds = rows, seconds
        passed = max(time.time() - self.last_arrival, 1e-3)
        self.rows_per_second = 0.7 * self.rows_per_second + 0.3 * rows / passed
        if rows:
            self.last_arrival = time.time()


class Runner:
    """A running program. `start`, then `wait` or `stop`."""

    def __init__(
        self,
        spark: SparkSession,
        runtime: Runtime,
        delivery: Delivery,
        report: Callable[[], None],
        *,
        trigger: str | None = None,
        once: bool = False,
        drain: bool = False,
    ) -> None:
        self.spark, self.runtime, self.delivery, self.report = spark, runtime, delivery, report
        self.trigger, self.once, self.drain = trigger, once, drain
        self.ingests: dict[str, Ingest] = {}
        self.error: WeftError | None = None
        self._stopping, self._finished = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        for plan in self.runtime.plan.streams:
            ingest = Ingest(self.spark, self.runtime, plan.stream)
            self.ingests[plan.stream.name] = ingest
            ingest.start(self.trigger, self.once)
        for name, loop in (("answer", self._answer), ("delivery", self._deliver), ("report", self._report)):
            thread = threading.Thread(target=self._guarded, args=(loop,), name=f"weft-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def wait(self, timeout: float | None = None) -> bool:
        """True when the program has ended; raises what ended it."""
        done = self._finished.wait(timeout)
        if done and self.error is not None:
            raise self.error
        return done

    def stop(self) -> None:
        """End after the batches under way; what is durable is answered and delivered."""
        self._stopping.set()
        with self.runtime.news:
            self.runtime.news.notify_all()
        if not self._threads:  # a stream could not be started
            for ingest in self.ingests.values():
                _stop_query(ingest.query)
            return
        self._finished.wait()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def renew(self) -> None:
        """After a change of the program: a stream that must read other columns is started again."""
        for plan in self.runtime.plan.streams:
            ingest = self.ingests.get(plan.stream.name)
            if ingest is None:
                ingest = self.ingests[plan.stream.name] = Ingest(self.spark, self.runtime, plan.stream)
                ingest.start(self.trigger, self.once)
            elif not set(plan.columns) <= set(ingest.columns):
                _stop_query(ingest.query)
                ingest.start(self.trigger, self.once)

    def pace(self) -> dict[str, Pace]:
        return {name: ingest.pace() for name, ingest in self.ingests.items()}

    # -- the loops

    def _guarded(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        except WeftError as error:
            self._fail(error)
        except Exception as error:
            self._fail(RunError("run-failed", f"the program stopped: {error}", help="see the log above"))
            raise

    def _fail(self, error: WeftError) -> None:
        self.error = self.error or error
        self._stopping.set()

    def _answer(self) -> None:
        """Step as soon as a batch is in; at the end answer what is left."""
        try:
            while not self._stopping.is_set() and not self._ended():
                with self.runtime.news:
                    self.runtime.news.wait(POLL)
                while self.runtime.step():
                    pass
                self._idle()
        finally:
            for ingest in self.ingests.values():
                _stop_query(ingest.query)
            with suppress(WeftError):
                self._last_steps()
            self._stopping.set()

    def _last_steps(self) -> None:
        if self.error is None:
            while self.runtime.step():
                pass
            if self.drain and self.once:
                self.runtime.step(why="drain", drain=True)

    def _ended(self) -> bool:
        """Have all streams ended? A stream that failed ends the program with its error."""
        ended = True
        for name, ingest in self.ingests.items():
            query = ingest.query
            if query is None or query.isActive:
                ended = False
            elif (failure := query.exception()) is not None:
                raise RunError(
                    "stream-failed",
                    f"stream `{name}` stopped: {_first_line(str(failure))}",
                    help="mend the source and run the program again; it goes on where it was",
                )
        return ended and self.once

    def _idle(self) -> None:
        """Move the watermark of streams that have been silent for longer than IDLE AFTER."""
        moved = {}
        for name, ingest in self.ingests.items():
            after = ingest.stream.statement.idle_after
            silent = int((time.time() - ingest.last_arrival) * 1_000_000)
            watermark = self.runtime.watermark(name)
            if after is not None and watermark is not None and silent >= after:
                moved[name] = watermark + silent
        if any(self.runtime.closes(name, at) for name, at in moved.items()):
            self.runtime.step(why="idle", watermarks=moved)

    def _deliver(self) -> None:
        while not self._stopping.is_set():
            self.delivery.run_once()
            self._stopping.wait(POLL)
        for thread in self._threads:
            if thread.name == "weft-answer":
                thread.join()
        self.delivery.run_once(flush=True)
        self.report()
        self._finished.set()

    def _report(self) -> None:
        while not self._stopping.is_set():
            self.report()
            self._stopping.wait(1.0)


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


def _stop_query(query: StreamingQuery | None) -> None:
    if query is not None:
        with suppress(Exception):
            query.stop()


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), text)
