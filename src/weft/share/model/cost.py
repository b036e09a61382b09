"""CPU-seconds per second of stream, by level: what a plan, or each of its queries, takes.

A cost is kept as a sum by level; what is done once for several queries is split evenly among them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt


class Level(StrEnum):
    READ = "read rows"
    AGGREGATE = "sub-aggregate"
    FOLD = "fold cells"
    FINAL = "answer windows"
    OUTPUT = "write answers"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class Charge:
    """Work done once for all its users."""

    level: Level
    seconds: float
    users: Sequence[str]


@dataclass(frozen=True, slots=True)
class Own:
    """Work that each of its users has done for itself."""

    level: Level
    each: npt.NDArray[np.float64]
    users: Sequence[str]

    @property
    def seconds(self) -> float:
        return float(self.each.sum())


@dataclass(frozen=True, slots=True)
class Cost:
    """What a plan takes, and which part of it each query is answerable for."""

    levels: Mapping[Level, float] = field(default_factory=dict)
    queries: Mapping[str, Mapping[Level, float]] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return sum(self.levels.values())

    def of(self, query: str) -> float:
        return sum(self.queries.get(query, {}).values())


def summed(charges: Iterable[Charge | Own]) -> Cost:
    """Charges added up, by level and by query."""
    charges = list(charges)
    queries: dict[str, dict[Level, float]] = defaultdict(lambda: dict.fromkeys(Level, 0.0))
    for charge in charges:
        if isinstance(charge, Own):
            for user, seconds in zip(charge.users, charge.each.tolist(), strict=True):
                queries[user][charge.level] += seconds
        else:
            for user in charge.users:
                queries[user][charge.level] += charge.seconds / len(charge.users)
    return Cost(by_level(charges), dict(queries))


def by_level(charges: Iterable[Charge | Own]) -> dict[Level, float]:
    """Charges added up by level."""
    levels: dict[Level, float] = dict.fromkeys(Level, 0.0)
    for charge in charges:
        levels[charge.level] += charge.seconds
    return levels


def added(costs: Iterable[Cost]) -> Cost:
    """Several costs as one."""
    levels: dict[Level, float] = dict.fromkeys(Level, 0.0)
    queries: dict[str, dict[Level, float]] = defaultdict(lambda: dict.fromkeys(Level, 0.0))
    for cost in costs:
        for level, seconds in cost.levels.items():
            levels[level] += seconds
        for name, mine in cost.queries.items():
            for level, seconds in mine.items():
                queries[name][level] += seconds
    return Cost(levels, dict(queries))
