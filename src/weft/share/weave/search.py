"""A polish for a plan: one class after the other moves to where it saves most.

What is weighed: a group costs `price` (reading the rows, or the fine slices), and its slices are read by its
windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from weft.share.weave.classes import EdgeClass
from weft.share.weave.history import Partition
from weft.share.weave.points import Floats, Ints, Points, entries_at


def moved(
    classes: Sequence[EdgeClass], points: Points, price: float, start: Partition, steps: int
) -> tuple[Partition, int]:
    """Local search: the best move of one class to another group, while it pays; and the moves made."""
    groups = Groups(classes, points, price, start, len(start) + steps)
    for made in range(steps):
        if not groups.improve():
            return groups.partition(), made
    return groups.partition(), steps


class Groups:
    """Groups that classes move between: how many of its classes have each point tells what a move changes.

    There are places for `most` groups, or for as many as there are classes.
    """

    def __init__(
        self,
        classes: Sequence[EdgeClass],
        points: Points,
        price: float,
        start: Partition = (),
        most: int | None = None,
    ) -> None:
        count = len(classes)
        places = count if most is None else min(count, most)
        self._price, self._count = price, count
        self._points, self._owners = points.points, points.owners
        self._weights = points.weights
        self._ends = np.searchsorted(points.owners, np.arange(count + 1))
        order = np.argsort(points.points, kind="stable")  # entries by point: its classes stand together
        self._having_point = points.owners[order]
        self._first = np.searchsorted(points.points[order], np.arange(len(points.weights) + 1))
        self._class_reads = np.array([one.reads for one in classes])
        self._class_rates = self._by_class(np.arange(len(points.weights)))
        self._having = np.zeros((places, len(points.weights)), np.int16)  # by group and point: classes
        self._sizes = np.zeros(places, np.int64)
        self._rates, self._reads = np.zeros(places), np.zeros(places)
        self._adds = np.tile(self._class_rates[:, None], places)  # by class and group: the edges it would add
        self._place = np.full(count, -1)
        self._begin(start)

    def _begin(self, start: Partition) -> None:
        """Put all classes of a partition where they belong, group by group."""
        for place, group in enumerate(start):
            mine = [self._points[self._ends[at] : self._ends[at + 1]] for at in group]
            held, having = np.unique(np.concatenate(mine), return_counts=True)
            self._having[place, held] = having
            self._sizes[place], self._reads[place] = len(group), self._class_reads[list(group)].sum()
            self._rates[place] = self._weights[held].sum()
            self._adds[:, place] -= self._by_class(held)
            self._place[list(group)] = place

    def partition(self) -> Partition:
        groups: dict[int, list[int]] = {}
        for at, place in enumerate(self._place.tolist()):
            groups.setdefault(place, []).append(at)
        return in_order(groups.values())

    def put(self, at: int, place: int) -> None:
        self._change(at, place, 1)
        self._place[at] = place

    def improve(self) -> bool:
        """Make the best move, the first of equals; False if none pays."""
        gains = self._leaving()[:, None] - self.costs(slice(None))
        gains[np.arange(self._count), self._place] = 0.0
        best, least = gains.max(initial=0.0), 1e-9 * max(1.0, self._price)
        if best <= least:
            return False
        at, place = divmod(int((gains >= best - least).argmax()), gains.shape[1])
        self._change(at, int(self._place[at]), -1)
        self.put(at, place)
        return True

    def _change(self, at: int, place: int, by: int) -> None:
        mine = self._points[self._ends[at] : self._ends[at + 1]]
        self._having[place, mine] += by
        self._sizes[place] += by
        self._reads[place] += by * self._class_reads[at]
        changed = mine[
            self._having[place, mine] == (1 if by > 0 else 0)
        ]  # points that it had not, or has not
        self._rates[place] += by * self._weights[changed].sum()
        self._adds[:, place] -= by * self._by_class(changed)
        if not self._sizes[place]:  # no rounding is left
            self._reads[place], self._rates[place] = 0.0, 0.0
            self._adds[:, place] = self._class_rates

    def _by_class(self, points: Ints) -> Floats:
        """By class the weight of those of the points that it has."""
        entries, lengths = entries_at(self._first, points)
        weights = np.repeat(self._weights[points], lengths)
        return np.bincount(self._having_point[entries], weights, self._count).astype(np.float64)

    def costs(self, classes: slice) -> Floats:
        """By class and group: what it costs to have the class there as well."""
        together = (self._rates + self._adds[classes]) * (self._reads + self._class_reads[classes, None])
        costs: Floats = together - self._rates * self._reads + np.where(self._sizes == 0, self._price, 0.0)
        return costs

    def _leaving(self) -> Floats:
        """By class: what its group saves without it."""
        place = self._place
        alone = self._having[place[self._owners], self._points] == 1
        owners, points = self._owners[alone], self._points[alone]
        rates = self._rates[place] - np.bincount(owners, self._weights[points], self._count)
        reads = self._reads[place] - self._class_reads
        saved: Floats = self._rates[place] * self._reads[place] - rates * reads
        return saved + np.where(self._sizes[place] == 1, self._price, 0.0)


def in_order(groups: Iterable[Sequence[int]]) -> Partition:
    """Groups of classes as a partition."""
    return tuple(sorted(tuple(sorted(group)) for group in groups))
