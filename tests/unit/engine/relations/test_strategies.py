"""The strategies that patterns are measured against say the same as they do: what the reference says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from tests.properties.relations import as_case, disagreements, scenario, truth
from tests.properties.relationtruth import DuckTruth
from tests.unit.engine.relations.loom import fed
from weft.engine.relations.changing import PairingChanges
from weft.engine.relations.deduplicating import DeduplicatingAll
from weft.engine.relations.pairing import PairingLives
from weft.lang.bodies import Emission
from weft.plan.relations import Emitted
from weft.share.relations.strategy import Strategy
from weft.testing.compare import Row
from weft.testing.lives import relation_difference
from weft.testing.values import rows_of

SEEDS = range(8)


@pytest.mark.parametrize("seed", SEEDS)
def test_direct(seed: int) -> None:
    made = scenario(Random(seed), 4, 30, f"found by seed {seed}, direct")
    wrong = disagreements(made, fed(made, strategy=Strategy.DIRECT).results())
    assert not wrong, as_case(made.only(*wrong)) + "\n".join(wrong.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_negative(seed: int) -> None:
    """It does not know how long rows live, so where others tell that, it is compared when they begin."""
    made = scenario(Random(seed), 4, 30, f"found by seed {seed}, negative")
    found, known = fed(made, strategy=Strategy.NEGATIVE).results(), truth(made)
    wrong = {name: _difference(known, each, rows_of(found[name])) for name, each in made.relations.items()}
    wrong = {name: text for name, text in wrong.items() if text}
    assert not wrong, as_case(made.only(*wrong)) + "\n".join(wrong.values())


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


def _difference(known: DuckTruth, relation: Emitted, told: Sequence[Row]) -> str:
    if relation.emission is not Emission.LIVES or any(row[1] is not None for row in told):
        return relation_difference(relation, known.told(relation), told)
    begins = replace(relation, emission=Emission.ISTREAM)
    return relation_difference(begins, known.told(begins), [(row[0], *row[2:]) for row in told])
