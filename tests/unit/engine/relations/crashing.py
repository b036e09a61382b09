"""A program of relations that is killed and started again: see tests/unit/engine/crashing.py.

Rows come out of order, and from the third batch on some come late; a snapshot is written every third step.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from tests.unit.engine.crashing import one_life
from tests.unit.engine.crew import LocalCrew
from tests.unit.engine.relations.homes import OnHome, planned
from weft.engine import runtime

BATCHES = 7  # of each stream
PROGRAM = """
CREATE STREAM a (k STRING, v INT, at TIMESTAMP) TIMESTAMP BY at DELAY 2 SECONDS MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = 'rows');
CREATE STREAM b (k STRING, v INT, at TIMESTAMP) TIMESTAMP BY at DELAY 1 SECOND MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = 'rows');
CREATE TABLE t KEY (k) DELETE WHERE v = 4 FROM STREAM b;
CREATE QUERY seen AS SELECT x.k, x.v, p.v AS w FROM a x LEFT JOIN t p ON x.k = p.k;
CREATE QUERY revised AS SELECT DSTREAM(*) FROM
  (SELECT x.v, p.v AS w FROM a [RANGE 6 SECONDS] x JOIN t RETROACTIVE p ON x.k = p.k) j;
CREATE QUERY seen_early AS SELECT x.v, p.v AS w FROM a [RANGE 4 SECONDS] x JOIN t RETROACTIVE p ON x.k = p.k
  EMIT CHANGES;
CREATE QUERY pairs AS SELECT x.v, y.v AS w FROM a [RANGE 6 SECONDS] x JOIN b [RANGE 6 SECONDS] y ON x.k = y.k;
CREATE QUERY wide AS SELECT x.v, y.v AS w FROM a [RANGE 9 SECONDS] x JOIN b [RANGE 3 SECONDS] y ON x.k = y.k
  WHERE x.v > 2;
CREATE QUERY lonely AS SELECT x.k, x.v FROM a [RANGE 6 SECONDS] x
  WHERE NOT EXISTS (SELECT 1 FROM b [RANGE 2 SECONDS] y WHERE x.k = y.k);
CREATE QUERY different AS SELECT DISTINCT x.k, y.v FROM a [RANGE 6 SECONDS] x, b [RANGE 6 SECONDS] y
  WHERE x.k = y.k;
CREATE QUERY counts AS SELECT x.k, COUNT(*) AS n, SUM(y.v) AS s FROM a [RANGE 6 SECONDS SLIDE 2 SECONDS] x
  JOIN b [RANGE 6 SECONDS SLIDE 2 SECONDS] y ON x.k = y.k GROUP BY x.k;
CREATE QUERY early AS SELECT x.k, x.v FROM a [RANGE 4 SECONDS] x
  WHERE NOT EXISTS (SELECT 1 FROM b [RANGE 4 SECONDS] y WHERE x.k = y.k) EMIT CHANGES;
"""
QUERIES = ("seen", "revised", "seen_early", "pairs", "wide", "lonely", "different", "counts", "early")


def rows_of(stream: str, batch: int) -> pa.Table:
    """Rows of three seconds, the last of them up to five seconds late."""
    shift, at = (0, 0.25) if stream == "a" else (1, 0.5)
    keys = ["ABC"[(batch + shift + one) % 3] for one in range(4)]
    seconds = [batch * 3 + at, batch * 3 + at + 2, batch * 3 + at + 1, max(batch * 3 - 5 * (batch > 1), 0)]
    times = pa.array([round(each * 1_000_000) for each in seconds], pa.timestamp("us", tz="UTC"))
    return pa.table({"k": keys, "v": pa.array(range(batch, batch + 4), pa.int32()), "at": times})


def live(path: Path, crew: LocalCrew | None = None) -> None:
    """Go on with the program from wherever it stood, to its end."""
    adapter = OnHome(path / "home", crew)
    adapter.start(PROGRAM)
    while adapter.runtime.step():
        pass
    logs = adapter.runtime.logs
    while (least := min(log.next for log in logs.values())) < BATCHES:
        stream = next(name for name, log in logs.items() if log.next == least)
        adapter.ingest(stream, rows_of(stream, least))
    adapter.drain(None)
    assert bool(adapter.runtime.spreads) == (crew is not None), "what should lie in buckets does not"
    adapter.stop()


def serve(life: Callable[[Path], None]) -> None:
    """Lead one life for each line that comes: a directory, where it ends, and what the home lies in."""
    runtime.SNAPSHOT_EVERY = 3
    pa.set_cpu_count(1)
    planned(PROGRAM)  # once for all children
    for line in sys.stdin:
        directory, fault, store = line.split()
        print(one_life(Path(directory), fault, store, life), flush=True)


if __name__ == "__main__":
    serve(live)
