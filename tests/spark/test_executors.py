"""Cells on Spark's executors: the reference's answers, from workers, files and tasks as they are."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from tests.properties.programs import STREAM, as_case, disagreements, run, scenario
from weft.engine.arena import local_directory
from weft.errors import RunError
from weft.spark import ingest
from weft.spark.executors import SparkCrew
from weft.spark.replay import Replay

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def crew(spark) -> Iterator[SparkCrew]:
    hired = SparkCrew(spark, 3)
    yield hired
    hired.close()


@pytest.fixture(autouse=True, params=["in workers", "in the driver"])
def level1(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rows are aggregated: small batches in the driver, so there are to be none."""
    if request.param == "in workers":
        monkeypatch.setattr(ingest, "SMALL", -1)


@pytest.mark.parametrize("seed", range(2))
def test_random_programs_agree_with_the_reference(seed: int, spark, crew: SparkCrew, tmp_path: Path) -> None:
    made = scenario(Random(5000 + seed), 12, 90, f"found by seed {5000 + seed}")
    adapter = Replay(spark, tmp_path / "home", crew)
    try:
        wrong = disagreements(made, run(made, adapter))
    finally:
        adapter.stop()
    assert not wrong, as_case(made.only(*wrong)) + "\n".join(wrong.values())


@pytest.mark.parametrize("seed", range(2))
def test_level_1_in_workers_for_cells_in_the_driver(
    seed: int, spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "SHRINKS", 1 << 40)  # as if no batch shrank
    made = scenario(Random(6000 + seed), 12, 90, f"found by seed {6000 + seed}")
    adapter = Replay(spark, tmp_path / "home")
    try:
        wrong = disagreements(made, run(made, adapter))
    finally:
        adapter.stop()
    assert not wrong, as_case(made.only(*wrong)) + "\n".join(wrong.values())


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
    assert not wrong, as_case(made.only(*wrong)) + "\n".join(wrong.values())
    assert reloads


def test_standing_filters_and_dead_letters_of_one_batch(spark, crew: SparkCrew, tmp_path: Path) -> None:
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


def test_workers_that_cannot_run_weft_are_told_of(spark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/usr/bin/false")
    with pytest.raises(RunError) as refused:
        SparkCrew(spark, 2)
    assert refused.value.code == "executors-lack-weft"
