"""In which order a new row looks at the windows of the other streams, where several are joined on one column.

Golab (2006), chapter 5: comparisons a second, values spread evenly, the smaller set of values within the
larger. In the order S1, S2, S3, S4 a row of S3 looks at S1, then S2, then S4; nothing in between is kept.

Where this departs from the thesis: `cost` is its four formulas in general; hashed windows are looked at by
the bucket, but what is found in them is the same, so the smallest bucket is not always best first; a stream
is fast if it brings more rows than the average, which the thesis leaves open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

Order = tuple[int, ...]

MOST = 8  # streams whose orders can all be tried: 40,320 of them
FEW = 6  # streams whose orders are all tried without being asked to: 720


@dataclass(frozen=True, slots=True)
class Side:
    """One of the streams: rows a second, how long they are held, values of the column, buckets if hashed."""

    rate: float
    seconds: float
    values: float
    buckets: float = 1.0

    @property
    def held(self) -> float:
        return self.rate * self.seconds

    @property
    def looked_at(self) -> float:
        return self.held / self.buckets


def cost(order: Order, sides: Sequence[Side]) -> float:
    """Comparisons a second, over the new rows of all streams."""
    return sum(cost_from(first, order, sides) for first in order)


def cost_from(first: int, order: Order, sides: Sequence[Side]) -> float:
    """Comparisons a second that new rows of one stream make."""
    each, found, values = 0.0, 1.0, sides[first].values
    for other in (sides[at] for at in order if at != first):
        each += found * other.looked_at
        found *= other.held / max(values, other.values)
        values = min(values, other.values)
    return sides[first].rate * each


def pairs_held(one: Side, other: Side) -> float:
    """How many pairs of rows of two windows match."""
    return one.held * other.held / max(one.values, other.values)


def first_order(sides: Sequence[Side]) -> Order:
    """Streams as they appear in the pairs, those with the fewest matches first; a shorter scan goes ahead."""
    pairs = sorted(
        combinations(range(len(sides)), 2),
        key=lambda pair: (pairs_held(sides[pair[0]], sides[pair[1]]), pair),
    )
    return tuple(dict.fromkeys(at for pair in pairs for at in pair)) or tuple(range(len(sides)))


def candidates(sides: Sequence[Side]) -> set[Order]:
    """The first order, and those with fast streams moved up: about n^f of them for f fast streams."""
    start = first_order(sides)
    mean = sum(side.rate for side in sides) / len(sides)
    found = {start}
    for at in (at for at in start if sides[at].rate > mean):
        found |= {moved for order in found for moved in _moved_up(order, at)}
    return found


def best_order(sides: Sequence[Side]) -> Order:
    """The cheapest order there is for a few streams, the cheapest candidate for many."""
    return exhaustive(sides) if len(sides) <= FEW else choose_order(sides)


def choose_order(sides: Sequence[Side]) -> Order:
    """The cheapest of the candidates; of equal ones the first by number."""
    return min(candidates(sides), key=lambda order: (cost(order, sides), order))


def exhaustive(sides: Sequence[Side]) -> Order:
    """The cheapest order there is, by trying all."""
    if len(sides) > MOST:
        raise ValueError(f"{len(sides)} streams have too many orders; at most {MOST}")
    return min(permutations(range(len(sides))), key=lambda order: (cost(order, sides), order))


def reorder_pays(current: float, best: float, switch: float, horizon: float) -> bool:
    """Is what another order saves over the next `horizon` seconds more than what it costs to change to it?"""
    return (current - best) * horizon > switch


def _moved_up(order: Order, at: int) -> Iterator[Order]:
    rest = tuple(one for one in order if one != at)
    for place in range(order.index(at) + 1):
        yield (*rest[:place], at, *rest[place:])
