"""What do conjunctions cost, asked of every row or as signatures? `python -m benchmarks.signatures`

    six        50 queries, each with 2 to 4 of 6 conditions, on three windows; 1 group and 100
    forty      50 queries, each with 2 to 4 of 40 conditions: three rows in four make a cell of their own

Each case three ways: rows asked, signatures, and as the plan chooses; they take turns in one process, answers
made and dropped. CPU-seconds of the whole process tree.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from random import Random
from statistics import median
from unittest.mock import patch

import click
from pyspark.sql import SparkSession

import weft
from benchmarks.data import Data, files_of
from benchmarks.measure import Run, timed
from weft.share.model import treatment
from weft.spark.session import build_session

STREAM = """
CREATE STREAM s (key INT, price DOUBLE, qty BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = '{files}', 'maxFilesPerTrigger' = '1');
"""
WINDOWS = ("RANGE 60 SECONDS SLIDE 10 SECONDS", "RANGE 120 SECONDS SLIDE 10 SECONDS", "RANGE 30 SECONDS")
AGGREGATES = "COUNT(*) AS n, SUM(qty) AS qty, AVG(price) AS price"
SIX = ("price > 80", "qty % 2 = 0", "key <> 7", "qty % 5 <> 1", "price < 140", "key % 3 < 2")
QUERIES = 50
WAYS = ("asked", "signatures", "chosen")


def queries(conditions: tuple[str, ...], groups: int) -> list[str]:
    """Conjunctions of 2 to 4 of the conditions, no two the same, on three windows."""
    some = [each for size in (2, 3, 4) for each in combinations(conditions[:12], size)]
    if len(conditions) > len(SIX):
        rng = Random(7)
        some = [tuple(rng.sample(conditions, rng.randint(2, 4))) for _ in range(QUERIES)]
    by = "" if groups == 1 else f" GROUP BY key % {groups}"
    shown = "" if groups == 1 else f"key % {groups} AS k, "
    return [
        f"SELECT {shown}window_end, {AGGREGATES} FROM s [{WINDOWS[at % 3]}] WHERE {' AND '.join(each)}{by}"
        for at, each in enumerate(some[:QUERIES])
    ]


def cases() -> dict[str, list[str]]:
    forty = tuple(f"(price * {0.618 * at:.3f} + qty) % 7 < 3.5" for at in range(1, 41))
    return {
        "six, 1 group": queries(SIX, 1),
        "six, 100 groups": queries(SIX, 100),
        "forty, 1 group": queries(forty, 1),
        "forty, 100 groups": queries(forty, 100),
    }


@contextmanager
def treated(way: str) -> Iterator[None]:
    """Plans are made as the way says, whatever it costs."""
    if way == "chosen":
        yield
        return

    def saved(rests: Sized, facts: treatment.Facts) -> float:
        return float(len(rests)) if way == "signatures" else 0.0

    with patch.object(treatment.Facts, "room", math.inf), patch.object(treatment, "_saved", saved):
        yield


@click.command()
@click.option("--rows", default=10_000_000, show_default=True)
@click.option("--files", default=10, show_default=True)
@click.option("--repeat", default=3, show_default=True)
@click.option("--spark-rows", is_flag=True, help="Have Spark read the rows, as it does any other source.")
@click.option("--data", type=click.Path(path_type=Path), default=Path(__file__).parent / "data")
@click.option("--only", help="Cases whose name begins so.")
def main(rows: int, files: int, repeat: int, spark_rows: bool, data: Path, only: str | None) -> None:
    """Compare the ways to meet conjunctions."""
    conf = {"spark.driver.memory": "3g", "spark.weft.scan.enabled": str(not spark_rows).lower()}
    spark = build_session("local[*]", conf)
    where = files_of(Data(rows=rows, keys=1000, files=files), data)
    for name, given in cases().items():
        if only is not None and not name.startswith(only):
            continue
        runs: dict[str, list[Run]] = {way: [] for way in WAYS}
        for turn in range(repeat + 1):
            for way in WAYS:
                found: list[Run] = []
                with timed(found), treated(way):
                    picking = run(spark, where, given)
                runs[way] += found if turn else []
                click.echo(
                    f"  {name}, {way}: {found[0].cpu:.1f} CPU-s, {picking} of {len(given)} by signature"
                )
        asked, signed, chosen = (median(each.cpu for each in runs[way]) for way in WAYS)
        click.echo(
            f"{name}: asked {asked:.1f} CPU-s, signatures {signed:.1f} ({signed / asked:.2f} times), "
            f"chosen {chosen:.1f} ({chosen / min(asked, signed):.2f} times the better)"
        )
    spark.stop()


def run(spark: SparkSession, files: Path, given: list[str]) -> int:
    """Run the queries over all files; gives how many pick by a key."""
    text = STREAM.format(files=files)
    text += "".join(f"CREATE QUERY q{at} AS {query} INTO noop;\n" for at, query in enumerate(given))
    with tempfile.TemporaryDirectory(prefix="weft-signatures-") as home:
        session = weft.Session(spark=spark, home=Path(home) / "home", placement="driver")
        session.sql(text)
        picking = sum(bool(tap.picks) for stream in session.plan.streams for tap in stream.taps)
        session.start(once=True)
        session.wait()
        session.stop()
    return picking


if __name__ == "__main__":
    main()
