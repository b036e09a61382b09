"""What do many window joins cost? `python -m benchmarks.joins`

    weft      20 joins of two streams on one key, windows from 1 to 60 minutes, each with filters of its own
    one       one stream-stream join of Spark's with the longest window, whose pairs are sent to the 20 queries
    native    20 stream-stream joins of Spark's, one for each query (over the first part of the rows alone)

All take turns in one process, answers made and dropped; CPU-seconds of the whole process tree.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

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


def make(where: Path, rows: int, files: int, pairs: float) -> None:
    """Two streams of two hours, with about so many partners for each row within the longest window."""
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
        for at in range(files):
            part = table.slice(at * rows // files, (at + 1) * rows // files - at * rows // files)
            pq.write_table(part, where / name / f"{at:03}.parquet")


def with_weft(spark: SparkSession, files: Path) -> None:
    with tempfile.TemporaryDirectory() as home, weft.Session(home, spark=spark) as session:
        session.sql("".join(STREAM.format(name=name, files=files) for name in ("a", "b")))
        session.sql("".join(f"CREATE QUERY {rule.name} AS {rule.sql} INTO noop;" for rule in rules()))
        session.start(drain=True)
        session.wait()


def with_one_join(spark: SparkSession, files: Path) -> None:
    pairs = _joined(spark, files, Rule("all", max(WINDOWS), 0, 0))
    apart = "abs(unix_micros(x_ts) - unix_micros(y_ts))"
    wants = ", ".join(
        f"CASE WHEN {apart} < {rule.minutes * MINUTE} AND a >= {rule.left} AND b >= {rule.right} THEN {at} END"
        for at, rule in enumerate(rules())
    )
    _run([pairs.selectExpr("k", "a", "b", f"explode(array_compact(array({wants}))) AS query")])


def with_native_joins(spark: SparkSession, files: Path) -> None:
    _run([_joined(spark, files, rule) for rule in rules()])


def _joined(spark: SparkSession, files: Path, rule: Rule) -> DataFrame:
    def side(name: str, prefix: str, value: str, least: int) -> DataFrame:
        rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(files / name))
        kept = rows.where(f"v >= {least}").withWatermark("ts", "1 second")
        return kept.selectExpr(f"k AS {prefix}_k", f"v AS {value}", f"ts AS {prefix}_ts")

    left, right = side("a", "x", "a", rule.left), side("b", "y", "b", rule.right)
    close = f"y_ts > x_ts - INTERVAL {rule.minutes} MINUTES AND y_ts < x_ts + INTERVAL {rule.minutes} MINUTES"
    from pyspark.sql.functions import expr  # noqa: PLC0415  beside the strings it reads

    both = left.join(right, expr(f"x_k = y_k AND {close}"))
    return both.selectExpr("x_k AS k", "a", "b", "x_ts", "y_ts")


def _run(frames: list[DataFrame]) -> None:
    with tempfile.TemporaryDirectory() as there:
        running = [
            frame.writeStream.format("noop").trigger(availableNow=True)
            .option("checkpointLocation", f"{there}/{at}").start()
            for at, frame in enumerate(frames)
        ]  # fmt: skip
        for each in running:
            each.awaitTermination()


@click.command()
@click.option("--rows", default=1_000_000, show_default=True, help="of each stream")
@click.option("--files", default=10, show_default=True)
@click.option("--pairs", default=5.0, show_default=True, help="partners of a row in the longest window")
@click.option("--part", default=0.05, show_default=True, help="of the rows that the 20 native joins read")
@click.option("--repeat", default=3, show_default=True)
def main(rows: int, files: int, pairs: float, part: float, repeat: int) -> None:
    """Measure all sides in turn."""
    spark = build_session("local[*]", {"spark.driver.memory": "3g", "spark.sql.shuffle.partitions": "2"})
    with tempfile.TemporaryDirectory() as there:
        whole, some = Path(there) / "whole", Path(there) / "some"
        make(whole, rows, files, pairs)
        make(some, int(rows * part), files, pairs)
        sides: dict[str, tuple[Callable[[SparkSession, Path], None], Path, int]] = {
            "weft": (with_weft, whole, 2 * rows),
            "one": (with_one_join, whole, 2 * rows),
            "native": (with_native_joins, some, 2 * int(rows * part)),
        }
        runs: dict[str, list[Run]] = {name: [] for name in sides}
        for turn in range(repeat + 1):
            for name, (side, where, _) in sides.items():
                found: list[Run] = []
                with timed(found):
                    side(spark, where)
                runs[name] += found if turn else []
                click.echo(f"{name} {found[0].cpu:.1f} CPU-s, {found[0].wall:.1f} s")
        speed = {name: sides[name][2] / median(run.cpu for run in runs[name]) for name in sides}
        for name in ("one", "native"):
            click.echo(
                f"weft: {speed['weft']:,.0f} rows a CPU-second, {speed['weft'] / speed[name]:.1f} of {name}"
            )


if __name__ == "__main__":
    main()
