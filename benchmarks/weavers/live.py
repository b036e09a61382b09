"""A weave that queries join and leave, in milliseconds; now and then it is woven anew.

A query joins the group where that saves most, or opens one; then, and when one has left, the changed group
is merged with others as long as that pays. A group is never split, so the plan drifts from the one that
weaving from scratch would find. The thesis rebuilds when the cost exceeds a line drawn through earlier
rebuilds; the cost of a fresh plan grows less than linearly, so that line is too high and hardly ever fires.
What works is to weave anew whenever the number of queries has changed by a quarter.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from benchmarks.weavers.costs import Group
from weft.lang.statements import WindowSpec
from weft.share.slicing import Pair, pairs_of
from weft.share.weave.classes import EdgeClass
from weft.share.weave.points import probes_of
from weft.times import SECOND

GROWTH = 0.25  # of the queries, since it was last woven
WARM = 50  # so few queries are woven anew whenever one comes or goes: it takes no time

Pairs = tuple[Pair, ...]
Name = Hashable


@dataclass(slots=True)
class _Class:
    """The queries of one edge class in a group, each with its reads."""

    queries: dict[Name, float] = field(default_factory=dict)

    @property
    def reads(self) -> float:
        return sum(self.queries.values())


@dataclass(slots=True)
class _Live:
    """A group: its classes, its rate, and how often each of its slices is read."""

    classes: dict[Pairs, _Class]
    rate: float
    reads: float

    @property
    def reading(self) -> float:
        return self.rate * self.reads


Weaver = Callable[[list[EdgeClass], float], Iterable[tuple[int, ...]]]  # classes and price -> groups of them


class LiveWeave:
    """Groups of queries, of which each costs `price` and the reading of its slices."""

    def __init__(self, price: float) -> None:
        self.price = price
        self._groups: list[_Live] = []
        self._of: dict[Name, tuple[_Live, Pairs]] = {}
        self._woven = 0  # how many queries there were when it was last woven

    def __len__(self) -> int:
        return len(self._of)

    @property
    def cost(self) -> float:
        return sum(self.price + group.reading for group in self._groups)

    @property
    def is_stale(self) -> bool:
        """Is it time to weave anew?"""
        return len(self) <= WARM or abs(len(self) - self._woven) > GROWTH * self._woven

    def partition(self) -> list[list[Name]]:
        """The queries of each group."""
        return [[name for one in group.classes.values() for name in one.queries] for group in self._groups]

    def groups(self) -> list[Group]:
        """Rates and reads of the groups."""
        return [Group((), group.rate, group.reads) for group in self._groups]

    def add(self, name: Name, window: WindowSpec, reads: float) -> None:
        """Take in a query."""
        pairs = tuple(sorted(pairs_of(window)))
        known = next((group for group in self._groups if pairs in group.classes), None)
        if known is not None:  # its edges are there: nowhere else can it cost less
            known.classes[pairs].queries[name] = reads
            known.reads += reads
            self._of[name] = known, pairs
            return
        fresh = _Live({pairs: _Class({name: reads})}, sum(SECOND / slide for slide, _ in pairs), reads)
        self._groups.append(fresh)
        self._of[name] = fresh, pairs
        self._merge(fresh)

    def remove(self, name: Name) -> None:
        """Let a query go."""
        group, pairs = self._of.pop(name)
        group.reads -= group.classes[pairs].queries.pop(name)
        if not group.classes[pairs].queries:
            del group.classes[pairs]
            if not group.classes:
                self._groups.remove(group)
                return
            group.rate = probes_of(list(group.classes), ()).rate
        self._merge(group)

    def rewoven(self, weave: Weaver) -> LiveWeave:
        """The same queries woven from scratch; itself, if that is no cheaper."""
        classes: dict[Pairs, _Class] = {}
        for group in self._groups:
            for pairs, one in group.classes.items():
                classes[pairs] = one
        order = list(classes)
        wanted = [EdgeClass(pairs, (), classes[pairs].reads) for pairs in order]
        fresh = LiveWeave(self.price)
        for members in weave(wanted, self.price):
            fresh._open({order[at]: _Class(dict(classes[order[at]].queries)) for at in members})
        better = fresh if fresh.cost < self.cost else self
        better._woven = len(self)
        return better

    def _open(self, classes: dict[Pairs, _Class]) -> None:
        group = _Live(classes, probes_of(list(classes), ()).rate, sum(one.reads for one in classes.values()))
        self._groups.append(group)
        self._of |= {name: (group, pairs) for pairs, one in classes.items() for name in one.queries}

    def _merge(self, changed: _Live) -> None:
        """Merge the changed group with others, always where that saves most."""
        while True:
            others = [group for group in self._groups if group is not changed]
            probes = probes_of(list(changed.classes), (pairs for group in others for pairs in group.classes))
            common = [min(probes.common(group.classes), changed.rate, group.rate) for group in others]
            unions = [changed.rate + group.rate - both for group, both in zip(others, common, strict=True)]
            saved = [
                self.price + changed.reading + group.reading - union * (changed.reads + group.reads)
                for union, group in zip(unions, others, strict=True)
            ]
            best = max(range(len(others)), key=saved.__getitem__, default=None)
            if best is None or saved[best] <= 1e-12 * self.price:
                return
            self._join(changed, others[best], unions[best])

    def _join(self, changed: _Live, other: _Live, rate: float) -> None:
        for pairs, one in other.classes.items():
            changed.classes[pairs] = one
            self._of |= dict.fromkeys(one.queries, (changed, pairs))
        changed.rate, changed.reads = rate, changed.reads + other.reads
        self._groups.remove(other)
