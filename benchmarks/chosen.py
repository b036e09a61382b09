"""Is the way to share that the model chooses the cheapest? `python -m benchmarks.chosen`

Random programs, each run whole by every way to share (`benchmarks/ways.py`), in turns, in CPU-seconds: the
median, and how far the middle runs lie apart. Answers of all ways are compared. The model sees what was
counted: rows, groups, what predicates let pass. What it chooses may take 1.15 times the cheapest way as
measured, and the spread. Weave Share and TriWeave run with the groups that the model finds best of at least
two: with one they are Shared. Every few programs runs as streams on Spark, too, in one job and with each
query a native `window()` query (`benchmarks/native.py`): these two are compared with each other.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import click
from pyspark.sql import SparkSession

from benchmarks.drawn import Drawn, draw, inputs
from benchmarks.measure import machine
from benchmarks.model import rank_correlation
from benchmarks.native import native_answers, run_native, run_weft
from benchmarks.same import check_same
from benchmarks.scantrial import without_spark
from benchmarks.ways import Job, Source, Spent, by_columns, by_spark, jobs, load_of, plan_of, run
from weft.engine.calibrate import calibrate
from weft.share.model.constants import SHIPPED, Constants
from weft.share.model.load import Load
from weft.share.model.plans import NO_SHARE, SHARED, Way, Ways
from weft.spark.session import build_session

BOUND = 1.15  # times the cheapest, and the spread
HOPELESS = 3.0  # times the cheapest in the first round: not measured again
STREAMED, NATIVE = "as a stream", "native Spark"


@dataclass(slots=True)
class Runs:
    """A way, what the model says it takes, and what it took, in CPU-seconds."""

    name: str
    groups: int
    predicted: float | None
    taken: list[float] = field(default_factory=list)

    @property
    def middle(self) -> float:
        return median(self.taken)

    @property
    def spread(self) -> float:
        """How far the runs next to the fastest and the slowest lie apart, over the median."""
        inner = sorted(self.taken)[1:-1]
        return (inner[-1] - inner[0]) / self.middle if inner else 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """One program, the ways it was run, and the one that the model chose."""

    drawn: Drawn
    runs: Sequence[Runs]
    chosen: str
    streams: Sequence[Runs] = ()  # as streams: the chosen way and native queries

    @property
    def cheapest(self) -> Runs:
        return min(self.runs, key=lambda runs: runs.middle)

    @property
    def mine(self) -> Runs:
        return next(runs for runs in self.runs if runs.name == self.chosen)

    @property
    def ratio(self) -> float:
        return self.mine.middle / self.cheapest.middle

    @property
    def bound(self) -> float:
        return BOUND + max(self.mine.spread, self.cheapest.spread)

    @property
    def native(self) -> float | None:
        """What the chosen way takes as a stream, over what native queries take."""
        return self.streams[0].middle / self.streams[1].middle if self.streams else None

    @property
    def holds(self) -> bool:
        spread = max((runs.spread for runs in self.streams), default=0.0)
        return self.ratio <= self.bound and (self.native or 0.0) <= BOUND + spread


class Contest:
    """One program, ready to be run by every way."""

    def __init__(self, drawn: Drawn, source: Source, constants: Constants) -> None:
        self._drawn, self._source = drawn, source
        shared = plan_of(drawn.text(drawn.names))
        own = [Job(shared, (shared,))]
        self._first = run(own, drawn.input.files, source, keep=True)
        load = load_of(self._first, drawn.input.rows, drawn.input.seconds, len(drawn.input.files))
        ways = Ways(shared, constants)
        self.chosen = ways.chosen(load).name
        self._ways = [*_plain(ways, load), *ways.woven(load)]
        self._jobs = {way.name: jobs(way, shared, drawn.text) for way in self._ways}

    def runs(self, rounds: int) -> list[Runs]:
        """All ways, in turn; those that are hopeless only once."""
        seconds = self._drawn.input.seconds
        found = [Runs(way.name, way.groups, way.cost * seconds) for way in self._ways]
        for each in found:
            self._compared(each)
        least = min(runs.middle for runs in found)
        racing = [runs for runs in found if runs.middle <= HOPELESS * least]
        for runs in racing:
            runs.taken.clear()
        for _ in range(rounds):
            for runs in racing:
                runs.taken.append(self._run(runs.name).cpu)
        return found

    def _compared(self, runs: Runs) -> None:
        """The first run: it makes room, and its answers must be those of all others."""
        spent = self._run(runs.name, keep=True)
        runs.taken.append(spent.cpu)
        check_same(self._first.answers, spent.answers, runs.name)

    def _run(self, name: str, keep: bool = False) -> Spent:
        return run(self._jobs[name], self._drawn.input.files, self._source, keep)

    def streams(self, spark: SparkSession, rounds: int) -> list[Runs]:
        """As streams on Spark, in turn, after one that warms up: in one job, and each query natively."""
        check_same(self._first.answers, native_answers(spark, self._drawn), NATIVE)
        run_weft(spark, self._drawn)
        own, native = Runs(STREAMED, 1, None), Runs(NATIVE, len(self._drawn.queries), None)
        for _ in range(rounds):
            own.taken.append(run_weft(spark, self._drawn))
            if not native.taken or native.middle <= HOPELESS * own.middle:
                native.taken.append(run_native(spark, self._drawn))
        return [own, native]


def _plain(ways: Ways, load: Load) -> list[Way]:
    return [way for way in ways.all(load) if way.name in (NO_SHARE, SHARED)]


@click.command()
@click.option("--programs", default=24, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--rounds", default=5, show_default=True)
@click.option("--scale", default=1.0, show_default=True, help="of the number of rows")
@click.option("--quick", is_flag=True, help="six programs of few rows, three rounds: to see that all runs")
@click.option(
    "--shipped", is_flag=True, help="with the constants that are shipped, not those of this machine"
)
@click.option("--keep", type=click.Path(path_type=Path), help="write all numbers to this file, as JSON")
def main(
    programs: int, seed: int, rounds: int, scale: float, quick: bool, shipped: bool, keep: Path | None
) -> None:
    """Predicted and measured cost of every way to share, and whether the model chooses well."""
    if quick:
        programs, rounds, scale = 6, 3, 0.25 * scale
    constants = SHIPPED if shipped else calibrate()
    by_source = {True: constants, False: without_spark(constants)}
    click.echo(f"{machine()}\nconstants {constants.origin}")
    spark = build_session("local[*]", {"spark.ui.enabled": "false"})
    spark.sparkContext.setLogLevel("ERROR")
    found = []
    with tempfile.TemporaryDirectory(prefix="weft-chosen-") as place:
        choose, all_inputs = random.Random(seed), inputs(scale, Path(place))
        for number in range(programs):
            drawn = draw(choose, number, all_inputs)
            found.append(ask(drawn, spark, by_source[drawn.by_spark], rounds))
            click.echo("\n".join(lines(number + 1, found[-1])))
    spark.stop()
    if keep is not None:
        keep.write_text(json.dumps([to_json(each) for each in found], indent=1) + "\n")
    click.echo("\n".join(verdict(found)))


def ask(drawn: Drawn, spark: SparkSession, constants: Constants, rounds: int) -> Found:
    contest = Contest(drawn, by_spark(spark) if drawn.by_spark else by_columns(), constants)
    streams = contest.streams(spark, rounds) if drawn.by_spark and contest.chosen == SHARED else []
    return Found(drawn, contest.runs(rounds), contest.chosen, streams)


def lines(number: int, found: Found) -> Iterator[str]:
    """A program, and a line for each way."""
    yield f"\n{number:2} {found.drawn.title}"
    for runs in [*found.runs, *found.streams]:
        groups = f"{runs.groups} groups" if runs.name not in (SHARED, STREAMED, NATIVE) else ""
        told = "" if runs.predicted is None else f"{runs.predicted:.2f} predicted"
        marks = [
            "chosen" if runs.name == found.chosen else "",
            "cheapest" if runs is found.cheapest else "",
            "measured once" if len(runs.taken) == 1 else "",
        ]
        yield (
            f"   {runs.name:<13}{groups:>10}{told:>19}{runs.middle:>9.2f} CPU-s "
            f"± {runs.spread:>4.0%}  {', '.join(filter(None, marks))}"
        ).rstrip()
    native = "" if found.native is None else f", as a stream {found.native:.2f} of native Spark"
    yield f"   {found.ratio:.2f} of the cheapest, at most {found.bound:.2f}{native}: {_passes(found.holds)}"


def _passes(holds: bool) -> str:
    return "PASS" if holds else "FAIL"


def verdict(found: Sequence[Found]) -> Iterator[str]:
    """Over all programs: is what was chosen cheap enough, and do predictions order what was measured?"""
    told = [(r.predicted, r.middle) for each in found for r in each.runs if r.predicted is not None]
    shared = [r for each in found for r in each.runs if r.name == SHARED]
    every = rank_correlation(*zip(*told, strict=True))
    own = rank_correlation([r.predicted or 0.0 for r in shared], [r.middle for r in shared])
    chosen = sorted({each.chosen for each in found})
    counts = ", ".join(f"{name} {sum(each.chosen == name for each in found)}" for name in chosen)
    yield f"\nchosen: {counts}; at worst {max(each.ratio for each in found):.2f} of the cheapest measured"
    yield f"rank correlation of predicted and measured: {every:.2f} of {len(told)} plans, {own:.2f} of Shared"
    passed = sum(each.holds for each in found)
    yield f"{passed} of {len(found)} programs pass: {_passes(passed == len(found))}"


def to_json(found: Found) -> dict[str, object]:
    return {
        "program": found.drawn.title,
        "queries": [str(query) for query in found.drawn.queries],
        "chosen": found.chosen,
        "ratio": found.ratio,
        "bound": found.bound,
        "ways": [
            {"way": r.name, "groups": r.groups, "predicted": r.predicted, "taken": r.taken}
            for r in [*found.runs, *found.streams]
        ],
    }


if __name__ == "__main__":
    main()
