"""The same queries shared in other ways, for comparison.

    No Share      each query a job of its own, with its own scan
    Shared        one job, one set of slices for all: what weft begins with
    Weave Share   groups of queries with slices of their own, each a job that reads all rows
    TriWeave      one job, rows are read once into the finest slices; each group folds these into its own:
                  what weft changes to where that pays, a group being a strand (`weft.share.strands`)

Guirguis, "Scalable Processing of Multiple Aggregate Continuous Queries". Departures: work is weighed with
what it takes on a machine, and windows come out of slices by the final method of each aggregate, where the
thesis reads every slice again for every window. With running sums that leaves little to weave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from weft.share.model.constants import Constants
from weft.share.model.cost import Charge
from weft.share.model.load import Load
from weft.share.model.price import Priced
from weft.share.nodes import Partial, Rate, StreamPlan, Tap
from weft.share.slicing import MOST_PAIRS, cut, overlap
from weft.share.weave.classes import EdgeClass, edge_classes
from weft.share.weave.history import history_of
from weft.share.weave.points import Points, points_of
from weft.share.weave.rates import rate_of

MOST_CLASSES = 300  # beyond, finding groups takes seconds
CUTS = 12  # of the history of merges that are looked at


SAME = 0.15  # of the cost: ways that differ by less are the same, and the simpler one is taken

NO_SHARE, SHARED, WEAVE, TRIWEAVE = "No Share", "Shared", "Weave Share", "TriWeave"


@dataclass(frozen=True, slots=True)
class Way:
    """One way to share: what it costs, with how many groups of queries, and the plan of each group."""

    name: str
    cost: float
    groups: int
    plans: tuple[StreamPlan, ...] = field(default=(), compare=False, repr=False)


class Ways:
    """All ways to share the queries of one stream; what does not depend on the load is worked out once.

    Whichever way the plan has them shared now.
    """

    def __init__(self, plan: StreamPlan, constants: Constants) -> None:
        plan = one_strand(plan)

        def priced(some: StreamPlan) -> Priced:
            return Priced.of(some, constants, Load())

        filters = [replace(plan, taps=(), feeds=(), standing=(one,)) for one in plan.standing]
        self._shared = priced(plan)
        self._alone = [priced(each) for each in (*(some_taps(plan, [tap]) for tap in plan.taps), *filters)]
        self._filters = [priced(each) for each in filters]
        self._cuts = [[priced(group) for group in groups] for groups in _cuts(plan)]

    def all(self, load: Load, cuts: slice = slice(None)) -> list[Way]:
        """The ways, woven ones with the groups that suit the load best; those that cannot differ left out."""
        shared = self._shared.under(load).cost().total
        apart = sum(each.under(load).cost().total for each in self._alone)
        one = (self._shared.plan,)
        ways = [Way(NO_SHARE, apart, len(self._alone), _plans(self._alone)), Way(SHARED, shared, 1, one)]
        for way in self.woven(load, cuts):
            ways.append(min(way, Way(way.name, shared, 1, one), key=lambda way: (way.cost, way.groups)))
        return ways

    def woven(self, load: Load, cuts: slice = slice(None)) -> list[Way]:
        """Weave Share and TriWeave, each with the groups that suit the load best, at least two of them."""
        best = []
        for name, weigh in ((WEAVE, self._two_level), (TRIWEAVE, self._three_level)):
            found = [Way(name, weigh(each, load), len(each), _plans(each)) for each in self._cuts[cuts]]
            best += [min(found, key=lambda way: (way.cost, way.groups))] if found else []
        return best

    def chosen(self, load: Load, cuts: slice = slice(None)) -> Way:
        """The way that costs least; Shared, unless another costs clearly less."""
        ways = self.all(load, cuts)
        shared = next(way for way in ways if way.name == SHARED)
        best = min(ways, key=lambda way: way.cost)
        return best if best.cost < (1 - SAME) * shared.cost else shared

    def _two_level(self, groups: Sequence[Priced], load: Load) -> float:
        """Every group is a job that reads all rows."""
        here = (group.under(load) for group in groups)
        more = (len(groups) - 1) * _total(self._shared.under(load).per_job())
        own = _total(chain.from_iterable(chain(g.level1(), g.state()) for g in here))
        return own + more + self._besides(load)

    def _three_level(self, groups: Sequence[Priced], load: Load) -> float:
        """Rows are read once; every group folds the finest slices into its own."""
        fine = self._shared.fine
        folded = chain.from_iterable(replace(group.under(load), fine=fine).state() for group in groups)
        return _total(chain(self._shared.under(load).level1(), folded)) + self._besides(load)

    def _besides(self, load: Load) -> float:
        """What does not depend on the groups."""
        filters = chain.from_iterable(each.under(load).state() for each in self._filters)
        return _total(chain(filters, self._shared.under(load).per_job()))


def _plans(some: Iterable[Priced]) -> tuple[StreamPlan, ...]:
    return tuple(each.plan for each in some)


def _total(charges: Iterable[Charge]) -> float:
    return sum(charge.seconds for charge in charges)


def _cuts(plan: StreamPlan) -> list[list[StreamPlan]]:
    """Groups of queries to choose from, at least two: some cuts of the history of merges."""
    classes = edge_classes([tap.window for tap in plan.taps], [float(overlap(t.window)) for t in plan.taps])
    if len(classes) < 2:
        return []
    if len(classes) > MOST_CLASSES:
        return [[some_taps(plan, [plan.taps[at] for at in one.members], Rate(one.rate)) for one in classes]]
    points = points_of(classes)
    history = history_of(classes, points)
    partitions = [history.partition(len(classes) - count) for count in _counts(len(classes))]
    return [[_group(plan, classes, points, group) for group in each] for each in partitions]


def _counts(most: int) -> list[int]:
    """Numbers of groups to look at, from `most` down to 2, closer together where they are few."""
    found = {max(2, round(most ** (at / (CUTS - 1)))) for at in range(CUTS)}
    return sorted(found, reverse=True)


def _group(
    plan: StreamPlan, classes: Sequence[EdgeClass], points: Points, group: Sequence[int]
) -> StreamPlan:
    taps = [plan.taps[at] for at in sorted(at for one in group for at in classes[one].members)]
    if sum(len(classes[one].pairs) for one in group) <= MOST_PAIRS:  # its rows may be cut otherwise than all
        return some_taps(plan, taps)
    return some_taps(plan, taps, Rate(min(points.rate(group), rate_of(plan.edges).value), points.exact))


def some_taps(plan: StreamPlan, taps: Sequence[Tap], rate: Rate | None = None) -> StreamPlan:
    """The plan of some of the queries: the feeds and partials that they read, and slices of their own.

    What is left of an earlier treatment is not in it: it goes by itself. `rate`: the edges a second of their
    slices, where that is known.
    """
    edges = cut([tap.window for tap in taps]) if rate is None else replace(plan.edges, known=rate)
    kept = {at: sorted(used) for at, used in sorted(_used(plan, taps).items())}
    places = {at: place for place, at in enumerate(kept)}
    feeds = tuple(
        replace(
            plan.feeds[at],
            partials=tuple(plan.feeds[at].partials[each] for each in used),
            parent=places.get(-1 if (parent := plan.feeds[at].parent) is None else parent),
        )
        for at, used in kept.items()
    )
    partials = {at: {each: place for place, each in enumerate(used)} for at, used in kept.items()}
    moved = tuple(_moved(replace(tap, earlier=None), places, partials) for tap in taps)
    return replace(plan, edges=edges, feeds=feeds, taps=moved, standing=(), guards=())


def one_strand(plan: StreamPlan) -> StreamPlan:
    """The same queries with one set of slices: feeds by the same keys are one."""
    if not any(feed.strand for feed in plan.feeds):
        return plan
    names = [(feed.keys, feed.extra, feed.inner) for feed in plan.feeds]
    known = {name: at for at, name in enumerate(dict.fromkeys(names))}
    places = {at: known[name] for at, name in enumerate(names)}
    partials: dict[int, dict[Partial, int]] = {at: {} for at in known.values()}
    for at, feed in enumerate(plan.feeds):
        mine = partials[places[at]]
        for each in feed.partials:
            mine.setdefault(each, len(mine))
    moves = {
        at: {place: partials[places[at]][each] for place, each in enumerate(feed.partials)}
        for at, feed in enumerate(plan.feeds)
    }
    feeds = [plan.feeds[names.index(name)] for name in known]
    made = tuple(
        replace(feed, partials=tuple(partials[at]), parent=_parent(plan, places, at), strand=0, edges=None)
        for at, feed in enumerate(feeds)
    )
    return replace(plan, feeds=made, taps=tuple(_moved(tap, places, moves) for tap in plan.taps))


def _parent(plan: StreamPlan, places: Mapping[int, int], merged: int) -> int | None:
    """What a feed that strands have is combined from: nothing, where one of them is made from rows."""
    found = [feed.parent for at, feed in enumerate(plan.feeds) if places[at] == merged]
    others = [places[parent] for parent in found if parent is not None]
    finer = [each for each in others if each != merged]
    return finer[0] if finer and None not in found else None


def _used(plan: StreamPlan, taps: Sequence[Tap]) -> dict[int, set[int]]:
    """The feeds that the queries read, and the partials of each; a feed that others come from has theirs."""
    used: dict[int, set[int]] = {}
    for tap in (each for first in taps for each in first.sets):
        used.setdefault(tap.feed, set()).add(tap.present)
        for final in tap.finals:
            used.setdefault(final.feed, set()).update(final.partials)
    for at, mine in used.items():
        parent = plan.feeds[at].parent
        if parent is not None and parent in used:
            theirs = plan.feeds[parent].partials
            used[parent] |= {theirs.index(plan.feeds[at].partials[each]) for each in mine}
    return used


def _moved(tap: Tap, places: Mapping[int, int], partials: Mapping[int, Mapping[int, int]]) -> Tap:
    """A tap into feeds that have other places, and so do their partials."""
    finals = tuple(
        replace(
            final,
            feed=places[final.feed],
            partials=tuple(partials[final.feed][at] for at in final.partials),
        )
        for final in tap.finals
    )
    return replace(
        tap,
        feed=places[tap.feed],
        present=partials[tap.feed][tap.present],
        finals=finals,
        others=tuple(_moved(other, places, partials) for other in tap.others),
        earlier=None if tap.earlier is None else _moved(tap.earlier, places, partials),
    )
