"""How much memory do live cells take, all told? `python -m benchmarks.memory`

A program whose windows hold many cells, its cells in the driver. What the driver takes at most, beyond what
it takes for the same rows of a single key, is compared with the bytes of its live cells at most: what is
being folded, answered and written comes on top of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click
import psutil

from benchmarks.data import Data, files_of

PROGRAM = """
CREATE STREAM s (key INT, price DOUBLE, qty BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = '{files}', 'maxFilesPerTrigger' = '1');
CREATE QUERY sums AS SELECT key, window_end, SUM(qty) AS qty, AVG(price) AS price
  FROM s [RANGE 240 SECONDS SLIDE 60 SECONDS] GROUP BY key INTO noop;
"""
BOUND = 3.0


@dataclass(frozen=True, slots=True)
class Taken:
    """The most that the driver took, and the most that its cells did; in bytes."""

    memory: int
    cells: int
    cell_bytes: int


@click.command()
@click.option("--keys", default=1_000_000, show_default=True)
@click.option("--rows", default=6_000_000, show_default=True)
@click.option("--files", default=12, show_default=True)
@click.option("--data", type=click.Path(path_type=Path), default=Path(__file__).parent / "data")
def main(keys: int, rows: int, files: int, data: Path) -> None:
    """Compare the memory of the driver with that of its live cells."""
    many, one = (
        run(files_of(Data(rows=rows, keys=count, files=files, span=60 * files), data)) for count in (keys, 1)
    )
    more = many.memory - one.memory
    click.echo(f"{keys:,} keys: driver {show(many.memory)}, {many.cells:,} cells of {show(many.cell_bytes)}")
    click.echo(f"one key: driver {show(one.memory)}")
    click.echo(f"the difference is {more / many.cell_bytes:.2f} times the live cells, wanted at most {BOUND}")


def run(files: Path) -> Taken:
    """Run the program once, and look at it every twentieth of a second."""
    with tempfile.TemporaryDirectory(prefix="weft-memory-") as scratch:
        directory = Path(scratch)
        (directory / "app.sql").write_text(PROGRAM.format(files=files))
        options = ("--home", "home", "--once", "--progress", "none", "--placement", "driver")
        command = [sys.executable, "-m", "weft", "run", "app.sql", *options]
        with open(directory / "weft.log", "wb") as log:
            process = subprocess.Popen(command, cwd=directory, stdout=log, stderr=subprocess.STDOUT)
        most = Taken(0, 0, 0)
        while process.poll() is None:
            most = _greater(most, process.pid, directory / "home" / "status.json")
            time.sleep(0.05)
        if process.returncode:
            raise click.ClickException((directory / "weft.log").read_text())
    return most


def _greater(most: Taken, pid: int, status: Path) -> Taken:
    memory, cells, cell_bytes = most.memory, most.cells, most.cell_bytes
    with suppress(psutil.NoSuchProcess):
        memory = max(memory, psutil.Process(pid).memory_info().rss)
    with suppress(OSError, ValueError):
        told = json.loads(status.read_text())
        cells, cell_bytes = max(cells, told["cells"]), max(cell_bytes, told["state_bytes"])
    return Taken(memory, cells, cell_bytes)


def show(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"


if __name__ == "__main__":
    main()
