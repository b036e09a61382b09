"""The ingest of one stream: each of Spark's batches goes through level 1 into the ingest log."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from weft.engine.batch import Batch
from weft.engine.report import Pace
from weft.engine.runtime import Runtime, Terms
from weft.errors import RunError, WeftError
from weft.log.paths import AnyPath
from weft.plan.nodes import Stream
from weft.share.nodes import StreamPlan
from weft.share.rowcolumns import key_layout
from weft.spark.bisect import culprits
from weft.spark.checkpoint import check_checkpoint, checkpoint_of, query_id
from weft.spark.filescan import FileScan
from weft.spark.stream import start_stream
from weft.spark.ways import Given, Ways, total
from weft.times import Instant

_SHORT = 500  # characters
_PATIENCE = 10.0  # seconds that a batch is given to end when its stream is stopped


class Halted(Exception):
    """Ends the query of a stream in front of a batch that cannot be taken as the stream is read now."""


class Broken(Exception):
    """What went wrong with a batch, in short.

    Spark searches what it is told with regular expressions that take a frame of the stack for each character:
    a message with the text of a thousand queries in it would end its thread, and nobody would hear of it.
    """


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
        self._ways = Ways(spark, runtime.logs[stream.name])
        self._stopping, self._at_work = False, threading.Lock()
        self.batch_seconds = 0.0
        self.rows_per_second = 0.0
        self.last_arrival = time.time()

    def start(self, trigger: str | None, once: bool) -> None:
        plan = self.runtime.terms(self.stream.name).plan
        assert plan is not None
        self.columns, self.error, self.halted, self._stopping = plan.columns, None, False, False
        checkpoint = checkpoint_of(self.runtime.home, self.stream.name)
        check_checkpoint(checkpoint, self.runtime.catalog, self.runtime.logs[self.stream.name])
        self._checkpoint, self._spark_id = checkpoint, None
        self._ways.files = FileScan(self.spark, self.stream, checkpoint)
        self.query = start_stream(
            self.spark, self.stream, self.columns, checkpoint, self.on_batch, trigger, once
        )
        self.runtime.catalog.bind_spark_query(self.stream.name, str(self.query.id))

    def stop(self) -> None:
        """End after the batch under way, if that does not take long; else it comes again."""
        self._stopping = True
        query, self.query = self.query, None  # whoever asks meanwhile is not to take it for ended by itself
        if query is not None:
            if self._at_work.acquire(timeout=_PATIENCE):
                self._at_work.release()
            with suppress(Exception):
                query.stop()

    def on_batch(self, batch: DataFrame, number: int) -> None:
        """Called by Spark, one batch after the other; a batch may come again after a crash."""
        try:
            with self._at_work:
                self._take(batch, number)
        except Halted:
            raise
        except Exception as error:
            self.error = error if isinstance(error, WeftError) else self._failure(error)
            raise Broken(_short(error)) from None

    def _failure(self, error: Exception) -> RunError:
        return RunError(
            "stream-failed",
            f"a batch of stream `{self.stream.name}` failed: {_short(error)}",
            help="mend what it says and run the program again; it goes on where it was",
        )

    def _take(self, batch: DataFrame, number: int) -> None:
        name, started = self.stream.name, time.time()
        while not self.runtime.has(name, number):
            terms = self.runtime.terms(name)
            plan = terms.plan
            if plan is None or (self.columns and not set(plan.columns) <= set(self.columns)):
                # If Spark took it for done it would be lost. It comes again when the stream is started anew.
                self.halted = True
                raise Halted(f"batch {number} of {name} must wait for another start")
            made = self.ingest(batch, number, terms, plan, started)
            if self.runtime.commit(made):
                self._note(made, time.time() - started)

    def ingest(self, batch: DataFrame, number: int, terms: Terms, plan: StreamPlan, started: float) -> Batch:
        """Level 1 of one batch; queries that break it are found, taken out of force, and it is done again."""
        try:
            return self._level1(batch, number, terms, plan, started)
        except WeftError:
            raise
        except Exception as error:
            failed = {} if self._stopping else self._culprits(batch, plan, error)
            if self._stopping:  # Spark breaks off what is under way: no query is at fault
                raise
            self.runtime.quarantine(failed)
            terms = self.runtime.terms(self.stream.name)
            if terms.plan is None:
                self.halted = True
                raise
            return self.ingest(batch, number, terms, terms.plan, started)

    def _culprits(self, batch: DataFrame, plan: StreamPlan, error: Exception) -> dict[str, str]:
        runtime = self.runtime
        with runtime.lock:
            program = runtime.program
            hidden = {name: query.picks_by for name, query in runtime.running.items()}
        return culprits(batch, program, plan, hidden, _clock(), error)

    def _level1(self, batch: DataFrame, number: int, terms: Terms, plan: StreamPlan, started: float) -> Batch:
        crew = terms.crew  # the cells may be moved meanwhile; the batch goes where they were
        given = Given(batch, number, plan, _clock(), self.runtime.watermark(self.stream.name), crew)
        made = self._ways.take(given)
        if self._spark_id is None and self._checkpoint is not None:
            self._spark_id = query_id(self._checkpoint)
        return Batch(
            stream=self.stream.name,
            number=number,
            table=made.table,
            layout=key_layout(plan),
            epoch=terms.epoch,
            plan=plan,
            standing=made.standing,
            dead=made.dead,
            spark_id=self._spark_id or "",
            now=given.now,
            started=started,
            buckets=0 if crew is None else crew.buckets,
            cells=made.cells,
            written=made.written,
            told=made.told,
            asked=made.asked,
        )

    def pace(self) -> Pace:
        """How fast it goes, for the status."""
        query = self.query
        state = "running" if query is not None and query.isActive else "stopped"
        return Pace(self.rows_per_second, self.batch_seconds, state)

    def _note(self, made: Batch, seconds: float) -> None:
        self._ways.note(made.table, made.cells)
        rows = total(made.table, "rows")
        self.batch_seconds = seconds
        passed = max(time.time() - self.last_arrival, 1e-3)
        self.rows_per_second = 0.7 * self.rows_per_second + 0.3 * rows / passed
        if rows:
            self.last_arrival = time.time()


def _short(error: Exception) -> str:
    """The first line of a message that says something, and not too much of it."""
    said = str(error).strip() or type(error).__name__
    return said.splitlines()[0][:_SHORT]


def _clock() -> Instant:
    return time.time_ns() // 1000
