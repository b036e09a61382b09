"""Other ways to a partition: yardsticks for the weaver, and a polish for its plan.

All of them weigh the same two things: a group costs `price` (reading the rows, or the fine slices), and its
slices are read by its windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from weft.share.weave.classes import EdgeClass
from weft.share.weave.history import Partition, places_of, woven_on
from weft.share.weave.points import Bools, Floats, Ints, Points

MOST = 15  # classes that are searched exhaustively: 3^15 pairs of sets


def all_apart(count: int) -> Partition:
    return tuple((at,) for at in range(count))


def all_together(count: int) -> Partition:
    return (tuple(range(count)),) if count else ()


def at_random(count: int, seed: int) -> Partition:
    """In random order each joins the last group, or opens one: a fair coin decides."""
    random = np.random.default_rng(seed)
    groups: list[list[int]] = []
    for at in random.permutation(count).tolist():
        if groups and random.random() < 0.5:
            groups[-1].append(at)
        else:
            groups.append([at])
    return _sorted(groups)


def exhaustive(classes: Sequence[EdgeClass], points: Points, price: float) -> tuple[Partition, float]:
    """The best partition there is, and its cost: the cost is a sum over groups, so sets are solved by size.

    best(S) = least over T, a part of S with its first class, of cost(T) + best(S without T)
    """
    count = len(classes)
    if count > MOST:
        raise ValueError(f"{count} classes have too many partitions; at most {MOST}")
    costs = price + union_rates(points, count) * _sums(np.array([one.reads for one in classes]))
    costs[0] = 0.0
    best, taken = np.zeros(1 << count), np.zeros(1 << count, np.int64)
    for chosen in range(1, 1 << count):
        first = chosen & -chosen
        parts = first | _subsets(chosen ^ first)
        totals = costs[parts] + best[chosen ^ parts]
        at = int(totals.argmin())
        best[chosen], taken[chosen] = totals[at], parts[at]
    groups, left = [], (1 << count) - 1
    while left:
        groups.append([at for at in range(count) if int(taken[left]) >> at & 1])
        left ^= int(taken[left])
    return _sorted(groups), float(best[-1])


def union_rates(points: Points, count: int) -> Floats:
    """The edge rate of every set of classes, by its bits."""
    sets = np.zeros(len(points.weights), np.int64)
    np.bitwise_or.at(sets, points.points, 1 << points.owners)
    within = np.bincount(sets, weights=points.weights, minlength=1 << count)  # points that only these have
    for bit in range(count):
        halves = within.reshape(-1, 2, 1 << bit)
        halves[:, 1] += halves[:, 0]
    everything = within[-1]
    rates: Floats = everything - within[::-1]  # what the others do not have by themselves
    return rates


def _sums(values: Floats) -> Floats:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums


def _subsets(chosen: int) -> Ints:
    """All parts of a set of bits."""
    found = np.zeros(1, np.int64)
    while chosen:
        bit = chosen & -chosen
        found, chosen = np.concatenate([found, found | bit]), chosen ^ bit
    return found


def inserted(classes: Sequence[EdgeClass], points: Points, price: float) -> Partition:
    """Insert-then-Weave: one class after the other where it costs least, then groups are merged."""
    groups = _Groups(classes, points, price)
    for at in range(len(classes)):
        groups.settle(at)
    return woven_on(classes, points, groups.partition(), price)


def moved(
    classes: Sequence[EdgeClass], points: Points, price: float, start: Partition, steps: int
) -> tuple[Partition, int]:
    """Local search: the best move of one class to another group, while it pays; and the moves made."""
    groups = _Groups(classes, points, price)
    for at, place in enumerate(places_of(start, len(classes)).tolist()):
        groups.put(at, place)
    for made in range(steps):
        if not groups.improve():
            return groups.partition(), made
    return groups.partition(), steps


class _Groups:
    """Groups that classes move between: how many of its classes have each point tells what a move changes."""

    def __init__(self, classes: Sequence[EdgeClass], points: Points, price: float) -> None:
        count = len(classes)
        self._price, self._count = price, count
        self._points, self._owners = points.points, points.owners
        self._weights = points.weights[points.points]
        self._ends = np.searchsorted(points.owners, np.arange(count + 1))
        self._class_reads = np.array([one.reads for one in classes])
        self._class_rates = np.bincount(self._owners, weights=self._weights, minlength=count)
        self._having = np.zeros((count, len(points.weights)), np.int16)  # by group and point: classes
        self._sizes = np.zeros(count, np.int64)
        self._rates, self._reads = np.zeros(count), np.zeros(count)
        self._adds = np.tile(self._class_rates[:, None], count)  # by class and group: the edges it would add
        self._place = np.full(count, -1)

    def partition(self) -> Partition:
        groups: dict[int, list[int]] = {}
        for at, place in enumerate(self._place.tolist()):
            groups.setdefault(place, []).append(at)
        return _sorted(groups.values())

    def settle(self, at: int) -> None:
        """Put a new class where it costs least."""
        self.put(at, int(self._costs(slice(at, at + 1)).argmin()))

    def put(self, at: int, place: int) -> None:
        self._change(at, place, 1)
        self._place[at] = place

    def improve(self) -> bool:
        """Make the best move; False if none pays."""
        gains = self._leaving()[:, None] - self._costs(slice(None))
        gains[np.arange(self._count), self._place] = 0.0
        at, place = (int(found) for found in np.unravel_index(gains.argmax(), gains.shape))
        if gains[at, place] <= 1e-9 * max(1.0, self._price):
            return False
        self._change(at, int(self._place[at]), -1)
        self.put(at, place)
        return True

    def _change(self, at: int, place: int, by: int) -> None:
        mine = self._points[self._ends[at] : self._ends[at + 1]]
        self._having[place, mine] += by
        self._sizes[place] += by
        self._reads[place] += by * self._class_reads[at]
        missing = self._having[place, self._points] == 0
        self._adds[:, place] = self._sum(missing)
        added = self._having[place, mine] == (1 if by > 0 else 0)
        self._rates[place] += by * self._weights[self._ends[at] : self._ends[at + 1]][added].sum()

    def _sum(self, chosen: Bools) -> Floats:
        weights = np.where(chosen, self._weights, 0.0)
        return np.bincount(self._owners, weights, self._count).astype(np.float64)

    def _costs(self, classes: slice) -> Floats:
        """By class and group: what it costs to have the class there as well."""
        together = (self._rates + self._adds[classes]) * (self._reads + self._class_reads[classes, None])
        costs: Floats = together - self._rates * self._reads + np.where(self._sizes == 0, self._price, 0.0)
        return costs

    def _leaving(self) -> Floats:
        """By class: what its group saves without it."""
        place = self._place
        alone = self._having[place[self._owners], self._points] == 1
        rates = self._rates[place] - self._sum(alone)
        reads = self._reads[place] - self._class_reads
        saved: Floats = self._rates[place] * self._reads[place] - rates * reads
        return saved + np.where(self._sizes[place] == 1, self._price, 0.0)


def _sorted(groups: Iterable[Sequence[int]]) -> Partition:
    return tuple(sorted(tuple(sorted(group)) for group in groups))
