"""Cells on Spark's executors: the reference's answers, from workers, files and tasks as they are."""

from __future__ import annotations

import shutil
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from tests.cases import first
from tests.properties.programs import STREAM, Scenario, assert_right, disagreements, run, scenario
from weft.engine.arena import local_directory
from weft.errors import RunError
from weft.share import predicates
from weft.spark import ways
from weft.spark.executors import SparkCrew
from weft.spark.replay import Replay
from weft.spark.workers import Workers

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def crew(spark) -> Iterator[SparkCrew]:
    hired = SparkCrew(spark, 3)
    yield hired
    hired.close()


@pytest.fixture
def in_workers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No batch is so small that the driver aggregates it; gives who was asked to aggregate one."""
    monkeypatch.setattr(ways, "SMALL", -1)
    asked: list[str] = []

    def spied(owner: type, name: str) -> None:
        real = getattr(owner, name)

        def call(self: object, *args: object) -> object:
            asked.append(owner.__name__)
            return real(self, *args)

        monkeypatch.setattr(owner, name, call)

    spied(SparkCrew, "write_cells")
    spied(Workers, "cells")
    return asked


def agrees(made: Scenario, spark, home: Path, crew: SparkCrew | None = None) -> None:
    adapter = Replay(spark, home, crew)
    try:
        wrong = disagreements(made, run(made, adapter))
    finally:
        adapter.stop()
    assert_right(made, wrong)


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_random_programs_agree_with_the_reference(seed: int, spark, crew: SparkCrew, tmp_path: Path) -> None:
    agrees(scenario(Random(5000 + seed), 12, 90, f"found by seed {5000 + seed}"), spark, tmp_path, crew)


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_so_they_do_with_grouping_sets(
    seed: int, spark, crew: SparkCrew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predicates, "MANY", 1)
    made = scenario(Random(5100 + seed), 12, 90, f"found by seed {5100 + seed}, with sets", 0.3, 0.8)
    agrees(made, spark, tmp_path, crew)


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_so_they_do_with_level_1_in_workers(
    seed: int, spark, crew: SparkCrew, tmp_path: Path, in_workers: list[str]
) -> None:
    agrees(scenario(Random(5000 + seed), 12, 90, f"found by seed {5000 + seed}"), spark, tmp_path, crew)
    assert "SparkCrew" in in_workers


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_level_1_in_workers_for_cells_in_the_driver(
    seed: int, spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_workers: list[str]
) -> None:
    monkeypatch.setattr(ways, "SHRINKS", 1 << 40)  # as if no batch shrank
    agrees(scenario(Random(6000 + seed), 12, 90, f"found by seed {6000 + seed}"), spark, tmp_path)
    assert "Workers" in in_workers


def test_cells_that_are_lost_or_moved_cost_no_answer(spark, crew: SparkCrew, tmp_path: Path) -> None:
    made = scenario(Random(77), 10, 90)
    reloads, answers = 0, {}
    for at, feed in enumerate([*made.feeds, None]):
        adapter = Replay(spark, tmp_path / "home", None if at % 3 == 2 else crew)
        adapter.start(made.text)
        try:
            if feed is None:
                adapter.drain(None)
            else:
                adapter.ingest(STREAM, feed)
                for left in local_directory_of_workers(spark).glob("weft-*"):
                    shutil.rmtree(left)
                adapter.drain(0)
            reloads += sum(getattr(state, "reloads", 0) for state in adapter.runtime.states.values())
            answers = {name: adapter.results(name) for name, _ in made.queries}
        finally:
            adapter.stop()
    wrong = disagreements(made, answers)
    assert_right(made, wrong)
    assert reloads


def test_standing_filters_and_dead_letters_of_one_batch(
    spark, crew: SparkCrew, tmp_path: Path, in_workers: list[str]
) -> None:
    adapter = Replay(spark, tmp_path / "home", crew)
    adapter.start(
        """
        CREATE STREAM s (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 0 SECONDS
          FROM parquet OPTIONS ('path' = 'unread');
        CREATE QUERY small AS SELECT a FROM s WHERE a < 3;
        CREATE QUERY parts AS SELECT SUM(12 DIV a) AS x FROM s [RANGE 10 SECONDS];
        """
    )
    try:
        times = pa.array([1, 2, 3, None], pa.timestamp("us", tz="UTC"))
        adapter.ingest("s", pa.table({"a": pa.array([0, 2, 4, 5]), "ts": times}))
        adapter.drain(None)
        assert adapter.results("small").to_pydict() == {"a": [0, 2]}
        assert adapter.results("parts").column("x").to_pylist() == [9]
        assert adapter.dead("parts") == 1
    finally:
        adapter.stop()


def local_directory_of_workers(spark) -> Path:
    found = spark.sparkContext.parallelize([0], 1).map(lambda _: str(local_directory())).collect()
    return Path(found[0])


@pytest.mark.parametrize(
    ("attribute", "value", "told"),
    [
        ("pythonExec", "/usr/bin/false", "with /usr/bin/false: "),
        ("pythonExec", "/no/python", 'Cannot run program "/no/python"'),
        ("pythonExec", "bare", "No module named '"),
        ("pythonVer", "3.9", f"Python in worker has different version: {sys.version_info[0]}."),
    ],
)
def test_workers_that_cannot_run_weft_are_told_of(
    spark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, attribute: str, value: str, told: str
) -> None:
    if value == "bare":
        venv.create(tmp_path, with_pip=False)
        value = str(tmp_path / "bin" / "python")
    monkeypatch.setattr("weft.spark.workers.ship", lambda spark: None)  # the session is that of other tests
    monkeypatch.setattr(spark.sparkContext, attribute, value)
    with pytest.raises(RunError) as refused:
        SparkCrew(spark, 2)
    assert refused.value.code == "executors-lack-weft"
    assert told in refused.value.what
