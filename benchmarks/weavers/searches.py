"""Other ways to a partition, from none to the best there is.

All of them weigh the same two things: a group costs `price` (reading the rows, or the fine slices), and its
slices are read by its windows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.share.weave.classes import EdgeClass
from weft.share.weave.history import Partition, Table
from weft.share.weave.points import Floats, Ints, Points
from weft.share.weave.search import Groups, in_order

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
    return in_order(groups)


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
    return in_order(groups), float(best[-1])


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
    groups = Groups(classes, points, price)
    for at in range(len(classes)):
        groups.put(at, int(groups.costs(slice(at, at + 1)).argmin()))
    return _woven_on(classes, points, groups.partition(), price)


def _woven_on(classes: Sequence[EdgeClass], points: Points, start: Partition, saved: float) -> Partition:
    """Merge the groups of a partition for as long as a merge costs less than it saves."""
    table = Table(classes, points)
    groups = {group[0]: list(group) for group in start}
    for first, *others in start:
        for other in others:
            table.join(first, other)
    while len(groups) > 1 and table.least() < saved:
        merge = table.merge()
        groups[merge.kept] += groups.pop(merge.gone)
    return tuple(sorted(tuple(sorted(group)) for group in groups.values()))
