"""What do many window joins cost? `python -m benchmarks.joins`

    weft      20 joins of two streams on one key, windows from 1 to 60 minutes, each with filters of its own
    one       one stream-stream join of Spark's with the longest window, its pairs sent to the 20 queries
    native    20 stream-stream joins of Spark's, one for each query (over the first files alone)

First all answer a small input, and must give each query the same. Then they take turns in one process,
answers made and dropped; CPU-seconds of the whole process tree. Files are equally large on all sides; in the
first ones windows are not full yet, which is in favour of the native joins.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click
import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

import weft
from benchmarks.measure import Run, timed
from weft.spark.session import build_session
from weft.times import MINUTE, SECOND

STREAM = """
CREATE STREAM {name} (k BIGINT, v INT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = '{files}/{name}', 'maxFilesPerTrigger' = '1');
"""
SCHEMA = "k BIGINT, v INT, ts TIMESTAMP"
WINDOWS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 20, 24, 25, 30, 36, 40, 45, 50, 60)  # minutes


@dataclass(frozen=True, slots=True)
class Rule:
    """One join: its window, and which rows of either side it is about."""

    name: str
    minutes: int
    left: int  # v above, of 100
    right: int

    @property
    def sql(self) -> str:
        window = f"[RANGE {self.minutes} MINUTES]"
        return (
            f"SELECT x.k, x.v AS a, y.v AS b FROM a {window} x JOIN b {window} y ON x.k = y.k "
            f"WHERE x.v >= {self.left} AND y.v >= {self.right}"
        )


def rules() -> list[Rule]:
    return [Rule(f"q{at}", window, 10 * (at % 6), 10 * (at % 4)) for at, window in enumerate(WINDOWS)]


def make(where: Path, rows: int, files: int, pairs: float, first: int | None = None) -> None:
    """Two streams of two hours, with about so many partners for each row within the longest window.

    `first`: only so many of the files.
    """
    keys = max(int(rows / 2 * 2 / pairs), 1)
    rng = np.random.default_rng(7)
    for name in ("a", "b"):
        (where / name).mkdir(parents=True)
        times = np.sort(rng.integers(0, 2 * 60 * MINUTE, rows)) + 1_700_000_000 * SECOND
        table = pa.table(
            {
                "k": rng.integers(0, keys, rows),
                "v": pa.array(rng.integers(0, 100, rows), pa.int32()),
                "ts": pa.array(times, pa.timestamp("us", "UTC")),
            }
        )
        for at in range(files if first is None else first):
            part = table.slice(at * rows // files, (at + 1) * rows // files - at * rows // files)
            pq.write_table(part, where / name / f"{at:03}.parquet")


def with_weft(spark: SparkSession, files: Path, answers: Path | None = None) -> None:
    with tempfile.TemporaryDirectory() as home, weft.Session(spark, home=Path(home) / "home") as session:
        session.sql("".join(STREAM.format(name=name, files=files) for name in ("a", "b")))
        for rule in rules():
            into = "noop" if answers is None else f"parquet OPTIONS ('path' = '{answers}/{rule.name}')"
            session.sql(f"CREATE QUERY {rule.name} AS {rule.sql} INTO {into};")
        session.start(drain=True)
        session.wait()


def with_one_join(spark: SparkSession, files: Path, answers: Path | None = None) -> None:
    pairs = _joined(spark, files, Rule("all", max(WINDOWS), 0, 0))
    apart = "abs(unix_micros(x_ts) - unix_micros(y_ts))"
    wants = ", ".join(
        f"CASE WHEN {apart} < {one.minutes * MINUTE} AND a >= {one.left} AND b >= {one.right} THEN {at} END"
        for at, one in enumerate(rules())
    )
    sent = pairs.selectExpr("k", "a", "b", f"explode(array_compact(array({wants}))) AS query")
    _run({"all": sent}, answers)


def with_native_joins(spark: SparkSession, files: Path, answers: Path | None = None) -> None:
    _run({rule.name: _joined(spark, files, rule) for rule in rules()}, answers)


def _joined(spark: SparkSession, files: Path, rule: Rule) -> DataFrame:
    def side(name: str, prefix: str, value: str, least: int) -> DataFrame:
        rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(files / name))
        kept = rows.where(f"v >= {least}").withWatermark("ts", "1 second")
        return kept.selectExpr(f"k AS {prefix}_k", f"v AS {value}", f"ts AS {prefix}_ts")

    left, right = side("a", "x", "a", rule.left), side("b", "y", "b", rule.right)
    close = f"y_ts > x_ts - INTERVAL {rule.minutes} MINUTES AND y_ts < x_ts + INTERVAL {rule.minutes} MINUTES"
    both = left.join(right, expr(f"x_k = y_k AND {close}"))
    return both.selectExpr("x_k AS k", "a", "b", "x_ts", "y_ts")


def _run(frames: Mapping[str, DataFrame], answers: Path | None) -> None:
    """All of them at once; answers are dropped, or written under their names."""
    with tempfile.TemporaryDirectory() as there:
        running = []
        for name, frame in frames.items():
            writer = frame.writeStream.trigger(availableNow=True).option(
                "checkpointLocation", f"{there}/{name}"
            )
            sink = writer.format("noop") if answers is None else writer.format("parquet")
            running.append(sink.start(None if answers is None else f"{answers}/{name}"))
        for each in running:
            each.awaitTermination()


Sums = dict[str, tuple[int, int]]  # by query: how many answers, and a sum over all of them


def sums(spark: SparkSession, answers: Path) -> Sums:
    """What was written, whichever side wrote it."""
    total = "count(*)", "coalesce(sum(k * 10007 + a * 101 + b), 0)"
    if (answers / "all").exists():
        told = spark.read.parquet(str(answers / "all")).groupBy("query").agg(*map(expr, total))
        found = {f"q{query}": (count, sum_) for query, count, sum_ in told.collect()}
        return {rule.name: found.get(rule.name, (0, 0)) for rule in rules()}
    made: Sums = {}
    for rule in rules():
        ((count, sum_),) = spark.read.parquet(str(answers / rule.name)).selectExpr(*total).collect()
        made[rule.name] = count, sum_
    return made


def check(spark: SparkSession, there: Path) -> None:
    """All sides answer the same."""
    make(there / "few", 2000, 2, 5.0)
    found: dict[str, Sums] = {}
    for name, side in SIDES.items():
        side(spark, there / "few", there / name)
        found[name] = sums(spark, there / name)
    for name, each in found.items():
        if each != found["weft"]:
            raise click.ClickException(f"{name} answers {each}, weft {found['weft']}")
    click.echo(
        f"equal: {sum(count for count, _ in found['weft'].values()):,} answers of {len(WINDOWS)} queries"
    )


def pairs_of(files: Path) -> tuple[int, int]:
    """How many pairs there are within the longest window, and how many answers of all queries."""
    names = ", ".join(
        f"count(*) FILTER (WHERE apart < {rule.minutes * MINUTE} AND a >= {rule.left} AND b >= {rule.right})"
        for rule in rules()
    )
    met = (
        "SELECT x.v AS a, y.v AS b, abs(epoch_us(x.ts) - epoch_us(y.ts)) AS apart "
        f"FROM '{files}/a/*.parquet' x JOIN '{files}/b/*.parquet' y ON x.k = y.k"
    )
    longest = f"count(*) FILTER (WHERE apart < {max(WINDOWS) * MINUTE})"
    (row,) = duckdb.execute(f"SELECT {longest}, {names} FROM ({met})").fetchall()
    return int(row[0]), int(sum(row[1:]))


SIDES: dict[str, Callable[[SparkSession, Path, Path | None], None]] = {
    "weft": with_weft,
    "one": with_one_join,
    "native": with_native_joins,
}


@click.command()
@click.option("--rows", default=1_000_000, show_default=True, help="of each stream")
@click.option("--files", default=10, show_default=True)
@click.option("--pairs", default=5.0, show_default=True, help="partners of a row in the longest window")
@click.option("--part", default=1, show_default=True, help="files that the 20 native joins read")
@click.option("--repeat", default=3, show_default=True)
def main(rows: int, files: int, pairs: float, part: int, repeat: int) -> None:
    """Measure all sides in turn."""
    spark = build_session("local[*]", {"spark.driver.memory": "3g", "spark.sql.shuffle.partitions": "2"})
    with tempfile.TemporaryDirectory() as root:
        there = Path(root)
        check(spark, there)
        make(there / "whole", rows, files, pairs)
        make(there / "some", rows, files, pairs, part)
        met, told = pairs_of(there / "whole")
        click.echo(
            f"{met / rows / 2:.1f} pairs and {told / rows / 2:.1f} answers a row; load {os.getloadavg()}"
        )
        runs: dict[str, list[Run]] = {name: [] for name in SIDES}
        for turn in range(repeat + 1):
            for name, side in SIDES.items():
                found: list[Run] = []
                with timed(found):
                    side(spark, there / ("some" if name == "native" else "whole"), None)
                runs[name] += found if turn else []
                click.echo(
                    f"{name} {found[0].cpu:.1f} CPU-s, {found[0].wall:.1f} s" + (" (warm-up)" * (not turn))
                )
        read = {"weft": 2 * rows, "one": 2 * rows, "native": 2 * (part * rows // files)}
        speed = {name: read[name] / median(run.cpu for run in runs[name]) for name in SIDES}
        for name, each in speed.items():
            click.echo(
                f"{name:7}{each:>10,.0f} rows a CPU-second; weft {speed['weft'] / each:.1f} times that"
            )
        click.echo(f"load {os.getloadavg()}")


if __name__ == "__main__":
    main()
