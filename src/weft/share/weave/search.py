"""A polish for a plan: one class after the other moves to where it saves most.

What is weighed: a group costs `price` (reading the rows, or the fine slices), and its slices are read by its
windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from weft.share.weave.classes import EdgeClass
from weft.share.weave.history import Partition, places_of
from weft.share.weave.points import Bools, Floats, Points


def moved(
    classes: Sequence[EdgeClass], points: Points, price: float, start: Partition, steps: int
) -> tuple[Partition, int]:
    """Local search: the best move of one class to another group, while it pays; and the moves made."""
    groups = Groups(classes, points, price)
    for at, place in enumerate(places_of(start, len(classes)).tolist()):
        groups.put(at, place)
    for made in range(steps):
        if not groups.improve():
            return groups.partition(), made
    return groups.partition(), steps


class Groups:
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
        return in_order(groups.values())

    def put(self, at: int, place: int) -> None:
        self._change(at, place, 1)
        self._place[at] = place

    def improve(self) -> bool:
        """Make the best move; False if none pays."""
        gains = self._leaving()[:, None] - self.costs(slice(None))
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

    def costs(self, classes: slice) -> Floats:
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


def in_order(groups: Iterable[Sequence[int]]) -> Partition:
    """Groups of classes as a partition."""
    return tuple(sorted(tuple(sorted(group)) for group in groups))
