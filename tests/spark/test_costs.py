"""Costs of a program on Spark: what a run measures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from weft.engine import calibrate
from weft.engine.calibration import kept
from weft.session import Session
from weft.share.model.constants import SHIPPED, Constants
from weft.share.model.cost import Level

pytestmark = pytest.mark.spark

PROGRAM = """
CREATE STREAM trades (symbol STRING, price DOUBLE, qty BIGINT, venue STRING, side STRING, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 2 SECONDS
  FROM generator OPTIONS ('preset' = 'market', 'rows' = '6000', 'rows.per.batch' = '2000', 'rows.per.second' = '500');
CREATE QUERY volume AS
  SELECT venue, SUM(qty) AS volume FROM trades [RANGE 2 SECONDS] WHERE qty > 100 GROUP BY venue;
"""  # noqa: E501


def test_a_run_is_analyzed(spark: SparkSession, tmp_path: Path) -> None:
    session = Session(spark, home=tmp_path / "home")
    session.sql(PROGRAM)
    session.start(drain=True).wait()
    found = session.measured()
    (said,) = session.sql("EXPLAIN ANALYZE;")
    told = json.loads(session.explain("volume", "json", analyze=True))["measured"]
    session.stop()
    stream = found.streams["trades"]
    assert stream.rows == 6000
    assert stream.batches >= 3  # the last may be empty
    assert stream.seconds == pytest.approx(12.0, abs=0.5)
    venues = session.table("volume").column("venue").unique()
    assert stream.groups == {("venue",): len(venues)}
    assert 0 < stream.passing["qty > 100"] < 1
    assert 0 < sum(found.levels[level] for level in (Level.FOLD, Level.FINAL, Level.OUTPUT)) < found.cpu
    assert found.answers == {"volume": session.table("volume").num_rows}
    assert "500 rows/s and" in said
    assert "predicted and measured" in said
    assert told["answers"]["volume"]["measured"] > 0


JOIN = (
    PROGRAM[: PROGRAM.index("CREATE QUERY")]
    + """
CREATE QUERY pairs AS
  SELECT x.venue, y.qty FROM trades [RANGE 1 SECOND] x JOIN trades [RANGE 1 SECOND] y ON x.symbol = y.symbol
  WHERE x.qty > 100;
"""
)


def test_what_a_run_has_counted_of_a_join_is_shown(spark: SparkSession, tmp_path: Path) -> None:
    session = Session(spark, home=tmp_path / "home")
    session.sql(JOIN)
    session.start(once=True).wait()
    found, said = session.measured().streams["trades"], str(session.explain())
    session.stop()
    assert 0 < found.passing["qty > 100"] < 1
    assert found.joined["symbol"] > 1
    assert "trades 500 rows/s measured" in said
    assert f"{found.joined['symbol']:.0f} keys measured" in said
    assert f"qty > 100 holds for {round(100 * found.passing['qty > 100'])} % of trades measured" in said


def test_the_machine_is_measured_at_the_first_start(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = []

    def measure() -> Constants:
        measured.append(replace(SHIPPED, origin="measured on a day"))
        return measured[-1]

    monkeypatch.setattr(calibrate, "calibrate", measure)
    for once in (True, False, False):
        session = Session(home=tmp_path / "home")  # finds the JVM that is there
        session.sql(PROGRAM)
        session.start(once=once)
        session.stop()
    assert kept(tmp_path / "home") == measured[0]
    assert len(measured) == 1
