"""Does the cost model tell the truth? `python -m benchmarks.model`

Random programs, each run for real on Spark over the same rows, a replay in a few batches: CPU-seconds of the
whole process tree beside those that the model predicts from what the run counted (rows, groups, batches,
steps) and the constants. What starting a stream takes is measured with a program that has one batch of few
rows to read, and left out. What matters is the order: a planner compares, and the rank correlation says how
often it would be right.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.measure import Run, machine, timed
from weft.engine.calibrate import calibrate
from weft.session import Session
from weft.share.model.constants import SHIPPED, Constants
from weft.share.model.cost import Cost
from weft.share.model.load import Load
from weft.share.model.price import Priced
from weft.spark.session import build_session

BEGIN = 1_700_000_000_000_000  # of event time, in microseconds
SLIDES = (1, 2, 5, 10, 15, 30, 60)
KEYS = {"few": 10, "some": 300, "many": 5000, "most": 10_000}
ITEMS = (
    "COUNT(*)", "SUM(qty)", "AVG(qty)", "SUM(price)", "AVG(price)", "MIN(price)", "MAX(qty)", "STDDEV(price)",
    "LAST(price)", "MAX_BY(qty, price)", "MAX(name)", "COUNT(DISTINCT few)",
)  # fmt: skip
ROUNDS = 3
MOST_ANSWERS = 10_000_000
NOTHING = "CREATE QUERY q AS SELECT few, COUNT(*) AS n FROM rows [RANGE 10 SECONDS] GROUP BY few;"
WHERES = ("", "", "qty > 500", "price < 20", "qty > 100 AND price > 50")


@dataclass(frozen=True, slots=True)
class Data:
    """Rows over some seconds of event time, in files of which each is a batch."""

    rows: int
    seconds: int
    files: int

    def write(self, place: Path) -> Path:
        place.mkdir(parents=True)
        each = self.rows // self.files
        for number in range(self.files):
            pq.write_table(self._file(number, each), place / f"{number:04d}.parquet")
        return place

    def _file(self, number: int, each: int) -> pa.Table:
        draw = np.random.default_rng(number)
        span = self.seconds * 1_000_000 // self.files
        at = BEGIN + number * span + np.sort(draw.integers(0, span, each))
        columns = {name: pa.array(draw.integers(0, count, each)) for name, count in KEYS.items()}
        return pa.table(
            columns
            | {
                "price": pa.array(draw.random(each) * 100),
                "qty": pa.array(draw.integers(0, 1000, each)),
                "name": pa.array(np.char.add("n", draw.integers(0, 1000, each).astype(str))),
                "ts": pa.array(at, pa.timestamp("us", tz="UTC")),
            }
        )


def draw_queries(choose: random.Random, data: Data) -> list[str]:
    """A program, drawn again until it has no more than so many answers over these rows."""
    while True:
        queries, answers = _draw(choose, data)
        if answers <= MOST_ANSWERS:
            return queries


def _draw(choose: random.Random, data: Data) -> tuple[list[str], float]:
    """A program: how many queries, of how many kinds of windows, aggregates and groups, is drawn as well."""
    count = choose.choice([1, 2, 4, 8, 16, 32, 64])
    slides = choose.sample(SLIDES, choose.randint(1, 4))
    items = choose.sample(ITEMS, choose.randint(1, 6))
    keys = choose.choice([["few"], ["some"], ["many"], ["few", "some"], ["few", "many"]])
    wheres = choose.sample(WHERES, choose.randint(1, 3))
    answers = count * max(KEYS[key] for key in keys) * data.seconds / min(slides)
    return [_query(choose, f"q{at}", slides, items, keys, wheres) for at in range(count)], answers


def _query(
    choose: random.Random,
    name: str,
    slides: Sequence[int],
    items: Sequence[str],
    keys: Sequence[str],
    wheres: Sequence[str],
) -> str:
    slide, key, where = choose.choice(slides), choose.choice(keys), choose.choice(wheres)
    chosen = choose.sample(items, choose.randint(1, min(3, len(items))))
    shown = ", ".join(f"{item} AS a{at}" for at, item in enumerate(chosen))
    return (
        f"CREATE QUERY {name} AS SELECT window_end, {key}, {shown} "
        f"FROM rows [RANGE {slide * choose.randint(1, 20)} SECONDS SLIDE {slide} SECONDS]"
        f"{f' WHERE {where}' if where else ''} GROUP BY {key};"
    )


def program(queries: Sequence[str], files: Path) -> str:
    columns = ", ".join(f"{name} BIGINT" for name in KEYS)
    stream = (
        f"CREATE STREAM rows ({columns}, price DOUBLE, qty BIGINT, name STRING, ts TIMESTAMP) "
        "TIMESTAMP BY ts DELAY 0 SECONDS MAX AHEAD OFF "
        f"FROM parquet OPTIONS ('path' = '{files}', 'maxFilesPerTrigger' = '1');"
    )
    return "\n".join([stream, *queries])


@dataclass(frozen=True, slots=True)
class Told:
    """One program: what was predicted of it, and what it took, in CPU-seconds."""

    queries: int
    data: Data
    answers: int
    predicted: Cost
    measured: float
    levels: dict[str, float]  # of it those that answering took
    load: Load

    @property
    def expected(self) -> float:
        return self.predicted.total * self.data.seconds


def run(spark: SparkSession, queries: Sequence[str], data: Data, files: Path, constants: Constants) -> Told:
    """Run a program over the rows, and predict from what it counted."""
    with tempfile.TemporaryDirectory(prefix="weft-model-") as home:
        session = Session(spark, home=Path(home) / "home")
        session.sql(program(queries, files))
        runs: list[Run] = []
        with timed(runs):
            session.start(drain=True).wait()
            found = session.measured()
            session.stop()
    load = found.loads().of("rows")
    (plan,) = session.plan.streams
    cost = Priced.of(plan, constants, load).cost()
    levels = {str(level): seconds for level, seconds in found.levels.items()}
    return Told(len(queries), data, sum(found.answers.values()), cost, runs[0].cpu, levels, load)


def rank_correlation(mine: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's: the correlation of the ranks."""
    first, second = (np.argsort(np.argsort(values)) for values in (mine, other))
    return float(np.corrcoef(first, second)[0, 1])


@click.command()
@click.option("--programs", default=24, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--scale", default=1.0, show_default=True, help="of the number of rows")
@click.option("--calibrated", is_flag=True, help="with constants measured before, not those that are shipped")
@click.option("--keep", type=click.Path(path_type=Path), help="write all numbers to this file, as JSON")
def main(programs: int, seed: int, scale: float, calibrated: bool, keep: Path | None) -> None:
    """Predicted and measured CPU-seconds of random programs, and how well their order agrees."""
    spark = build_session("local[*]", {"spark.ui.enabled": "false"})
    spark.sparkContext.setLogLevel("ERROR")
    constants = calibrate() if calibrated else SHIPPED
    choose = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="weft-model-") as place:
        sets = [(data, data.write(Path(place) / str(at))) for at, data in enumerate(datasets(scale))]
        drawn = [(draw_queries(choose, *chosen[:1]), *chosen) for chosen in choose.choices(sets, k=programs)]
        tiny = Data(100, 10, 1)
        nothing = ([NOTHING], tiny, tiny.write(Path(place) / "tiny"))
        least, *found = take_turns(spark, [nothing, *drawn], constants)
    start = least.measured - least.expected
    click.echo(f"a start takes {start:.1f} CPU-s\n{HEAD}")
    for told in sorted(found, key=lambda told: told.measured):
        click.echo(line(told, start))
    if keep is not None:
        keep.write_text(json.dumps([to_json(told, start) for told in found], indent=1))
    click.echo(verdict(found, start))
    click.echo(machine())
    spark.stop()


HEAD = f"{'queries':>7} {'rows/s':>7} {'groups':>7} {'answers':>9} {'predicted':>9} {'measured':>9}"


def datasets(scale: float) -> list[Data]:
    """Different rates: the same time in more rows, and more time in the same rows."""
    sizes = ((1_000_000, 1000, 5), (200_000, 2000, 5), (3_000_000, 300, 5))
    return [Data(round(rows * scale), seconds, files) for rows, seconds, files in sizes]


def take_turns(
    spark: SparkSession, programs: Sequence[tuple[Sequence[str], Data, Path]], constants: Constants
) -> list[Told]:
    """All programs, one after the other, some rounds: a JVM gets faster for minutes, for all of them alike.

    The first round does not count; of the others the lesser does: whatever else the machine does only adds.
    """
    rounds = [[run(spark, *program, constants) for program in programs] for _ in range(ROUNDS)]
    return [min(each, key=lambda told: told.measured) for each in zip(*rounds[1:], strict=True)]


def line(told: Told, start: float) -> str:
    load = told.load
    return (
        f"{told.queries:7} {load.rows:7.0f} {load.groups:7.0f} {told.answers:9} "
        f"{told.expected:9.2f} {max(0.0, told.measured - start):9.2f}"
    )


def verdict(found: Sequence[Told], start: float) -> str:
    """The rank correlation, and how far a prediction is off."""
    expected = [told.expected for told in found]
    measured = [max(1e-3, told.measured - start) for told in found]
    off = [max(e / m, m / e) for e, m in zip(expected, measured, strict=True)]
    return (
        f"{len(found)} programs: Spearman {rank_correlation(expected, measured):.2f}; "
        f"off by a factor of {median(off):.2f} in the median, {max(off):.1f} at worst"
    )


def to_json(told: Told, start: float) -> dict[str, object]:
    return {
        "queries": told.queries,
        "answers": told.answers,
        "rows": told.data.rows,
        "measured": told.measured - start,
        "measured_levels": told.levels,
        "predicted": told.expected,
        "predicted_levels": {str(at): s * told.data.seconds for at, s in told.predicted.levels.items()},
    }


if __name__ == "__main__":
    main()
