"""The strategies that patterns are measured against say the same as they do: what the reference says."""

from __future__ import annotations

from random import Random

import pytest

from tests.properties.relations import assert_right, disagreements, scenario
from tests.properties.relationsizes import EVERYTHING
from tests.unit.engine.relations.loom import fed
from weft.engine.relations.changing import PairingChanges
from weft.engine.relations.deduplicating import DeduplicatingAll
from weft.engine.relations.pairing import PairingLives
from weft.share.relations.strategy import Strategy

SEEDS = range(8)


@pytest.mark.parametrize("seed", SEEDS)
def test_direct(seed: int) -> None:
    made = scenario(Random(seed), 4, 30, f"found by seed {seed}, direct")
    wrong = disagreements(made, fed(made, strategy=Strategy.DIRECT).results())
    assert_right(made, wrong)


@pytest.mark.parametrize("seed", SEEDS)
def test_negative(seed: int) -> None:
    """It does not know how long rows live, so where others tell that, it is compared when they begin."""
    made = scenario(Random(seed), 4, 30, f"found by seed {seed}, negative")
    wrong = disagreements(made, fed(made, strategy=Strategy.NEGATIVE).results(), lives=False)
    assert_right(made, wrong)


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_all_that_can_be_asked(seed: int, strategy: Strategy) -> None:
    made = scenario(Random(7000 + seed), 6, 20, f"found by seed {7000 + seed}, {strategy}", EVERYTHING)
    told = fed(made, strategy=strategy).results()
    wrong = disagreements(made, told, lives=strategy is not Strategy.NEGATIVE)
    assert_right(made, wrong)


def test_each_has_operators_of_its_own() -> None:
    made = [scenario(Random(seed), 4, 4) for seed in SEEDS]
    used = {
        strategy: {
            type(node.operator)
            for each in made
            for node in fed(each, strategy=strategy).relations.graph.nodes()
        }
        for strategy in Strategy
    }
    assert DeduplicatingAll in used[Strategy.DIRECT] - used[Strategy.PATTERNS] - used[Strategy.NEGATIVE]
    assert PairingLives in used[Strategy.DIRECT]
    assert PairingChanges in used[Strategy.NEGATIVE]
