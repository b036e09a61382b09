"""Are two executors faster than one, and what does a killed worker cost? `python -m benchmarks.scaleout`

A standalone cluster on loopback, each worker with its executor pinned to a core of its own; a million keys.
The time is that from the commit of the third batch to the end of the last step: the first ones pay for the
start. Afterwards once more with two, one of them killed in the middle. All answers must be those of the first
run.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import click
import duckdb
import psutil

from benchmarks.data import Data, files_of
from tests.cluster.standalone import Standalone, kill

PROGRAM = """
CREATE STREAM s (key INT, price DOUBLE, qty BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = '{files}', 'maxFilesPerTrigger' = '1');
CREATE QUERY sums AS SELECT key, window_end, SUM(qty) AS qty, AVG(price) AS price
  FROM s [RANGE 120 SECONDS SLIDE 60 SECONDS] GROUP BY key INTO parquet OPTIONS ('path' = '{out}');
"""
WARM = 2  # batches before the clock starts


@dataclass(frozen=True, slots=True)
class Took:
    """A run: seconds of it, and the CPU-seconds of the driver's processes in all."""

    name: str
    seconds: float
    driver: float


@click.command()
@click.option("--rows", default=6_000_000, show_default=True)
@click.option("--files", default=12, show_default=True)
@click.option("--repeat", default=3, show_default=True)
@click.option("--data", type=click.Path(path_type=Path), default=Path(__file__).parent / "data")
def main(rows: int, files: int, repeat: int, data: Path) -> None:
    """Race one executor against two, then kill one."""
    source = Data(rows=rows, keys=1_000_000, files=files, span=60 * files)
    paths = files_of(source, data)
    with tempfile.TemporaryDirectory(prefix="weft-scale-") as scratch:
        runs = [
            run(Path(scratch) / f"{executors}-{at}", paths, files, executors)
            for at in range(repeat)
            for executors in (1, 2)
        ]
        runs.append(run(Path(scratch) / "killed", paths, files, 2, killed=True))
        outs = [path / "out" for path in sorted(Path(scratch).iterdir())]
        differing = [str(out) for out in outs[1:] if difference(outs[0], out)]
    for took in runs:
        click.echo(f"{took.name:<24} {took.seconds:7.2f} s   driver {took.driver:6.2f} CPU-s")
    one, two = (median(runs, name) for name in ("1 executor", "2 executors"))
    click.echo(f"two executors are {one / two:.2f} times as fast as one, wanted at least 1.6")
    click.echo(f"answers that differ: {differing or 'none'}")


def run(directory: Path, files: Path, count: int, executors: int, killed: bool = False) -> Took:
    """One run of the program on so many executors."""
    directory.mkdir()
    (directory / "app.sql").write_text(PROGRAM.format(files=files, out=directory / "out"))
    with Standalone(directory, executors, memory="3g", pinned=True) as cluster:
        command = [
            sys.executable, "-m", "weft", "run", "app.sql", "--home", "home", "--once", "--progress", "none",
            "--placement", "executors", "--buckets", "4", "--master", cluster.master,
            "--conf", "spark.executor.memory=2g", "--conf", "spark.task.maxFailures=8",
        ]  # fmt: skip
        with open(directory / "weft.log", "wb") as log:
            process = subprocess.Popen(command, cwd=directory, stdout=log, stderr=subprocess.STDOUT)
        records = directory / "home" / "ingest" / "s"
        cpu = watch(process, records, WARM + 1, directory)
        began = time.time()
        if killed:
            watch(process, records, count // 2, directory)
            kill(cluster.workers[0])
        cpu = watch(process, directory / "home" / "answers", None, directory) - cpu
    ended = max(path.stat().st_mtime for path in (directory / "home" / "answers").glob("*.json"))
    name = f"{executors} executor{'s' * (executors > 1)}"
    return Took(name + (", one killed" if killed else ""), ended - began, cpu)


def watch(process: subprocess.Popen[bytes], records: Path, count: int | None, directory: Path) -> float:
    """Wait for so many records, or the end of the process; gives the CPU-seconds of its tree so far."""
    seen = 0.0
    while process.poll() is None and (count is None or len(list(records.glob("*.json"))) < count):
        seen = max(seen, tree_cpu(process.pid))  # at the end the JVM goes first, and its time with it
        time.sleep(0.02)
    if process.returncode:
        raise click.ClickException((directory / "weft.log").read_text()[-2000:])
    return seen


def tree_cpu(pid: int) -> float:
    try:
        root = psutil.Process(pid)
        times = [each.cpu_times() for each in (root, *root.children(recursive=True))]
    except psutil.NoSuchProcess:
        return 0.0
    return float(sum(each.user + each.system for each in times))


def median(runs: list[Took], name: str) -> float:
    ordered = sorted(took.seconds for took in runs if took.name == name)
    return ordered[len(ordered) // 2]


def difference(left: Path, right: Path) -> int:
    """How many rows are in one of the two and not in the other."""
    one, other = (f"SELECT * FROM read_parquet('{out}/**/*.parquet')" for out in (left, right))
    found = duckdb.execute(
        f"SELECT count(*) FROM (({one} EXCEPT ALL {other}) UNION ALL ({other} EXCEPT ALL {one}))"
    ).fetchall()
    return int(found[0][0])


if __name__ == "__main__":
    main()
