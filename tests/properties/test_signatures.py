"""Random conjunctions of a few conditions, picked by signatures: the reference's answers, however run."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import pytest

from tests.cases import first
from tests.properties.programs import STREAM, Scenario, assert_right, disagreements, run, scenario
from tests.properties.test_weft import assert_same, weft
from weft.kernels.picks import HasAll
from weft.optimize.pipeline import optimize_program
from weft.share import predicates
from weft.share.build import build
from weft.share.model import treatment
from weft.testing.harness import bound

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def signatures_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever can be picked by a signature is."""
    monkeypatch.setattr(treatment, "_saved", lambda rests, facts: float(len(rests)))
    monkeypatch.setattr(treatment.Facts, "room", math.inf)


def picking(made: Scenario) -> int:
    """How many queries pick by a signature."""
    plan = build(optimize_program(bound(made.text)))
    taps = [tap for stream in plan.streams for tap in stream.taps]
    return sum(any(isinstance(pick, HasAll) for pick in tap.picks) for tap in taps)


def check(made: Scenario, spark, home: Path) -> None:
    assert picking(made) > 5
    with weft(spark, home) as adapter:
        wrong = disagreements(made, run(made, adapter))
    assert_right(made, wrong)


@pytest.mark.parametrize("seed", first(1, range(8000, 8004)))
def test_conjunctions_agree_with_the_reference(seed: int, spark, tmp_path: Path) -> None:
    check(scenario(Random(seed), 20, 80, f"found by seed {seed}, signatures", pool=7), spark, tmp_path)


@pytest.mark.parametrize("seed", first(0, range(8100, 8103)))
def test_conjunctions_beside_other_keys_and_grouping_sets(
    seed: int, spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predicates, "MANY", 1)
    made = scenario(
        Random(seed), 24, 80, f"found by seed {seed}, signatures and keys", 0.3, 0.3, ranging=0.3, pool=5
    )
    check(made, spark, tmp_path)


@pytest.mark.parametrize("seed", first(1, range(8200, 8202)))
def test_restarted_is_never_stopped(seed: int, spark, tmp_path: Path) -> None:
    made = scenario(Random(seed), 12, 60, pool=6)
    assert picking(made)
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
