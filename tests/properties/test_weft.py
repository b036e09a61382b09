"""Random programs on random rows through weft on Spark: the reference's answers, however they are run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from tests.cases import first
from tests.properties.programs import STREAM, Scenario, assert_right, disagreements, run, scenario
from weft.optimize.pipeline import optimize_program
from weft.share import drafts, predicates, slicing
from weft.share.build import build
from weft.share.same import same_as
from weft.spark.replay import Replay
from weft.testing.compare import bounds, difference
from weft.testing.harness import bound
from weft.testing.values import rows_of

pytestmark = pytest.mark.spark

SEEDS = range(12)


@pytest.mark.parametrize("seed", first(6, SEEDS))
def test_weft_agrees_with_the_reference(seed: int, spark, tmp_path: Path) -> None:
    made = scenario(Random(seed), 1 + seed, 20 + 3 * seed, f"found by seed {seed}")
    with weft(spark, tmp_path) as adapter:
        wrong = disagreements(made, run(made, adapter))
    assert_right(made, wrong)


@pytest.mark.parametrize(
    ("ranging", "seed"), first(2, [(0.0, 4000), (0.7, 5000), (0.0, 4001), (0.0, 4002), (0.7, 5001)])
)
def test_conditions_that_become_keys_change_no_answer(
    ranging: float, seed: int, spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predicates, "MANY", 1)
    made = scenario(Random(seed), 20, 80, f"found by seed {seed}, all conditions keys", 0.4, ranging)
    picking = sum(bool(tap.picks) for stream in build(bound(made.text)).streams for tap in stream.taps)
    assert picking
    with weft(spark, tmp_path) as adapter:
        wrong = disagreements(made, run(made, adapter))
    assert_right(made, wrong)


@pytest.mark.parametrize("seed", first(1, SEEDS[:3]))
def test_grouping_sets_agree_with_the_reference(seed: int, spark, tmp_path: Path) -> None:
    made = scenario(Random(7000 + seed), 12, 80, f"found by seed {7000 + seed}, with sets", sets=0.8)
    assert any(tap.others for stream in build(bound(made.text)).streams for tap in stream.taps)
    with weft(spark, tmp_path) as adapter:
        wrong = disagreements(made, run(made, adapter))
    assert_right(made, wrong)


@pytest.mark.parametrize("seed", first(1, SEEDS[:3]))
def test_grouping_sets_of_groups_that_are_picked(
    seed: int, spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predicates, "MANY", 1)
    made = scenario(Random(7100 + seed), 20, 80, f"found by seed {7100 + seed}, sets, keys", 0.6, 0.8)
    taps = [tap for stream in build(bound(made.text)).streams for tap in stream.taps]
    assert any(tap.others and tap.picks for tap in taps)
    with weft(spark, tmp_path) as adapter:
        wrong = disagreements(made, run(made, adapter))
    assert_right(made, wrong)


@pytest.mark.parametrize("seed", first(1, SEEDS[:3]))
def test_slices_that_are_combined_change_no_answer(
    seed: int, spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slicing, "MOST_PAIRS", 0)
    monkeypatch.setattr(slicing, "FEWER", 0)
    made = scenario(Random(5000 + seed), 20, 80, f"found by seed {5000 + seed}, slices combined")
    assert any(stream.edges.combined for stream in build(bound(made.text)).streams)
    with weft(spark, tmp_path) as adapter:
        wrong = disagreements(made, run(made, adapter))
    assert_right(made, wrong)


@pytest.mark.parametrize("seed", first(1, SEEDS[:3]))
def test_feeds_that_no_query_asks_for_change_no_answer(
    seed: int, spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "saves", lambda *_, **__: 1.0)
    made = scenario(Random(8000 + seed), 12, 80, f"found by seed {8000 + seed}, common feeds", sets=0.3)
    assert any(feed.common for stream in build(bound(made.text)).streams for feed in stream.feeds)
    with weft(spark, tmp_path) as adapter:
        wrong = disagreements(made, run(made, adapter))
    assert_right(made, wrong)


@pytest.mark.parametrize("seed", first(1, SEEDS[:3]))
def test_queries_that_ask_the_same_are_answered_as_each_asks(
    seed: int, spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predicates, "MANY", 1)
    made = scenario(Random(5000 + seed), 10, 80, f"found by seed {5000 + seed}, said twice", 0.4, equals=12)
    plan = build(optimize_program(bound(made.text)))
    assert sum(len(same_as(stream)) for stream in plan.streams) > 5
    with weft(spark, tmp_path) as adapter:
        wrong = disagreements(made, run(made, adapter))
    assert_right(made, wrong)


@pytest.mark.parametrize("seed", first(1, SEEDS[:3]))
def test_however_the_rows_are_cut_into_batches(seed: int, spark, tmp_path: Path) -> None:
    made = scenario(Random(1000 + seed), 10, 60)
    whole = Scenario(made.name, made.declaration, made.queries, (pa.concat_tables(made.feeds),))
    with weft(spark, tmp_path / "cut") as one, weft(spark, tmp_path / "whole") as other:
        assert_same(made, run(made, one), run(whole, other))


@pytest.mark.parametrize("seed", first(1, SEEDS[:3]))
def test_shared_is_alone(seed: int, spark, tmp_path: Path) -> None:
    made = scenario(Random(2000 + seed), 8, 60)
    with weft(spark, tmp_path / "shared") as adapter:
        shared = run(made, adapter)
    for name, _ in made.queries[:4]:
        with weft(spark, tmp_path / name) as adapter:
            assert_same(made.only(name), run(made.only(name), adapter), shared)


@pytest.mark.parametrize("seed", first(1, SEEDS[:3]))
def test_restarted_is_never_stopped(seed: int, spark, tmp_path: Path) -> None:
    made = scenario(Random(3000 + seed), 8, 60)
    with weft(spark, tmp_path / "never") as adapter:
        never = run(made, adapter)
    for feed in made.feeds:
        with weft(spark, tmp_path / "again") as adapter:
            adapter.start(made.text)
            adapter.ingest(STREAM, feed)
    with weft(spark, tmp_path / "again") as adapter:
        adapter.start(made.text)
        adapter.drain(None)
        restarted = {name: adapter.results(name) for name, _ in made.queries}
    assert_same(made, restarted, never)


@contextmanager
def weft(spark, home: Path) -> Iterator[Replay]:
    adapter = Replay(spark, home)
    try:
        yield adapter
    finally:
        adapter.stop()


def assert_same(made: Scenario, one: dict[str, pa.Table], other: dict[str, pa.Table]) -> None:
    for query in bound(made.text).queries:
        rows, others = rows_of(one[query.name]), rows_of(other[query.name])
        assert not difference(rows, others, bounds(query)), query.statement
