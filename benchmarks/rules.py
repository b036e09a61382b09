"""What do many filters, and many groupings, cost? `python -m benchmarks.rules`

    equality    1000 queries, each of one customer         beside one GROUP BY customer of the same aggregates
    ranges      200 queries with nested ranges of a price  beside the same queries without them
    rollup      a ROLLUP of three columns                  beside a GROUP BY of the three

Both sides take turns in one process, answers made and dropped; CPU-seconds of the whole process tree.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

import click
from pyspark.sql import SparkSession

import weft
from benchmarks.data import Data, files_of
from benchmarks.measure import Run, timed
from weft.spark.session import build_session

STREAM = """
CREATE STREAM s (key INT, price DOUBLE, qty BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = '{files}', 'maxFilesPerTrigger' = '1');
"""
WINDOW = "[RANGE 60 SECONDS SLIDE 10 SECONDS]"
AGGREGATES = "COUNT(*) AS n, SUM(qty) AS qty, AVG(price) AS price"


def equality(count: int) -> tuple[list[str], list[str], float]:
    """Rules, what they are measured by, and how many times as much they may cost."""
    rules = [f"SELECT window_end, {AGGREGATES} FROM s {WINDOW} WHERE key = {at}" for at in range(count)]
    return rules, [f"SELECT key, window_end, {AGGREGATES} FROM s {WINDOW} GROUP BY key"], 1.5


def ranges(count: int) -> tuple[list[str], list[str], float]:
    def query(at: int, where: str) -> str:
        """No two the same, for those would be answered once; four windows."""
        window = f"[RANGE {60 + 10 * (at % 4)} SECONDS SLIDE 10 SECONDS]"
        items = f"key % 10 AS k, window_end, COUNT(*) AS n, SUM(qty) + {at} AS qty, AVG(price) AS price"
        return f"SELECT {items} FROM s {window}{where} GROUP BY key % 10"

    rules = [query(at, f" WHERE price > {50 + 100 * at / count:.2f}") for at in range(count)]
    return rules, [query(at, "") for at in range(count)], 2.0


def rollup() -> tuple[list[str], list[str], float]:
    """A thousand groups, ten times ten times ten, with their subtotals, or without."""
    keys = "key DIV 100, key DIV 10 % 10, key % 10"
    items = f"key DIV 100 AS a, key DIV 10 % 10 AS b, key % 10 AS c, window_end, {AGGREGATES}"
    query = f"SELECT {items} FROM s {WINDOW} GROUP BY"
    return [f"{query} ROLLUP ({keys})"], [f"{query} {keys}"], 1.5


@click.command()
@click.option("--rows", default=10_000_000, show_default=True)
@click.option("--files", default=10, show_default=True)
@click.option("--repeat", default=3, show_default=True)
@click.option("--data", type=click.Path(path_type=Path), default=Path(__file__).parent / "data")
@click.option("--only", type=click.Choice(["equality", "ranges", "rollup"]))
def main(rows: int, files: int, repeat: int, data: Path, only: str | None) -> None:
    """Compare rules with what they are measured by."""
    spark = build_session("local[*]", {"spark.driver.memory": "3g"})
    where = files_of(Data(rows=rows, keys=1000, files=files), data)
    cases = {"equality": equality(1000), "ranges": ranges(200), "rollup": rollup()}
    for name, (rules, plain, bound) in cases.items():
        if only not in (None, name):
            continue
        runs: dict[bool, list[Run]] = {False: [], True: []}
        for turn in range(repeat + 2):
            for ruled in (False, True):
                found: list[Run] = []
                with timed(found):
                    run(spark, where, rules if ruled else plain)
                runs[ruled] += found if turn >= 2 else []
        with_rules, without = (median(each.cpu for each in runs[ruled]) for ruled in (True, False))
        click.echo(
            f"{name}: {len(rules)} rules {with_rules:.1f} CPU-s, without {without:.1f}: "
            f"{with_rules / without:.2f} times, wanted at most {bound}"
        )
    spark.stop()


def run(spark: SparkSession, files: Path, queries: list[str]) -> None:
    text = STREAM.format(files=files)
    text += "".join(f"CREATE QUERY q{at} AS {query} INTO noop;\n" for at, query in enumerate(queries))
    with tempfile.TemporaryDirectory(prefix="weft-rules-") as home:
        session = weft.Session(spark=spark, home=Path(home) / "home", placement="driver")
        session.sql(text)
        session.start(once=True)
        session.wait()
        session.stop()


if __name__ == "__main__":
    main()
