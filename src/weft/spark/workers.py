"""Work of weft's in the Python workers of a session: plans go there once, and what is said comes back.

What a task has to say is names of files and counts, or the cells of its rows. Tasks over rows that Spark has
evaluated get them as Arrow, and say it in columns, as pickled words.
"""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import pyarrow as pa
from pyspark import RDD, Broadcast
from pyspark.sql import DataFrame, SparkSession

from weft.engine.mapside import Said, make_cells, say_cells
from weft.engine.parquetfiles import Piece, read
from weft.engine.rowscan import Unsuited, compile_scan
from weft.errors import RunError
from weft.log.home import Home
from weft.share.nodes import StreamPlan
from weft.spark.complaints import SPARK_ERRORS, workers_complaint
from weft.spark.shipping import ship
from weft.times import Instant

PlanT = TypeVar("PlanT")
Batches = Iterable[pa.RecordBatch]
Task = Callable[[Batches], Iterator[pa.RecordBatch]]

_WORD = pa.schema([("word", pa.binary())])
_KEPT = 16  # plans: two for each stream and, while it changes, those before
_plans: dict[str, Any] = {}  # in a worker: the plans it has read, by name


class Workers:
    """The Python workers of a session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._sent: list[tuple[object, bool, Sent[Any]]] = []
        ship(spark)

    def numbered(self, tasks: int) -> RDD[int]:
        """One partition for each task, with its number.

        Not a table: planning one, and handing Arrow columns back and forth, costs more than most tasks.
        """
        return self.spark.sparkContext.parallelize(range(tasks), tasks)

    def check(self, tasks: RDD[int], home: str | None = None) -> None:
        """Refuse workers that lack what they need, or do not see the home, wherever these tasks are done."""
        try:
            said = tasks.mapPartitions(partial(_try_out, home)).collect()
        except SPARK_ERRORS as error:
            raise RunError(
                "executors-lack-weft",
                f"the executors cannot run weft with {self.spark.sparkContext.pythonExec}: "
                + workers_complaint(error),
                help="PYSPARK_PYTHON must name, on every executor, a Python of the driver's version with "
                "numpy and pyarrow; see docs/cluster.md, or run with --placement driver",
            ) from error
        for each in said:
            if isinstance(each, Refused):
                raise RunError(
                    "executors-lack-home",
                    f"the executors do not see the home: {each.why}",
                    help="they must reach it as the driver does, with the same packages and rights; "
                    "see docs/cluster.md, or run with --placement driver",
                )

    def send(self, plan: PlanT, *, level1: bool = False) -> Sent[PlanT]:
        """A plan is large, and stays for long: it is sent once, and workers read it once.

        `level1`: only what is done with rows. The queries above it are nearly all of a plan.
        """
        for known, part, found in self._sent:
            if known is plan and part == level1:
                return found
        needed = replace(plan, taps=()) if level1 and isinstance(plan, StreamPlan) else plan
        sent: Sent[PlanT] = Sent(
            secrets.token_hex(8), self.spark.sparkContext.broadcast(pickle.dumps(needed))
        )
        for _, _, old in self._sent[_KEPT - 1 :]:
            old.plan.unpersist()
        self._sent = [(plan, level1, sent), *self._sent[: _KEPT - 1]]
        return sent

    def scan(self, errand: Scanning, plan: StreamPlan) -> list[Said]:
        """Level 1 of files."""
        return self.over(errand, partial(_do_scan, errand, self.send(plan, level1=True)))

    def over(self, errand: Scanning, task: Callable[[Iterable[int]], Iterator[Any]]) -> list[Any]:
        """What tasks say that read files, one for each share; raises `Unsuited` if one could not."""
        shares = len(errand.shares)
        said = self.numbered(shares).mapPartitions(task).collect()
        for each in said:
            if isinstance(each, Refused):
                raise Unsuited(each.why)
        return said

    def cells(self, rows: DataFrame, plan: StreamPlan, watermark: Instant | None) -> list[pa.Table]:
        """Level 1 tables of rows whose expressions `rows` evaluates; cells of one group may be in several."""
        return collect(rows, partial(_do_cells, watermark, self.send(plan, level1=True)))


@dataclass(frozen=True, slots=True)
class Scanning:
    """What files tasks are to read, and as of when."""

    shares: list[list[Piece]]
    now: Instant
    watermark: Instant | None

    def read(self, task: int, plan: StreamPlan) -> Iterator[pa.RecordBatch]:
        """In a worker: the evaluated rows of a share."""
        return read(self.shares[task], compile_scan(plan), self.now)


@dataclass(frozen=True, slots=True)
class Refused:
    """What a task says that could not read what it was to read."""

    why: str


@dataclass(frozen=True, slots=True)
class Sent(Generic[PlanT]):
    """A plan on its way to workers."""

    name: str
    plan: Broadcast[bytes]

    def read(self) -> PlanT:
        if self.name not in _plans:
            for old in list(_plans)[: 1 - _KEPT]:
                del _plans[old]
            _plans[self.name] = pickle.loads(self.plan.value)
        plan: PlanT = _plans[self.name]
        return plan


def collect(rows: DataFrame, task: Task) -> list[Any]:
    """The words of all tasks."""
    words = rows.mapInArrow(task, "word binary").toArrow()
    return [pickle.loads(word.as_buffer()) for chunk in words.column("word").chunks for word in chunk]


def word(said: object) -> pa.RecordBatch:
    return pa.record_batch([pa.array([pickle.dumps(said)], pa.binary())], schema=_WORD)


def _do_cells(watermark: Instant | None, sent: Sent[StreamPlan], rows: Batches) -> Iterator[pa.RecordBatch]:
    """In a worker: aggregate the rows of this partition."""
    for _, table in make_cells(rows, sent.read(), watermark):
        yield word(table)


def _do_scan(errand: Scanning, sent: Sent[StreamPlan], tasks: Iterable[int]) -> Iterator[object]:
    """In a worker: aggregate the rows of the files of this partition."""
    plan = sent.read()
    return by_task(tasks, lambda task: say_cells(errand.read(task, plan), plan, errand.watermark))


def by_task(tasks: Iterable[int], said: Callable[[int], Iterable[object]]) -> Iterator[object]:
    """In a worker: what is said of each task, or that its files are not what was thought."""
    for task in tasks:
        try:
            yield from said(task)
        except Unsuited as error:
            yield Refused(str(error))


def _try_out(home: str | None, tasks: Iterable[int]) -> Iterator[object]:
    yield from tasks
    try:
        if home is not None:
            Home.look(home)
    except RunError as error:
        yield Refused(error.what)
