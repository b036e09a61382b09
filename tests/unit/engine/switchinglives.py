"""A program whose queries are switched twice, killed and started again: as `crashing`, one child a life.

batch 0 .. 4    rows asked
batch 5 ..      picked by `sym`; windows from before are answered for ten seconds more
batch 14 ..     rows asked again
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from tests.unit.engine.bench import STREAM, Bench, bound
from tests.unit.engine.crashing import one_life, rows_of
from weft.engine import runtime
from weft.log.catalog import Catalog
from weft.log.home import Home

BATCHES = 22
SWITCHES = {5: ("sym",), 14: ()}
ITEMS = "COUNT(*) AS n, SUM(qty) AS q, MAX(price) AS p"
WINDOW = "[RANGE 6 SECONDS SLIDE 2 SECONDS]"
TEXT = "".join(
    f"CREATE QUERY {name} AS SELECT {ITEMS} FROM trades {WINDOW} WHERE sym = '{sym}';\n"
    for name, sym in (("a", "A"), ("b", "B"))
)


def live(path: Path) -> None:
    """Go on with the program from wherever it stood, to its end."""
    bench = Bench(path, TEXT)
    log = bench.runtime.logs["trades"]
    while True:
        bench.step()
        keys = SWITCHES.get(log.next)
        if keys is not None and _switches(path) <= list(SWITCHES).index(log.next):
            bench.runtime.switch({"a": keys, "b": keys}, "a test")
        bench.deliver(flush=False)
        if log.next == BATCHES:
            break
        bench.ingest(*rows_of(log.next))
    bench.drain()
    bench.deliver()
    bench.close()


def _switches(path: Path) -> int:
    return sum(bool(epoch.switched) for epoch in Catalog(Home.look(path / "home")).epochs)


if __name__ == "__main__":
    runtime.SNAPSHOT_EVERY = 4
    pa.set_cpu_count(1)
    bound(STREAM + TEXT)  # once for all children
    for line in sys.stdin:
        directory, fault, store = line.split()
        print(one_life(Path(directory), fault, store, live), flush=True)
