"""Where join windows are cut, so that queries that join the same streams share what is held.

State-slice chains (Wang, Rundensteiner, Ganguly, Bhatnagar, VLDB 2006): what is held is cut by age, a row is
in one link at a time, and moves on when it is too old for it; a query reads the links up to its window.

    windows    1 s   2 s                10 s
    links      [0,1) [1,2) [2 . . . . . 10)       Mem-Opt: a cut at every window, least rows held
    links      [0 . . . 2) [2 . . . . . 10)       CPU-Opt: merged where routing is cheaper than a link

A row enters a link only if some query with a window beyond the link's start wants it. Where this departs
from the paper: a link that is merged away saves one operator, so that the cost of a chain is the sum of its
links'; conditions that are the same are tested once; links are half-open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import ceil, log2, prod

from weft.times import SECOND, Duration


@dataclass(frozen=True, slots=True)
class Condition:
    """What a query asks of the rows of one side; `part` of them meet it. Equal texts are one condition."""

    text: str
    part: float


@dataclass(frozen=True, slots=True)
class Reader:
    """A query that reads a chain: its window on both sides, and what it asks of the rows of each."""

    window: Duration
    left: Condition | None = None
    right: Condition | None = None


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Rows a second on either side, and which part of the pairs that are compared match."""

    left: float
    right: float
    match: float


class Fan(StrEnum):
    """How the tests of one result grow with the windows that end inside a link."""

    LINEAR = "linear"
    LOGARITHMIC = "logarithmic"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class ChainConstants:
    """What a unit of work costs; as they stand, comparisons in nested loops, as the paper counts them."""

    purge: float = 1.0  # to find what is too old, for each row at each link
    compare: float = 1.0  # for each pair that is looked at; 0 where matches are looked up
    lookup: float = 0.0  # in a hash table, for each row at each link
    halving: float = 0.0  # of a sorted run, for each row at each link
    match: float = 0.0  # for each pair that matches
    route: float = 1.0  # for each test of a pair that matches
    test: float = 1.0  # of a row at the boundary of two links
    operator: float = 0.0  # for each row at each link: C_sys
    call: float = 0.0  # for each link, a second: what a batch costs, over how often there is one
    fan: Fan = Fan.LINEAR


@dataclass(frozen=True, slots=True)
class Chain:
    """Links that follow each other, by their ends."""

    ends: tuple[Duration, ...]

    @property
    def links(self) -> tuple[tuple[Duration, Duration], ...]:
        return tuple(pairwise((0, *self.ends)))

    def __str__(self) -> str:
        return " ".join(f"[{start / SECOND:g},{end / SECOND:g})" for start, end in self.links)


class Chained:
    """Queries of one chain: what each possible link holds and costs."""

    def __init__(
        self, readers: Iterable[Reader], arrivals: Arrivals, constants: ChainConstants | None = None
    ) -> None:
        self.readers = tuple(readers)
        self.arrivals = arrivals
        self.constants = constants or ChainConstants()
        self.windows = tuple(sorted({reader.window for reader in self.readers}))
        if not self.windows or self.windows[0] <= 0:
            raise ValueError("a chain needs windows, each longer than nothing")

    def entering(self, start: Duration) -> tuple[float, float]:
        """Rows a second of either side that get as far as `start`: those wanted by a longer window."""
        beyond = self._beyond(start)
        left = self.arrivals.left * _wanted([reader.left for reader in beyond])
        return left, self.arrivals.right * _wanted([reader.right for reader in beyond])

    def held(self, start: Duration, end: Duration) -> float:
        """Rows that a link holds."""
        return sum(self.entering(start)) * (end - start) / SECOND

    def tests(self, start: Duration, end: Duration) -> int:
        """Tests of one result of a link: windows that end inside it, and conditions its rows may not meet."""
        inside = sum(start < window < end for window in self.windows)
        beyond = self._beyond(start)
        asked = {(reader.left, reader.right) for reader in beyond}
        met = _single(reader.left for reader in beyond), _single(reader.right for reader in beyond)
        unmet = sum(
            any(one not in (None, sure) for one, sure in zip(pair, met, strict=True)) for pair in asked
        )
        return _fanned(inside, self.constants.fan) + unmet

    def cost(self, start: Duration, end: Duration) -> float:
        """What a link costs a second, with the tests of the rows that go on to the next."""
        left, right = self.entering(start)
        each, seconds = self.constants, (end - start) / SECOND
        rows = (left + right) * (each.purge + each.lookup + each.operator) + each.call
        rows += each.halving * (left * log2(1 + right * seconds) + right * log2(1 + left * seconds))
        pairs = 2 * left * right * seconds
        routed = each.match + each.route * self.tests(start, end)
        return rows + pairs * (each.compare + self.arrivals.match * routed) + self._tested(start, end)

    def cost_of(self, chain: Chain) -> float:
        return sum(self.cost(start, end) for start, end in chain.links)

    def _beyond(self, start: Duration) -> list[Reader]:
        return [reader for reader in self.readers if reader.window > start]

    def _tested(self, start: Duration, end: Duration) -> float:
        if end == self.windows[-1]:
            return 0.0
        left, right = self.entering(start)
        rows = left * any(reader.left for reader in self.readers)
        return self.constants.test * (rows + right * any(reader.right for reader in self.readers))


def mem_opt(chained: Chained) -> Chain:
    """A cut at every window: no chain holds fewer rows."""
    return Chain(chained.windows)


def cpu_opt(chained: Chained) -> Chain:
    """The cheapest chain, a shortest path from 0 to the longest window; of equals that with more links."""
    stops = (0, *chained.windows)
    best: list[tuple[float, int]] = [(0.0, 0)]  # cost, and minus the links
    came: list[int] = [0]
    for at in range(1, len(stops)):
        ways = [
            (best[start][0] + chained.cost(stops[start], stops[at]), best[start][1] - 1, start)
            for start in range(at)
        ]
        cost, links, start = _least(ways)
        best.append((cost, links))
        came.append(start)
    return Chain(tuple(stops[at] for at in _walked(came)))


def _wanted(conditions: Sequence[Condition | None]) -> float:
    """Which part of the rows meets one of the conditions, as if they had nothing to do with each other."""
    if None in conditions:
        return 1.0
    parts = {one.text: one.part for one in conditions if one is not None}
    return 1.0 - prod(1.0 - part for part in parts.values())


def _single(conditions: Iterable[Condition | None]) -> Condition | None:
    """The one condition that all have, which every row that gets so far meets."""
    found = set(conditions)
    return found.pop() if len(found) == 1 else None


def _fanned(inside: int, fan: Fan) -> int:
    match fan:
        case Fan.LINEAR:
            return inside
        case Fan.LOGARITHMIC:
            return ceil(log2(inside + 1))
        case Fan.CONSTANT:
            return min(inside, 1)


def _least(ways: Sequence[tuple[float, int, int]]) -> tuple[float, int, int]:
    """The cheapest; sums of costs in another order differ in the last bits, and are as good as equal."""
    cheapest = min(cost for cost, _, _ in ways)
    return min((way for way in ways if way[0] <= cheapest * (1 + 1e-12)), key=lambda way: (way[1], way[0]))


def _walked(came: Sequence[int]) -> list[int]:
    path, at = [], len(came) - 1
    while at:
        path.append(at)
        at = came[at]
    return path[::-1]
