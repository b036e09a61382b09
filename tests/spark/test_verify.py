"""`verify` on a program that ran: its answer files against what Spark makes of the same rows."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import weft

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROGRAM = """
CREATE STREAM sent (id BIGINT, price DOUBLE, at TIMESTAMP) TIMESTAMP BY at DELAY 1 SECOND MAX AHEAD OFF
  FROM json OPTIONS ('path' = '{0}/sent', 'maxFilesPerTrigger' = '1');
CREATE STREAM acks (id BIGINT, at TIMESTAMP) TIMESTAMP BY at DELAY 0 SECONDS MAX AHEAD OFF
  FROM json OPTIONS ('path' = '{0}/acks');
CREATE TABLE names (id BIGINT, name STRING) FROM json OPTIONS ('path' = '{0}/names');
CREATE VIEW dear AS SELECT id, price * 2 AS double FROM sent [RANGE 10 SECONDS] WHERE price / (id - 3) < 9;
CREATE QUERY pairs AS SELECT d.id, double, name FROM dear d JOIN acks [RANGE 4 SECONDS] a ON d.id = a.id
  LEFT JOIN names n ON d.id = n.id;
CREATE QUERY missing AS SELECT id FROM sent [RANGE 6 SECONDS SLIDE 2 SECONDS]
  EXCEPT SELECT id FROM acks [RANGE 6 SECONDS SLIDE 2 SECONDS];
CREATE QUERY totals AS SELECT s.id, SUM(price) AS total FROM sent [RANGE 6 SECONDS] s
  JOIN acks [RANGE 6 SECONDS] a ON s.id = a.id GROUP BY s.id;
"""


def write(path: Path, *rows: dict[str, object], age: int = 0) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)))
    os.utime(path, (time.time() - age,) * 2)  # Spark takes the oldest first


def at(second: int) -> str:
    return f"2025-01-01T10:00:{second:02}Z"


@pytest.fixture(params=["sources", pytest.param("late", marks=pytest.mark.slow)])
def kept(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path, kept: str) -> Iterator[weft.Session]:
    """A program that has run once over some rows."""
    write(tmp_path / "names" / "0.json", {"id": 1, "name": "one"})
    for half in range(2):
        sent = [{"id": n % 4, "price": n / 10, "at": at(n)} for n in range(20 * half, 20 * half + 20)]
        write(tmp_path / "sent" / f"{half}.json", *sent, age=60 * half if kept == "late" else 60 - half)
    write(tmp_path / "acks" / "0.json", *({"id": n % 3, "at": at(n)} for n in range(0, 40, 3)))
    with weft.Session(spark, tmp_path / "home") as made:
        made.sql(PROGRAM.format(tmp_path))
        made.start(once=True)
        assert made.wait(180)
        made.stop()
        yield made


def test_answers_are_equal_until_one_is_altered(session: weft.Session, tmp_path: Path, kept: str) -> None:
    for query in ("pairs", "missing") if kept == "sources" else ("totals", "pairs"):
        found = session.verify(query)
        assert (found.equal, found.differences, found.note) == (True, [], "")
        assert found.rows > 3
    (file,) = (tmp_path / "home" / "results" / "pairs" / "v1").glob("part-*")
    answers = pq.read_table(file)
    pq.write_table(pa.concat_tables([answers.slice(0, 1), answers.slice(2)]), file)
    lost, *_ = answers.slice(1, 1).to_pylist()
    found = session.verify("pairs")
    assert not found.equal
    (line,) = [line for line in found.differences if "begins" in line]
    assert line.split()[:3] == ["-", "begins", f"{lost['valid_from']:%H:%M:%S}"]
    assert line.split()[3] == str(lost["id"])


def test_rows_that_statistics_of_parquet_do_not_know_of_are_read(spark: SparkSession, tmp_path: Path) -> None:
    """The greatest value of a column is one without NaN there, and in Spark NaN is the greatest."""
    times = pa.array([n * 1_000_000 for n in range(6)], pa.timestamp("us", "UTC"))
    x = pa.array([float("nan") if n % 2 else float(n) for n in range(6)])
    (tmp_path / "in").mkdir()
    pq.write_table(
        pa.table({"id": pa.array(range(6), pa.int32()), "x": x, "at": times}), tmp_path / "in" / "0.parquet"
    )
    with weft.Session(spark, tmp_path / "home") as made:
        made.sql(f"""
            CREATE STREAM s (id INT, x DOUBLE, at TIMESTAMP) TIMESTAMP BY at DELAY 0 SECONDS MAX AHEAD OFF
              FROM parquet OPTIONS ('path' = '{tmp_path / "in"}');
            CREATE QUERY standing AS SELECT id FROM s WHERE x = double('NaN');
            CREATE QUERY windows AS SELECT COUNT(*) AS n FROM s [RANGE 2 SECONDS] WHERE x > 5e0;
        """)
        made.start(once=True, drain=True)
        assert made.wait(180)
        found = {name: made.verify(name) for name in ("standing", "windows")}
    assert {name: (one.rows, one.differences) for name, one in found.items()} == {
        "standing": (3, []),
        "windows": (3, []),
    }
