"""A program tried out on generated cells: what folding, answering and writing takes here, without Spark."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa

from weft.collecting import uncollected
from weft.engine.due import finish
from weft.engine.ingest import describe
from weft.engine.meter import Meter
from weft.engine.step import StreamState
from weft.engine.tails import ParquetTail
from weft.engine.windows import Reach
from weft.kernels.columns import part_columns
from weft.kernels.combine import Ints
from weft.log.answers import AnswerLog
from weft.log.home import Home
from weft.share.model.cost import Level
from weft.share.nodes import Feed, Op, Partial, StreamPlan
from weft.share.rowcolumns import key_layout
from weft.times import BEGINNING, SECOND


@dataclass(frozen=True, slots=True)
class Trial:
    """How a plan is tried: batches of so many slices of a second."""

    plan: StreamPlan
    groups: int
    slices: int
    batches: int = 7
    before: int = 0  # slices that are there already
    every: int = 1  # each group is in one of so many slices
    stored: bool = True  # are answers also kept as the result store does?


@dataclass(frozen=True, slots=True)
class Took:
    """CPU-seconds of a batch and its step, and what they did."""

    fold: float
    final: float
    output: float
    cells: int
    answers: int


@uncollected()
def try_out(trial: Trial) -> Took:
    """The median over the batches, the first left out: it makes room."""
    with tempfile.TemporaryDirectory(prefix="weft-trial-") as place, Home.open(Path(place) / "home") as home:
        return _Trying(trial, AnswerLog(home)).run()


class _Trying:
    def __init__(self, trial: Trial, log: AnswerLog) -> None:
        self._trial, self._log = trial, log
        self._state = StreamState(trial.plan, {})
        self._described = describe(trial.plan, key_layout(trial.plan))
        self._draw = np.random.default_rng(1)

    def run(self) -> Took:
        trial = self._trial
        if trial.before:
            self._state.fold(self._cells(0, trial.before), self._described)
            self._state.reach = Reach(trial.before * SECOND, BEGINNING)
        found = [self._batch(number) for number in range(trial.batches)][1:]
        return replace(
            found[-1],
            fold=median(took.fold for took in found),
            final=median(took.final for took in found),
            output=median(took.output for took in found),
        )

    def _batch(self, number: int) -> Took:
        trial, meter = self._trial, Meter()
        first = trial.before + number * trial.slices
        cells = self._cells(first, trial.slices)
        with meter.during(Level.FOLD):
            self._state.fold(cells, self._described)
        reach = Reach((first + trial.slices) * SECOND, BEGINNING)
        answers = self._answer(number, reach, meter)
        with meter.during(Level.FOLD):
            self._state.reach = reach
            self._state.expire()
        spent = meter.levels
        return Took(spent[Level.FOLD], spent[Level.FINAL], spent[Level.OUTPUT], cells.num_rows, answers)

    def _answer(self, number: int, reach: Reach, meter: Meter) -> int:
        """Answer and write; gives the rows."""
        with meter.during(Level.OUTPUT):
            with self._log.writer(number) as out:
                items = meter.watched(self._state.due(reach, None).items, Level.OUTPUT)
                made = finish(items, None, out)
                made.take(out)
            self._log.intend(number, {})
            self._log.commit(number, made.tables, {}, made.written, made.kept)
            if self._trial.stored:
                for table in (made.tables | made.kept).values():
                    ParquetTail("snappy").add(table)
        return sum(made.count().values())

    def _cells(self, first: int, slices: int) -> pa.Table:
        """The level 1 table of a batch."""
        trial = self._trial
        second, group = np.repeat(np.arange(first, first + slices), trial.groups), np.arange(trial.groups)
        group = np.tile(group, slices)
        here = (second + group) % trial.every == 0
        tables = [self._of_root(root, second[here] * SECOND, group[here]) for root in trial.plan.roots]
        return pa.concat_tables(tables, promote_options="default")

    def _of_root(self, root: int, starts: Ints, number: Ints) -> pa.Table:
        feed, rows = self._trial.plan.feeds[root], len(starts)
        columns = {"feed": pa.array(np.full(rows, root)), "slice": pa.array(starts)}
        for place, key in zip(key_layout(self._trial.plan)[root], self._keys(feed, number), strict=True):
            columns[f"g{place}"] = key
        for at, partial in enumerate(feed.partials):
            columns |= self._parts(f"f{root}_p{at}", partial, rows)
        return pa.table(columns)

    def _keys(self, feed: Feed, number: Ints) -> list[pa.Array]:
        """Keys of which each pair of group and extra value is another: the last counts within a group."""
        if not feed.extra:
            return [pa.array(number)] * len(feed.keys)
        return [*[pa.array(number // 10)] * (len(feed.keys) - 1), pa.array(number % 10)]

    def _parts(self, name: str, partial: Partial, rows: int) -> dict[str, pa.Array]:
        whole = partial.op in (Op.COUNT, Op.SUM_INT, Op.SUM_LONG)
        made: dict[str, pa.Array] = {}
        for part, column in part_columns(name, partial.op).items():
            if whole or part == "n" or (part == "by" and partial.by is None):
                made[column] = pa.array(self._draw.integers(1, 1000, rows))
            elif partial.type == "string":
                made[column] = pa.array(np.char.add("v", self._draw.integers(0, 1000, rows).astype(str)))
            else:
                made[column] = pa.array(self._draw.random(rows))
        return made
