"""Relations on Spark that are stopped and started again: the reference's answers all the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.properties.relationlives import changed, stopped
from tests.properties.relations import as_case, assert_right, disagreements, scenario
from weft.engine import runtime
from weft.spark.executors import SparkCrew
from weft.spark.replay import Replay
from weft.testing.values import rows_of

pytestmark = pytest.mark.spark

AGGREGATES = """
CREATE QUERY sums AS SELECT k, SUM(w) AS s, COUNT(*) AS n FROM a [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k;
CREATE QUERY most AS SELECT MAX(v) AS v FROM b [RANGE 4 SECONDS];
"""


@pytest.fixture
def adapter(spark, tmp_path: Path) -> Iterator[Replay]:
    made = Replay(spark, tmp_path / "home")
    yield made
    made.stop()


@pytest.mark.parametrize("seed", range(2))
def test_stopped_at_random_places(seed: int, adapter: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(8000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1 + seed)
    made = scenario(rng, 8, 30, f"found by seed {8000 + seed}, stopped")
    wrong = disagreements(made, stopped(made, adapter, rng))
    assert_right(made, wrong)


def test_queries_come_and_go(adapter: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(8100)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 3)
    made = scenario(rng, 8, 30, "found by seed 8100, changed")
    wrong = changed(made, adapter, rng)
    assert not wrong, as_case(made) + "\n".join(wrong.values())


def test_beside_aggregates_on_executors(spark, tmp_path: Path) -> None:
    made = scenario(Random(8200), 6, 40, "found by seed 8200, beside aggregates")
    crew, sums = SparkCrew(spark, 3), []
    try:
        for at, placed in enumerate((None, crew)):
            adapter = Replay(spark, tmp_path / str(at), placed)
            adapter.start(made.text + AGGREGATES)
            for stream, rows in made.feeds:
                adapter.ingest(stream, rows)
            adapter.drain(None)
            wrong = disagreements(made, {name: adapter.results(name) for name, _ in made.queries})
            sums.append([sorted(rows_of(adapter.results(name)), key=repr) for name in ("sums", "most")])
            adapter.stop()
            assert_right(made, wrong)
    finally:
        crew.close()
    assert sums[0] == sums[1]
    assert all(sums[0])


KEYED = """
CREATE QUERY pairs AS SELECT x.k, x.v, y.w FROM a [RANGE 9 SECONDS] x JOIN b [RANGE 6 SECONDS] y ON x.k = y.k;
CREATE QUERY lonely AS SELECT x.k, x.w FROM a [RANGE 6 SECONDS] x
  WHERE NOT EXISTS (SELECT 1 FROM b [RANGE 6 SECONDS] y WHERE x.k = y.k);
CREATE QUERY kinds AS SELECT DISTINCT k, w FROM b [RANGE 4 SECONDS];
CREATE QUERY apart AS SELECT x.k, levenshtein(x.k, y.k) AS n
  FROM a [RANGE 5 SECONDS] x JOIN b [RANGE 5 SECONDS] y ON x.k = y.k AND x.v <= y.v;
CREATE QUERY all_pairs AS SELECT COUNT(*) AS n FROM a [RANGE 9 SECONDS SLIDE 3 SECONDS] x
  CROSS JOIN b [RANGE 9 SECONDS SLIDE 3 SECONDS] y;
"""
NAMES = ("pairs", "lonely", "kinds", "apart", "all_pairs")


def test_on_executors_with_stops_they_tell_what_the_driver_does(
    spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 3)
    made = scenario(Random(8300), 1, 60)
    crew, said = SparkCrew(spark, 3), []
    try:
        for at, placed in enumerate((None, crew)):
            adapter = Replay(spark, tmp_path / str(at), placed)
            text = made.text + KEYED
            adapter.start(text)
            for number, (stream, rows) in enumerate(made.feeds):
                adapter.ingest(stream, rows)
                if placed is not None and number % 4 == 3:
                    adapter.stop()
                    adapter.start(text)
            there = adapter.runtime.spreads.queries & set(NAMES)
            assert there == (set() if placed is None else {"pairs", "lonely", "kinds"})
            adapter.drain(None)
            said.append({name: sorted(rows_of(adapter.results(name)), key=repr) for name in NAMES})
            adapter.stop()
    finally:
        crew.close()
    assert said[0] == said[1]
    assert all(said[0].values())
