"""Cells that `auto` moves while a program runs: answers are those of the driver, and the reason is told."""

from __future__ import annotations

import logging
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.ages import set_age
from tests.properties.programs import STREAM, assert_right, disagreements, scenario
from weft.engine import strides
from weft.engine.placement import AUTO, Limits
from weft.errors import RunError
from weft.session import Session
from weft.spark import running
from weft.spark.placement import Placement
from weft.spark.replay import Replay
from weft.terminal.report import as_text, read_status, report

pytestmark = pytest.mark.spark

PROGRAM = """
CREATE STREAM s (k STRING, v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 0 SECONDS
  FROM parquet OPTIONS ('path' = '{files}', 'maxFilesPerTrigger' = '1');
CREATE QUERY sums AS SELECT k, window_end, SUM(v) AS v FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k;
"""
# The driver is never fast enough, and executors always would be.
AWAY = {"span": 0.0, "steps": 1, "busy": 0.0, "launch": 0.0, "gain": 1e9}
BACK = {"stay": 0.0, "light": 1e9}


def write_files(directory: Path, count: int) -> None:
    directory.mkdir()
    rng = Random(3)
    for at in range(count):
        seconds = sorted(10 * at + 10 * rng.random() for _ in range(500))
        rows = {
            "k": [f"key {rng.randrange(50)}" for _ in seconds],
            "v": [rng.randrange(1000) for _ in seconds],
            "ts": pa.array([int(each * 1e6) for each in seconds], pa.timestamp("us", tz="UTC")),
        }
        pq.write_table(pa.table(rows), directory / f"{at:03d}.parquet")
        set_age(directory / f"{at:03d}.parquet", at)


def test_cells_that_go_and_come_back_cost_no_answer(spark, tmp_path: Path) -> None:
    made = scenario(Random(91), 5, 60)
    adapter = Replay(spark, tmp_path / "home")
    placement = Placement(spark, AUTO, 2, Limits(**AWAY, **BACK))
    adapter.start(made.text)
    held = []
    try:
        for feed in made.feeds:
            adapter.ingest(STREAM, feed)
            placement.review(adapter.runtime)
            held.append(adapter.runtime.buckets)
        adapter.drain(None)
        wrong = disagreements(made, {name: adapter.results(name) for name, _ in made.queries})
    finally:
        placement.close()
        adapter.stop()
    assert_right(made, wrong)
    moves = [(before, after) for before, after in pairwise(held) if before != after]
    assert {(0, 2), (2, 0)} <= set(moves)


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (AWAY, "executors, 2 buckets: steps took "),
        ({"cells": 10}, "executors, 2 buckets: "),
        ({}, "driver"),
    ],
)
def test_a_run_tells_where_its_cells_are_and_why(
    spark,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    limits: dict[str, float],
    told: str,
) -> None:
    caplog.set_level(logging.INFO, "weft")
    write_files(tmp_path / "files", 6)
    monkeypatch.setattr(strides, "LONGEST", 0.0)  # a step after each file
    monkeypatch.setattr(running, "Placement", partial(Placement, limits=Limits(**limits)))
    answers = {}
    for placement in (AUTO, "driver"):
        with Session(spark, tmp_path / placement, placement=placement, buckets=2) as session:
            session.sql(PROGRAM.format(files=tmp_path / "files"))
            session.start(drain=True).wait()
            answers[placement] = session.table("sums").sort_by(
                [("k", "ascending"), ("window_end", "ascending")]
            )
    assert answers[AUTO].equals(answers["driver"])
    status = read_status(tmp_path / AUTO)
    assert status is not None
    assert status.placement.startswith(told)
    assert f"placement {told}" in as_text(report(status, time.time(), ()))
    assert any(f"cells: {told}" in message for message in caplog.messages) == (told != "driver")


def test_a_run_that_left_too_many_cells_goes_on_with_executors(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path / "files", 4)
    first = []
    real = Placement.first
    monkeypatch.setattr(Placement, "first", lambda self, left: first.append(real(self, left)) or first[-1])
    for cells in (20_000_000, 10):
        monkeypatch.setattr(running, "Placement", partial(Placement, limits=Limits(cells=cells)))
        with Session(spark, tmp_path / "home", buckets=2) as session:
            session.sql(PROGRAM.format(files=tmp_path / "files"))
            session.start(once=True).wait()
            at = session.status().placement
    assert [crew is not None for crew in first] == [False, True]
    assert at.endswith("cells at the last stop")


def test_cells_stay_where_executors_cannot_take_them(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("weft.spark.workers.ship", lambda spark: None)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/no/python")
    made = scenario(Random(91), 4, 60)
    adapter = Replay(spark, tmp_path / "home")
    placement = Placement(spark, AUTO, None, Limits(cells=0))
    adapter.start(made.text)
    try:
        for feed in made.feeds:
            adapter.ingest(STREAM, feed)
            placement.review(adapter.runtime)
        assert adapter.runtime.crew is None
        shown = placement.show(adapter.runtime)
    finally:
        adapter.stop()
    assert shown.startswith("driver: ")
    assert "/no/python" in shown
    assert [record.levelname for record in caplog.records if record.name == "weft"] == ["WARNING"]


def test_executors_that_are_asked_for_and_unable_leave_no_home(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.spark.workers.ship", lambda spark: None)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/no/python")
    write_files(tmp_path / "files", 1)
    session = Session(spark, tmp_path / "home", placement="executors")
    session.sql(PROGRAM.format(files=tmp_path / "files"))
    with pytest.raises(RunError) as refused:
        session.start()
    assert refused.value.code == "executors-lack-weft"
    assert not (tmp_path / "home").exists()
