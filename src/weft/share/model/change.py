"""From which rate, or number of groups, on another way to share would cost less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weft.share.model.load import Load
from weft.share.model.plans import SHARED, Way, Ways

STEPS = 4  # halvings between two looks


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Another way costs less when there are so many `what`, or beyond."""

    what: str  # rows | groups
    at: float
    way: Way


def break_evens(ways: Ways, load: Load) -> list[BreakEven]:
    """The nearest number of rows a second, fewer or more, and of groups, at which another way wins."""
    looks: list[tuple[str, Callable[[float], Load], float, tuple[float, ...]]] = [
        ("rows", load.with_rows, load.rows, (10.0, 100.0, 1000.0)),
        ("rows", load.with_rows, load.rows, (0.1, 0.01, 0.001)),
        ("groups", load.with_groups, load.groups, (10.0, 100.0, 1000.0, 10_000.0)),
    ]
    found = (_break_even(ways, *look) for look in looks)
    return [one for one in found if one is not None]


def _break_even(
    ways: Ways, what: str, changed: Callable[[float], Load], now: float, factors: tuple[float, ...]
) -> BreakEven | None:
    near = now
    for factor in factors:
        better = _better(ways, changed(now * factor))
        if better is not None:
            return _between(ways, what, changed, near, now * factor, better)
        near = now * factor
    return None


def _between(
    ways: Ways, what: str, changed: Callable[[float], Load], near: float, far: float, way: Way
) -> BreakEven:
    """It lies between `near` and `far`: where, to about a tenth."""
    for _ in range(STEPS):
        middle = (near * far) ** 0.5
        better = _better(ways, changed(middle))
        if better is None:
            near = middle
        else:
            far, way = middle, better
    return BreakEven(what, far, way)


def _better(ways: Ways, load: Load) -> Way | None:
    """The way that costs clearly less than what weft does; None: there is none."""
    best = ways.chosen(load)
    return None if best.name == SHARED else best
