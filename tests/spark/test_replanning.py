"""A run whose load is not what its plan was made for switches its queries by itself, unless told not to."""

from __future__ import annotations

import json
from functools import partial
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from weft.engine import census, replanning, strides
from weft.session import Session
from weft.share.model import treatment
from weft.share.model.offer import Limits
from weft.spark import running, ways
from weft.terminal.report import as_text, read_status, report

pytestmark = pytest.mark.spark

FILES, ROWS, RULES = 20, 3000, 8  # a file is a second of the stream
TEXT = """
CREATE STREAM s (key INT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = '{}', 'maxFilesPerTrigger' = '1');
""" + "".join(
    f"CREATE QUERY q{at} AS SELECT COUNT(*) AS n FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] WHERE key = {at};\n"
    for at in range(RULES)
)


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census, "LOOK", 2)
    monkeypatch.setattr(replanning, "LOOK", 2)
    monkeypatch.setattr(replanning, "ENOUGH", ROWS)
    monkeypatch.setattr(replanning, "RARELY", 0)
    monkeypatch.setattr(strides, "STRIDE", 0)
    monkeypatch.setattr(running, "Replanning", partial(replanning.Replanning, Limits(gain=0.0, code=0.0)))


def write(path: Path) -> None:
    """Every key once in a file."""
    path.mkdir()
    for at in range(FILES):
        times = pa.array([at * 1_000_000 + row * 300 for row in range(ROWS)], pa.timestamp("us", "UTC"))
        pq.write_table(
            pa.table({"key": pa.array(range(ROWS), pa.int32()), "ts": times}), path / f"{at:03}.parquet"
        )


def run(spark: SparkSession, path: Path, placement: str = "driver") -> Session:
    write(path / "files")
    session = Session(spark, home=path / "home", placement=placement)
    session.sql(TEXT.format(path / "files"))
    session.start(drain=True).wait()
    return session


def counts(session: Session, name: str) -> list[int]:
    return session.table(name).sort_by("window_end").column("n").to_pylist()


@pytest.mark.parametrize("placement", ["driver", "executors"])
def test_a_run_switches_by_itself_and_says_so(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, placement: str
) -> None:
    if placement == "executors":
        monkeypatch.setattr(ways, "SMALL", -1)  # cells are made there, and so what they tell
    session = run(spark, tmp_path, placement)
    (happened,) = session.measured().switches
    (said,) = session.sql("EXPLAIN ANALYZE;")
    plan = json.loads(session.explain(format="json"))["shared"]
    session.stop()
    assert happened.why.startswith("8 queries from key key to rows asked: ")
    assert happened.settled
    assert happened.why in said
    for name in ("q0", "q7"):
        assert counts(session, name) == [2, *[4] * (FILES // 2 - 1), 2]
        assert session.verify(name).equal
    another = Session(home=tmp_path / "home")
    another.sql(TEXT.format(tmp_path / "files"))
    assert json.loads(another.explain(format="json"))["shared"] == plan
    reported = read_status(tmp_path / "home")
    assert reported is not None
    assert f"  {happened.why}" in as_text(report(reported, reported.updated, reported.queries), 400)


def test_one_that_is_told_not_to_does_not(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set(running.REPLAN, "false")
    try:
        session = run(spark, tmp_path)
        assert session.measured().switches == ()
        session.stop()
    finally:
        spark.conf.unset(running.REPLAN)
    assert counts(session, "q0") == [2, *[4] * (FILES // 2 - 1), 2]


def test_values_that_are_asked_for_are_counted_though_they_are_no_key(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Half of the rows have the three values that are asked for: by these alone the column would have six."""
    (tmp_path / "files").mkdir()
    for at in range(8):
        keys = [row % 3 if row % 2 else row for row in range(ROWS)]
        times = pa.array([at * 1_000_000 + row * 300 for row in range(ROWS)], pa.timestamp("us", "UTC"))
        rows = pa.table({"key": pa.array(keys, pa.int32()), "ts": times})
        pq.write_table(rows, tmp_path / "files" / f"{at:03}.parquet")
    session = Session(spark, home=tmp_path / "home", placement="driver")
    stream, *rules = TEXT.format(tmp_path / "files").strip().split(";\n")
    session.sql(";\n".join([stream, *rules[:3], ""]))
    session.start(drain=True).wait()
    measured = session.measured()
    session.stop()
    assert measured.streams["s"].distinct["key"] == pytest.approx(ROWS / 2, rel=0.2)
    assert measured.switches == ()


def test_conditions_are_counted_though_rows_that_nobody_wants_are_no_cells(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(treatment, "_saved", lambda rests, facts: float(len(rests)))
    write(tmp_path / "files")
    passing = {"key % 10 = 0": 0.1, "key % 2 = 0": 0.5, "key % 3 = 1": 1 / 3, "key % 1000 = 7": 3 / ROWS}
    wheres = [" AND ".join(some) for size in (2, 3) for some in combinations(passing, size)]
    query = "CREATE QUERY c{} AS SELECT COUNT(*) AS n, SUM(key) AS k FROM s [RANGE 4 SECONDS] WHERE {};\n"
    stream, *_ = TEXT.format(tmp_path / "files").split(";\n")
    session = Session(spark, home=tmp_path / "home", placement="driver")
    session.sql(f"{stream};\n" + "".join(query.format(at, where) for at, where in enumerate(wheres)))
    session.start(drain=True).wait()
    found = session.measured().streams["s"].passing
    session.stop()
    assert {one: found[one] for one in passing} == pytest.approx(passing)
