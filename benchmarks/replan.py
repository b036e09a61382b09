"""What does a load that changes cost, with and without a new plan? `python -m benchmarks.replan`

Twelve rules `WHERE key = ...`, so that `key` is a key of their feed. In the first files all rows have one of
twelve keys; in the others a row in a hundred does, and the rest have one of as many as a file has rows. From
then on a cell for each key is kept for nothing, and asking every row twelve questions costs less.

Both ways take turns in one process, answers made and dropped; the first turn warms the JVM and is left out.
CPU-seconds of the whole process tree.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import weft
from benchmarks.data import START
from benchmarks.measure import Run, timed
from weft.log.catalog import Catalog
from weft.log.home import Home
from weft.spark.running import REPLAN
from weft.spark.session import build_session

STREAM = """
CREATE STREAM s (key INT, qty BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = '{files}', 'maxFilesPerTrigger' = '1');
"""
QUERY = """CREATE QUERY q{0} AS SELECT window_end, COUNT(*) AS n, SUM(qty) AS qty
  FROM s [RANGE 60 SECONDS SLIDE 10 SECONDS] WHERE key = {0} INTO noop;
"""
RULES = 12
SPAN = 10  # seconds of the stream in a file


def write(path: Path, rows: int, quiet: int, busy: int) -> None:
    """The files of the old load and of the new one."""
    rng = np.random.default_rng(7)
    path.mkdir()
    for at in range(quiet + busy):
        key = rng.integers(0, RULES, rows, dtype=np.int32)
        if at >= quiet:
            other = rng.integers(RULES, rows, rows, dtype=np.int32)
            key = np.where(rng.random(rows) < 0.01, key, other).astype(np.int32)
        times = START + at * SPAN * 1_000_000 + np.sort(rng.integers(0, SPAN * 1_000_000, rows))
        table = {
            "key": key,
            "qty": rng.integers(1, 1000, rows),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
        }
        pq.write_table(pa.table(table), path / f"{at:05}.parquet")


def run(spark: SparkSession, files: Path, home: Path) -> list[str]:
    """Run the rules over all files; gives why they were switched."""
    session = weft.Session(spark=spark, home=home, placement="driver")
    session.sql(STREAM.format(files=files) + "".join(QUERY.format(at) for at in range(RULES)))
    session.start(once=True)
    session.wait()
    session.stop()
    switched = [epoch for epoch in Catalog(Home.look(home)).epochs if epoch.switched]
    return [f"from batch {epoch.effective['s']} on {epoch.reason}" for epoch in switched]


@click.command()
@click.option("--rows", default=200_000, show_default=True, help="In a file.")
@click.option("--quiet", default=16, show_default=True, help="Files of the old load.")
@click.option("--busy", default=112, show_default=True, help="Files of the new load.")
@click.option("--repeat", default=3, show_default=True)
def main(rows: int, quiet: int, busy: int, repeat: int) -> None:
    """Compare a run that plans anew with one that does not."""
    spark = build_session("local[*]", {"spark.driver.memory": "3g"})
    runs: dict[str, list[Run]] = {"true": [], "false": []}
    with tempfile.TemporaryDirectory(prefix="weft-replan-") as place:
        files = Path(place) / "files"
        write(files, rows, quiet, busy)
        for turn in range(repeat + 1):
            for enabled in runs:
                spark.conf.set(REPLAN, enabled)
                made: list[Run] = []
                with timed(made):
                    why = run(spark, files, Path(place) / f"home-{enabled}-{turn}")
                runs[enabled] += made if turn else []
                click.echo(f"  {REPLAN}={enabled}: {made[0].cpu:.1f} CPU-s, {', '.join(why) or 'no switch'}")
    with_, without = (median(each.cpu for each in runs[enabled]) for enabled in ("true", "false"))
    click.echo(
        f"planned anew {with_:.1f} CPU-s, as it began {without:.1f}: {without / with_:.2f} times as much"
    )
    spark.stop()


if __name__ == "__main__":
    main()
