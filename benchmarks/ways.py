"""A program run whole by every way to share its queries: level 1, folding, answering, both logs.

    No Share      each query a program of its own
    Shared        one program
    Weave Share   each group of queries a program of its own: it reads all rows, and has slices of its own
    TriWeave      rows are read once, for all; each group folds the cells into slices of its own

The engine's own parts in its own order, without Structured Streaming around them: what Spark takes to plan a
batch and to commit it is the same for every way that is one job, and would only hide how they differ.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from weft.collecting import uncollected
from weft.engine.batch import Batch
from weft.engine.buckets import CELLS
from weft.engine.census import Census
from weft.engine.cputime import tree_seconds
from weft.engine.due import finish
from weft.engine.meter import Meter
from weft.engine.parquetfiles import pieces, read
from weft.engine.rowcells import row_cells
from weft.engine.rowscan import compile_scan
from weft.engine.step import StreamState
from weft.engine.windows import Reach
from weft.lang.parse import parse_program
from weft.log.answers import AnswerLog
from weft.log.home import Home
from weft.log.ingest import IngestLog
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.share.build import build
from weft.share.model.cost import Level
from weft.share.model.load import Load
from weft.share.model.plans import SHARED, TRIWEAVE, Way
from weft.share.nodes import StreamPlan
from weft.share.rowcolumns import key_layout
from weft.share.slicing import distinct_pairs
from weft.spark.level1 import collect, level1

STREAM = "rows"
Level1 = Callable[[Path], pa.Table]  # of a file


@dataclass(frozen=True, slots=True)
class Source:
    """How files become cells, and whose CPU time that is."""

    open: Callable[[StreamPlan], Level1]
    clock: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Job:
    """Rows are read once, as one plan has it, and folded into the state of each of some."""

    reads: StreamPlan
    states: tuple[StreamPlan, ...]


@dataclass(slots=True)
class Spent:
    """CPU-seconds of a run, by level as far as threads tell, and what it has answered."""

    cpu: float = 0.0
    levels: dict[Level, float] = field(default_factory=dict)
    answers: dict[str, list[pa.Table]] = field(default_factory=dict)
    groups: dict[tuple[str, ...], float] = field(default_factory=dict)
    passing: dict[str, float] = field(default_factory=dict)


def plan_of(text: str) -> StreamPlan:
    """The shared plan of a program with one stream."""
    (plan,) = build(optimize_program(bind_program(parse_program(text)))).streams
    return plan


def by_columns() -> Source:
    """Files are read by columns, in this process: there is no JVM to be asked."""

    def opened(plan: StreamPlan) -> Level1:
        scan = compile_scan(plan)

        def cells(path: Path) -> pa.Table:
            batches = list(read(pieces([str(path)], scan.columns), scan, None))
            return row_cells(pa.Table.from_batches(batches), plan, None)

        return cells

    return Source(opened, time.process_time)


def by_spark(spark: SparkSession) -> Source:
    """Spark reads the files and aggregates their rows."""

    def opened(plan: StreamPlan) -> Level1:
        return lambda path: collect(level1(spark.read.parquet(str(path)), plan, None, None))

    return Source(opened, tree_seconds)


def jobs(way: Way, shared: StreamPlan, text: Callable[[Sequence[str]], str]) -> list[Job]:
    """What is to be run for a way; `text` makes a program of some of the queries."""
    if way.name == SHARED:
        return [Job(shared, (shared,))]
    if way.name == TRIWEAVE:
        return [Job(shared, tuple(_folded(group, shared) for group in way.plans))]
    apart = [plan_of(text([tap.query.name for tap in group.taps])) for group in way.plans]
    return [Job(plan, (plan,)) for plan in apart]


def _folded(group: StreamPlan, shared: StreamPlan) -> StreamPlan:
    """The plan of a group whose state is cut at its own edges, and fed with the cells of all."""
    pairs = distinct_pairs(tap.window for tap in group.taps)
    grain = shared.edges.grain or 1
    return replace(group, edges=replace(group.edges, grain=grain, pairs=pairs, combined=True))


def run(todo: Sequence[Job], files: Sequence[Path], source: Source, keep: bool = False) -> Spent:
    """Run all jobs, one after the other; `keep`: with answers, and what was counted."""
    spent = Spent()
    for job in todo:
        with tempfile.TemporaryDirectory(prefix="weft-ways-") as place, Home.open(Path(place)) as home:
            running = _Running(job, home, source, spent)  # what a start takes does not count
            began = source.clock()
            running.run(files)
            spent.cpu += source.clock() - began
            if keep:
                _kept(home, spent)
    return spent


def _kept(home: Home, spent: Spent) -> None:
    """The answers of a job, read back from its log."""
    log = AnswerLog(home)
    for record in log.records():
        for name in record.tables:
            answers = log.read(record, name)
            assert answers is not None
            spent.answers.setdefault(name, []).append(answers)


class _Running:
    """One job under way."""

    def __init__(self, job: Job, home: Home, source: Source, spent: Spent) -> None:
        self._plan, self._spent = job.reads, spent
        self._ingest, self._answers = IngestLog(home, STREAM), AnswerLog(home)
        self._cells = source.open(job.reads)
        self._layout = key_layout(job.reads)
        self._states = [StreamState(plan, {}) for plan in job.states]
        self._census, self._meter = Census(), Meter()

    @uncollected()
    def run(self, files: Sequence[Path]) -> None:
        for number, path in enumerate(files):
            self._step(number, self._take(number, path))
        for state in self._states:
            self._spent.groups |= {keys: float(count) for keys, count in state.count_groups().items()}
        self._spent.passing |= self._census.passing(STREAM)
        for level, seconds in self._meter.levels.items():
            self._spent.levels[level] = self._spent.levels.get(level, 0.0) + seconds

    def _take(self, number: int, path: Path) -> Batch:
        """Level 1 of a batch, into the ingest log."""
        with self._meter.during(Level.READ):
            table = self._cells(path)
        return Batch(STREAM, number, table, self._layout, 0, self._plan, {}, None, "", 0, 0.0)

    def _step(self, number: int, batch: Batch) -> None:
        """Fold a batch into every state, and answer what it closes."""
        meta, tables = batch.meta(), batch.tables()
        self._census.count(batch.stream, meta["rows"], batch.what_cells_tell(), batch.asked)
        self._ingest.commit(number, tables, meta)
        with self._meter.during(Level.FOLD):
            for state in self._states:
                state.fold(tables[CELLS], meta["feeds"])
        self._answer(number, Reach(meta["max_time"]))
        with self._meter.during(Level.FOLD):
            for state in self._states:
                state.expire()

    def _answer(self, number: int, reach: Reach) -> None:
        self._answers.intend(number, {})
        due = (item for state in self._states for item in state.due(reach, None).items)
        with self._meter.during(Level.OUTPUT), self._answers.writer(number) as out:
            made = finish(self._meter.watched(due, Level.OUTPUT), None, out)
            made.take(out)
            self._answers.commit(number, made.tables, {}, made.written, made.kept)
        self._answers.release(number)
        for state in self._states:
            state.reach = reach


def load_of(spent: Spent, rows: int, seconds: float, batches: int) -> Load:
    """What a run has counted, as the model wants it."""
    return Load(
        rows=rows / seconds,
        groups=max(spent.groups.values(), default=1.0),
        batch=seconds / batches,
        step=seconds / batches,
        counted=spent.groups,
        passing=spent.passing,
        rows_by="measured",
        groups_by="measured",
    )
