"""Groups of queries to choose from: some cuts of the history of merges, and what a polish makes of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, cached_property

from weft.share.model.price import Priced
from weft.share.model.subplans import some_taps
from weft.share.nodes import Edges, Rate, StreamPlan
from weft.share.slicing import MOST_PAIRS, cut, overlap
from weft.share.weave.classes import edge_classes
from weft.share.weave.history import History, Partition, history_of
from weft.share.weave.points import Points, points_of
from weft.share.weave.rates import rate_of
from weft.share.weave.search import moved

CUTS = 12  # of the history that are looked at
MOVES = 32  # of a class to another group, in a polish


class Groupings:
    """Of the queries of one plan, into two groups or more. Nothing of it depends on the load."""

    def __init__(self, plan: StreamPlan, priced: Callable[[StreamPlan], Priced]) -> None:
        windows = [tap.window for tap in plan.taps]
        self._plan, self._priced = plan, priced
        self._classes = edge_classes(windows, [float(overlap(window)) for window in windows])
        self.of = cache(self._of)
        self.polished = cache(self._polished)

    @property
    def counts(self) -> list[int]:
        """Numbers of groups to look at, from two on, closer together where they are few."""
        most = len(self._classes)
        return sorted({max(2, round(most ** (at / (CUTS - 1)))) for at in range(CUTS)}) if most > 1 else []

    def _of(self, count: int) -> tuple[Priced, ...]:
        """So many groups, as the history has them."""
        return self._groups(self._history.partition(self._after(count)))

    def _polished(self, count: int) -> tuple[Priced, ...]:
        """So many, moved about: one class after the other, while the thesis's cost becomes less.

        A group's price is what makes this cut of the history the best: between the penalties of the merge
        before and of the one after it.
        """
        at, merges = self._after(count), self._history.merges
        around = [merge.penalty for merge in merges[max(0, at - 1) : at + 1]]
        price, start = sum(around) / len(around), self._history.partition(at)
        found, moves = moved(self._classes, self._points, price, start, MOVES)
        return self._groups(found) if moves and len(found) > 1 else self.of(count)

    def _after(self, count: int) -> int:
        """After how many merges there are so many groups."""
        return len(self._classes) - count

    def _groups(self, partition: Partition) -> tuple[Priced, ...]:
        return tuple(self._priced(self._group(group)) for group in partition)

    def _group(self, group: Sequence[int]) -> StreamPlan:
        taps = [
            self._plan.taps[at] for at in sorted(at for one in group for at in self._classes[one].members)
        ]
        return some_taps(self._plan, taps, self._edges(group))

    def _edges(self, group: Sequence[int]) -> Edges:
        """Where its slices are cut: its rows, too, if its windows have few phases, else as those of all."""
        known = Rate(self._points.rate(group), self._points.exact)
        if sum(len(self._classes[one].pairs) for one in group) <= MOST_PAIRS:
            windows = [self._plan.taps[self._classes[one].members[0]].window for one in group]
            own = cut(windows)
            return own if own.grain is not None else replace(own, known=known)
        least = min(known.value, rate_of(self._plan.edges).value)
        return replace(self._plan.edges, known=replace(known, value=least))

    @cached_property
    def _points(self) -> Points:
        return points_of(self._classes)

    @cached_property
    def _history(self) -> History:
        return history_of(self._classes, self._points)
