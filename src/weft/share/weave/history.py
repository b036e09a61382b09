"""Weave Share as one history of merges, which serves every input rate.

    a . . . . . . . .+-- abef      Each merge takes the two groups whose union raises the reading of slices
    b . . . . .+-bef-+             least (its *penalty*). Which two that are depends on no rate: only how far
    e .+-- ef -+                   merging pays does, so a plan for a rate is the history cut somewhere.
    f .+

Guirguis, "Scalable Processing of Multiple Aggregate Continuous Queries", algorithms 1 and 3. Departures: one
run instead of one for each rate; the best cut instead of the first merge that does not pay, so that the plan
is never worse than sharing nothing or everything; classes of queries instead of queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.share.weave.classes import EdgeClass
from weft.share.weave.points import Floats, Ints, Points, common_rates, entries_at

Partition = tuple[tuple[int, ...], ...]  # of classes into groups, each sorted; sorted


@dataclass(frozen=True, slots=True)
class Merge:
    """`gone` goes into `kept`, both named by their least class; reading slices costs `penalty` more."""

    kept: int
    gone: int
    penalty: float


@dataclass(frozen=True, slots=True)
class History:
    """All merges of `classes` classes, from each by itself to all in one."""

    classes: int
    alone: float  # what reading slices costs if each class is by itself
    merges: tuple[Merge, ...]

    def best_cut(self, saved: float) -> int:
        """How many merges to make if each saves so much: the number at which the sum is least."""
        totals = np.cumsum([merge.penalty - saved for merge in self.merges])
        if not len(totals):
            return 0
        best = int(np.argmin(totals))
        return best + 1 if totals[best] < -_LEAST * max(1.0, self.alone) else 0

    def partition(self, cut: int) -> Partition:
        """The groups after so many merges."""
        groups = {at: [at] for at in range(self.classes)}
        for merge in self.merges[:cut]:
            groups[merge.kept] += groups.pop(merge.gone)
        return tuple(sorted(tuple(sorted(group)) for group in groups.values()))

    def reading(self, cut: int) -> float:
        """What reading slices costs after so many merges."""
        return self.alone + sum(merge.penalty for merge in self.merges[:cut])


_ROOM = 0.2  # of the rows may be of groups that are gone
_LEAST = 1e-12  # of what is there: less is no gain, but rounding


def history_of(classes: Sequence[EdgeClass], points: Points) -> History:
    """Merge until all are one: always the two groups with the least penalty, the first of equals."""
    if not classes:
        return History(0, 0.0, ())
    table = Table(classes, points)
    alone = float(table.rates @ table.reads)
    merges = [table.merge() for _ in range(len(classes) - 1)]
    return History(len(classes), alone, tuple(merges))


class Table:
    """Penalties of all pairs of groups, with the least of each row; after a merge one row is made anew.

    Groups are known by their rows. Rows of groups that are gone are taken out when there are many.
    """

    def __init__(self, classes: Sequence[EdgeClass], points: Points) -> None:
        self._names = np.arange(len(classes))  # of each row, its group by its least class
        self._gone = 0
        self.rates = np.array([one.rate for one in classes])
        self.reads = np.array([one.reads for one in classes])
        self._common = common_rates(classes)  # edges a second that two groups both have
        self._edges = _Edges(points, len(classes))
        self._penalties = self._penalty(self.rates[:, None], self.reads[:, None], self._common)
        np.fill_diagonal(self._penalties, np.inf)
        self._least = self._penalties.argmin(axis=1)
        self._values = self._penalties[np.arange(len(classes)), self._least]

    def _penalty(self, rates: Floats, reads: Floats, common: Floats) -> Floats:
        """What each union costs more than its two parts."""
        together = (rates + self.rates - common) * (reads + self.reads)
        penalty: Floats = together - rates * reads - self.rates * self.reads
        return penalty

    def least(self) -> float:
        """The penalty of the next merge."""
        return float(self._values.min())

    def merge(self) -> Merge:
        """Make the merge that costs least."""
        best = int(self._values.argmin())
        kept, gone = sorted((best, int(self._least[best])))
        made = Merge(int(self._names[kept]), int(self._names[gone]), float(self._values[best]))
        self.join(kept, gone)
        if self._gone > _ROOM * len(self._names):
            self._close_up()
        return made

    def join(self, kept: int, gone: int) -> None:
        """Merge these two."""
        common, names = self._common, self._names
        is_base, more = self._edges.merge(int(names[kept]), int(names[gone]))
        union = common[kept if is_base else gone] + more[names]
        self.rates[kept] += self.rates[gone] - common[kept, gone]
        self.reads[kept] += self.reads[gone]
        np.maximum(union, np.maximum(common[kept], common[gone]), out=union)
        np.minimum(union, np.minimum(self.rates, self.rates[kept]), out=union)  # a sample may say more
        common[kept], common[:, kept] = union, union
        self._renew(kept, gone)
        self._gone += 1

    def _close_up(self) -> None:
        """Take out the rows and columns of groups that are gone; those that stay keep their order."""
        stay = np.flatnonzero(np.isfinite(self._values))
        if len(stay) < 2:  # one group is all: it has no other to merge with
            return
        self._names, self.rates, self.reads = self._names[stay], self.rates[stay], self.reads[stay]
        self._common = self._common[np.ix_(stay, stay)]
        self._penalties = self._penalties[np.ix_(stay, stay)]
        self._least, self._values = np.searchsorted(stay, self._least[stay]), self._values[stay]
        self._gone = 0

    def _renew(self, kept: int, gone: int) -> None:
        """The penalties of a group that has grown, and the least of every row."""
        table = self._penalties
        row = self._penalty(self.rates[kept], self.reads[kept], self._common[kept])
        row[np.isinf(table[kept])] = np.inf  # itself, and those that are gone
        row[gone] = np.inf
        table[kept], table[:, kept] = row, row
        table[gone], table[:, gone] = np.inf, np.inf
        better = (row < self._values) | (row == self._values) & (kept < self._least)
        self._values[better], self._least[better] = row[better], kept
        stale = (self._least == gone) | (self._least == kept) & ~better
        stale[[kept, gone]] = True
        self._least[stale] = table[stale].argmin(axis=1)
        self._values[stale] = table[stale, self._least[stale]]


class _Edges:
    """Which group has which points, while groups become fewer; of two, those of the smaller are looked at."""

    def __init__(self, points: Points, count: int) -> None:
        order = np.argsort(points.points, kind="stable")  # entries by point: its groups stand together
        self._points, self._owners = points.points[order], points.owners[order]
        self._counts = points.weights[self._points]  # 0 where its group has the point already
        self._first = np.searchsorted(self._points, np.arange(len(points.weights) + 1))
        by_owner = np.argsort(self._owners, kind="stable")
        ends = np.searchsorted(self._owners[by_owner], np.arange(count), side="right")
        self._entries = np.split(by_owner, ends[:-1])
        self._held = np.zeros(len(points.weights), bool)  # scratch

    def merge(self, kept: int, gone: int) -> tuple[bool, Floats]:
        """Is `kept` the larger, and what do the points that only the smaller has add to common rates?"""
        small, base = sorted((kept, gone), key=lambda group: len(self._entries[group]))
        mine, theirs = self._entries[small], self._entries[base]
        self._held[self._points[theirs]] = True
        twice = self._held[self._points[mine]]
        self._held[self._points[theirs]] = False
        new = mine[~twice]
        added = self._groups_at(self._points[new])
        self._counts[mine[twice]] = 0.0
        self._owners[mine], self._owners[theirs] = kept, kept
        self._entries[gone] = mine[:0]
        self._entries[kept] = np.concatenate([theirs, new])
        return base == kept, added

    def _groups_at(self, points: Ints) -> Floats:
        """For every group the weight of those of the points that it has."""
        entries, _ = entries_at(self._first, points)
        counts = self._counts[entries]
        return np.bincount(self._owners[entries], counts, len(self._entries)).astype(np.float64)
