"""A program that is killed and started again: run as a process of its own, one child for each life.

Every line on standard input is `<directory> <fault point or -> <store>`. A child is forked from this
process, which has all modules loaded, and lives through the program below in that directory, its home in that
kind of place, from wherever it stood, dying at the fault point if it gets there; then one line says how it
ended: `done` or `killed`, or what went wrong.

    batch 0 .. 5   the first program; a row that fails arrives in batch 3
    batch 6 ..     another program: three queries more, one less, one changed, one as it was; two of the new
                   start from the cells of `kept`
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from tests.unit.engine.bench import STREAM, Bench, Row, bound, row
from weft.engine import runtime
from weft.engine.filesinks import FileSink
from weft.log.catalog import Catalog
from weft.log.home import Home

BATCHES, CHANGE_AT = 12, 6
PER_BATCH = 130.0  # seconds of the sinks' clock: they flush and seal at every batch, and roll every five

KEPT = """
CREATE QUERY kept AS
  SELECT sym, COUNT(*) AS n, SUM(qty) AS q, AVG(price) AS p, MIN(price) AS lo, MAX(qty) AS hi
  FROM trades [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY sym;
CREATE QUERY short AS SELECT COUNT(*) AS n FROM trades [RANGE 6 SECONDS SLIDE 3 SECONDS] WHERE qty > 10
  RETAIN 2 SECONDS;
CREATE QUERY rows AS SELECT sym, price, qty FROM trades WHERE price > 11;
CREATE QUERY casts AS SELECT sym, SUM(CAST(note AS INT)) AS s FROM trades [RANGE 4 SECONDS] GROUP BY sym;
CREATE QUERY strict AS SELECT sym, MAX(CAST(note AS INT)) AS s FROM trades [RANGE 4 SECONDS] GROUP BY sym
  ON ERROR FAIL;
CREATE QUERY lines AS SELECT sym, COUNT(*) AS n FROM trades [RANGE 4 SECONDS] GROUP BY sym
  INTO json OPTIONS ('path' = 'out/lines', 'roll.every' = '3 minutes');
CREATE QUERY sheet AS SELECT sym, SUM(qty) AS q FROM trades [RANGE 2 SECONDS] GROUP BY sym
  INTO csv OPTIONS ('path' = 'out/sheet', 'roll.rows' = '9');
"""
FIRST = """
CREATE QUERY old AS SELECT COUNT(*) AS n FROM trades [RANGE 8 SECONDS SLIDE 2 SECONDS];
CREATE QUERY changed AS SELECT MAX(price) AS p FROM trades [RANGE 6 SECONDS SLIDE 2 SECONDS];
"""
SECOND = """
CREATE QUERY new AS SELECT SUM(qty) AS q FROM trades [RANGE 6 SECONDS SLIDE 1 SECOND];
CREATE QUERY changed AS SELECT MIN(price) AS p FROM trades [RANGE 6 SECONDS SLIDE 2 SECONDS];
CREATE QUERY longer AS SELECT sym, SUM(qty) AS q FROM trades [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY sym;
CREATE QUERY total AS SELECT SUM(qty) AS q FROM trades [RANGE 10 SECONDS SLIDE 5 SECONDS];
"""


def rows_of(batch: int) -> list[Row]:
    """Rows of two seconds, up to three seconds out of order."""
    at = batch * 2.0
    return [
        row("A", 10 + batch % 5 + 0.1, batch * 3, "1", at + 0.25),
        row("B", 10 + batch % 3 + 0.7, batch + 5, "x" if batch == 3 else "2", at + 1.75),
        row("A", 9.3 + batch % 7, 100 - batch, "3", max(at - 3.0, 0.0)),
    ]


def live(path: Path) -> None:
    """Go on with the program from wherever it stood, to its end."""
    now = 1_000_000.0 + PER_BATCH * _batches(path)
    FileSink.__init__.__kwdefaults__["wall"] = lambda: now
    os.chdir(path)
    bench = Bench(path, KEPT + (SECOND if _has_changed(path) else FIRST))
    bench.delivery._clock = lambda: now
    log = bench.runtime.logs["trades"]
    while True:
        bench.step()
        if log.next == CHANGE_AT and not _has_changed(path):
            bench.change(KEPT + SECOND)
            bench.outlets.end_gone(bench.runtime.step_number)
        now += PER_BATCH
        bench.deliver(flush=False)
        if log.next == BATCHES:
            break
        bench.ingest(*rows_of(log.next))
    bench.drain()
    bench.deliver()
    bench.close()


def _batches(path: Path) -> int:
    return len(list(path.glob("home/ingest/trades/*.json")))


def _has_changed(path: Path) -> bool:
    if not (path / "home" / "weft.json").exists():
        return False
    epochs = Catalog(Home.look(path / "home")).epochs
    return sum(epoch.reason == "program" for epoch in epochs) > 1


def one_life(path: Path, fault: str, store: str, live: Callable[[Path], None]) -> str:
    """How a child ends that lives through a program from where it stood, or dies at the fault point."""
    child = os.fork()
    if child == 0:
        try:
            if fault != "-":
                os.environ["WEFT_FAULT"] = fault
            Bench.store = store
            live(path)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "killed"
    return "done" if os.WEXITSTATUS(status) == 0 else "failed"


if __name__ == "__main__":
    runtime.SNAPSHOT_EVERY = 4
    pa.set_cpu_count(1)
    for text in (FIRST, SECOND):
        bound(STREAM + KEPT + text)  # once for all children
    for line in sys.stdin:
        directory, fault, store = line.split()
        print(one_life(Path(directory), fault, store, live), flush=True)
