"""Grouping sets mean what Spark means by them, and answers from files are those, over a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.ages import set_age
from tests.sql.oracles import DuckOracle
from weft.session import Session
from weft.testing.compare import difference
from weft.testing.harness import bound, check_types
from weft.testing.values import rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DECLARED = """
CREATE STREAM s (a STRING, b STRING, c INT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 0 SECONDS MAX AHEAD OFF
  FROM json OPTIONS ('path' = '{source}', 'maxFilesPerTrigger' = '1');
"""
ROWS = [("x", "p", 1), ("x", "q", 2), (None, "p", 4), ("y", None, 8), (None, None, 16), ("x", "p", 32)]
SELECTED = "a, b, SUM(c) AS total, MAX(a) AS most, GROUPING(a) AS ga, GROUPING(b) AS gb, GROUPING_ID() AS id"
GROUPED = (
    "ROLLUP (a, b)",
    "ROLLUP (b, a)",
    "CUBE (a, b)",
    "a, b WITH CUBE",
    "GROUPING SETS ((b), (a, b))",
    "GROUPING SETS ((a, b), (a, b), ())",
    "GROUPING SETS (a, ROLLUP (b, a))",
    "b, ROLLUP (a)",
    "a, ROLLUP (a, b)",
    "ROLLUP (a), ROLLUP (b)",
    "ROLLUP ((b, a), a)",
    "ROLLUP (1, 2)",
)


@pytest.mark.parametrize("grouped", GROUPED)
def test_it_is_what_spark_says_of_the_rows_of_a_window(grouped: str, spark: SparkSession) -> None:
    """The text of the query itself, in batch: the order of keys in GROUPING_ID, and sets that come twice."""
    spark.createDataFrame(ROWS, "a string, b string, c int").createOrReplaceTempView("rows")
    expected = spark.sql(f"SELECT {SELECTED} FROM rows GROUP BY {grouped}").toArrow()
    text = DECLARED.format(source="unread")
    text += f"CREATE QUERY q AS SELECT {SELECTED} FROM s [RANGE 1 MINUTE] GROUP BY {grouped};"
    oracle = DuckOracle()
    oracle.start(text)
    oracle.ingest("s", _table([(*row, 0) for row in ROWS]))
    oracle.drain(None)
    found = oracle.results("q").drop_columns(["window_start", "window_end"])
    assert not difference(rows_of(expected), rows_of(found))


def test_a_run_from_files_over_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    program = f"""
        CREATE QUERY r AS SELECT {SELECTED} FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY ROLLUP (a, b);
        CREATE QUERY most AS SELECT a, b, COUNT(DISTINCT c) AS n FROM s [RANGE 4 SECONDS]
          GROUP BY CUBE (a, b) HAVING COUNT(*) > 1 ORDER BY n DESC, GROUPING_ID() LIMIT 3;
        CREATE QUERY twice AS SELECT a, SUM(c) AS total FROM s [RANGE 1 SECOND] WHERE c > 1
          GROUP BY GROUPING SETS ((a), (), ()) EMIT EMPTY;
    """
    text = DECLARED.format(source=tmp_path / "in") + program
    oracle = DuckOracle()
    oracle.start(text)
    for number in range(4):
        rows = [(a, b, c, 2 * number + at % 3) for at, (a, b, c) in enumerate(ROWS)]
        _arrive(tmp_path, number, rows)
        oracle.ingest("s", _table(rows))
        with Session(spark, tmp_path / "home") as session:
            session.sql(text)
            session.start(once=True, drain=number == 3)
            assert session.wait(120)
            found = {name: session.verify(name) for name in ("r", "most", "twice")}
            assert [(name, told.differences) for name, told in found.items() if not told.equal] == []
    oracle.drain(None)
    with Session(spark, tmp_path / "home") as session:
        session.sql(text)
        for query in bound(text).queries:
            answers = session.results(query.name).toArrow()
            check_types(query, answers, query.name)
            assert not difference(rows_of(oracle.results(query.name)), rows_of(answers))


def _table(rows: list[tuple[Any, ...]]) -> pa.Table:
    a, b, c, seconds = zip(*rows, strict=True)
    ts = pa.array([at * 1_000_000 for at in seconds], pa.timestamp("us", "UTC"))
    return pa.table({"a": pa.array(a), "b": pa.array(b), "c": pa.array(c, pa.int32()), "ts": ts})


def _arrive(place: Path, number: int, rows: list[tuple[Any, ...]]) -> None:
    """A file with these rows."""
    lines = [
        json.dumps({"a": a, "b": b, "c": c, "ts": f"1970-01-01T00:00:{at:02d}Z"}) for a, b, c, at in rows
    ]
    (place / "in").mkdir(exist_ok=True)
    staged = place / "staged"
    staged.write_text("\n".join(lines))
    set_age(staged, number)
    staged.rename(place / "in" / f"{number:03d}.json")
