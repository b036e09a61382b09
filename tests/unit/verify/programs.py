"""Queries of every kind that `verify` judges, and rows for them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa

from tests.unit.verify.rig import Rig

START = datetime(2025, 1, 1, 10, tzinfo=UTC)
STREAMS = """
CREATE STREAM sent (id BIGINT, n BIGINT, at TIMESTAMP) TIMESTAMP BY at DELAY 2 SECONDS MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = 'unread');
CREATE STREAM acks (id BIGINT, n BIGINT, at TIMESTAMP) TIMESTAMP BY at DELAY 0 SECONDS MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = 'unread');
CREATE TABLE names (id BIGINT, name STRING) FROM parquet OPTIONS ('path' = 'unread');
CREATE VIEW answered AS SELECT s.id, s.n FROM sent [RANGE 6 SECONDS] s JOIN acks [RANGE 6 SECONDS] a
  ON s.id = a.id;
"""
PAIRS = """SELECT s.id, s.n, a.n AS m
  FROM sent [RANGE 6 SECONDS{0}] s JOIN acks [RANGE 3 SECONDS{0}] a ON s.id = a.id"""
LISTED = """SELECT t.id, t.name, s.n
  FROM names RETROACTIVE t LEFT JOIN sent [RANGE 6 SECONDS{0}] s ON s.id = t.id"""
QUERIES = {
    "pairs": PAIRS.format(""),
    "kept": PAIRS.format(" INTERNAL"),
    "outlived": PAIRS.format("").replace("3 SECONDS", "3 SECONDS INTERNAL"),
    "slid": PAIRS.format(" SLIDE 2 SECONDS"),
    "begun": "SELECT ISTREAM(s.id, a.n) FROM sent [RANGE 6 SECONDS SLIDE 2 SECONDS] s "
    "JOIN acks [RANGE 3 SECONDS SLIDE 2 SECONDS] a ON s.id = a.id",
    "ended": "SELECT DSTREAM(s.id) FROM sent [RANGE 6 SECONDS] s WHERE s.n > 1",
    "lasting": "SELECT WSTREAM(x.id, x.n) [RANGE 4 SECONDS] FROM answered x",
    "different": "SELECT DISTINCT id FROM sent [RANGE 5 SECONDS]",
    "missing": "SELECT id FROM sent [RANGE 6 SECONDS] s WHERE NOT EXISTS "
    "(SELECT 1 FROM acks [RANGE 6 SECONDS] a WHERE a.id = s.id)",
    "changes": "SELECT id FROM sent [RANGE 4 SECONDS] EXCEPT "
    "SELECT id FROM acks [RANGE 6 SECONDS] EMIT CHANGES",
    "counted": "SELECT s.id, COUNT(*) AS c, SUM(s.n * 0.1D) AS total FROM sent [RANGE 6 SECONDS] s "
    "JOIN acks [RANGE 6 SECONDS] a ON s.id = a.id GROUP BY s.id",
    "named": "SELECT s.id, t.name FROM sent [RANGE 6 SECONDS] s LEFT JOIN names t ON s.id = t.id",
    "renamed": "SELECT s.id, t.name FROM sent [RANGE 6 SECONDS] s JOIN names RETROACTIVE t ON s.id = t.id",
    "listed": LISTED.format(""),
    "listings": LISTED.format(" SLIDE 2 SECONDS"),
    "relisted": LISTED.format("") + " EMIT CHANGES",
}


def text(*names: str) -> str:
    return STREAMS + "".join(f"CREATE QUERY {name} AS {QUERIES[name]};\n" for name in names)


def rows(*given: tuple[int, int, float]) -> pa.Table:
    """Rows of `id`, `n`, and seconds since ten o'clock."""
    times = [START + timedelta(seconds=at) for *_, at in given]
    return pa.table(
        {
            "id": [one[0] for one in given],
            "n": [one[1] for one in given],
            "at": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )


def names(*given: tuple[int, str]) -> pa.Table:
    return pa.table({"id": [one[0] for one in given], "name": [one[1] for one in given]})


def feed(rig: Rig, batches: int = 8, first: int = 0, seed: int = 3) -> None:
    """Rows in time, and a table that changes on the way."""
    rng = Random(seed)
    for number in range(first, first + batches):
        if number == 3:
            rig.revise("names", names((1, "one"), (2, "zwei")))
        for stream in ("sent", "acks"):
            made = [
                (rng.randrange(4), rng.randrange(3), 2 * number + rng.randrange(20) / 10) for _ in range(4)
            ]
            rig.ingest(stream, rows(*made))


def made(tmp_path: Path, *queries: str) -> Rig:
    rig = Rig(tmp_path / "home", text(*queries))
    rig.revise("names", names((1, "one"), (2, "two")))
    return rig
