"""Random conditions that many predicates are made of, those that fail on some rows among them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.properties.expressions import condition, equality, ranges

_FAILING = ("10 / j > 2", "CAST(u AS INT) > 1", "n % t = 0", "CAST(CAST(e AS INT) AS TINYINT) >= 0")


def conditions(rng: Random, count: int) -> list[str]:
    """So many conditions to choose from; some are null of many rows, some fail."""
    return [
        rng.choice(_FAILING)
        if rng.random() < 0.15
        else rng.choice([equality(rng), ranges(rng), condition(rng, 1)])
        for _ in range(count)
    ]


def conjunction(rng: Random, pool: Sequence[str]) -> str:
    """Some of the conditions, in any order."""
    return " AND ".join(f"({one})" for one in rng.sample(pool, rng.randint(1, min(4, len(pool)))))
