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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from math import inf

from weft.share.model.answering import together
from weft.share.model.constants import Constants
from weft.share.model.cost import Charge, Level, Own
from weft.share.model.groupings import Groupings
from weft.share.model.load import Load
from weft.share.model.price import Priced
from weft.share.model.subplans import one_strand, some_taps
from weft.share.nodes import StreamPlan

WORSE = 2  # numbers of groups in a row that cost more than fewer did: more are not looked at
POLISH = 0.15  # of the cost: what moving queries to other groups saves at the most
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
        self._constants, self._together = constants, together(plan.taps)
        filters = [replace(plan, taps=(), feeds=(), standing=(one,)) for one in plan.standing]
        self._shared = self._priced(plan)
        self._filters = [self._priced(each) for each in filters]
        self._groupings = Groupings(plan, self._priced)

    def all(self, load: Load) -> list[Way]:
        """The ways, woven ones with the groups that suit the load best; those that cannot differ left out."""
        shared, least = self._as_shared(load), self._least(load)
        ways = [self._apart(load), shared]
        for name in (WEAVE, TRIWEAVE) if self._groupings.counts else ():
            way = self._woven(name, load, shared.cost) if least[name] < shared.cost else shared
            ways.append(replace(min(way, shared, key=_cost), name=name))
        return ways

    def woven(self, load: Load) -> list[Way]:
        """Weave Share and TriWeave, each with the groups that suit the load best, at least two of them."""
        return [self._woven(name, load) for name in (WEAVE, TRIWEAVE) if self._groupings.counts]

    def chosen(self, load: Load) -> Way:
        """The way that costs least; Shared, unless another costs clearly less."""
        shared = self._as_shared(load)
        least, wanted = self._least(load), (1 - SAME) * shared.cost
        ways = [shared]
        for name in (WEAVE, TRIWEAVE) if self._groupings.counts else ():
            if least[name] < wanted:
                ways.append(self._woven(name, load, wanted))
        if least[NO_SHARE] < wanted:
            ways.append(self._apart(load))
        best = min(ways, key=_cost)
        return best if best.cost < wanted else shared

    def _least(self, load: Load) -> dict[str, float]:
        """What other ways cost at the least: who reads rows and writes answers must do it anyway."""
        shared = self._shared.under(load)
        levels, jobs = shared.levels(), _total(shared.per_job()) + shared.reading
        apart = len(self._shared.plan.taps) + len(self._filters)
        within = levels[Level.FOLD] + levels[Level.FINAL]
        return {
            NO_SHARE: apart * jobs + levels[Level.OUTPUT],
            WEAVE: 2 * jobs + levels[Level.OUTPUT],
            TRIWEAVE: sum(levels.values()) - within,
        }

    def _priced(self, plan: StreamPlan) -> Priced:
        return Priced.of(plan, self._constants, Load(), self._together)

    def _as_shared(self, load: Load) -> Way:
        priced = self._shared.under(load)
        return Way(SHARED, sum(priced.levels().values()), 1, (priced.plan,))

    @cached_property
    def _alone(self) -> list[Priced]:
        plan = self._shared.plan
        return [*(self._priced(some_taps(plan, [tap])) for tap in plan.taps), *self._filters]

    def _apart(self, load: Load) -> Way:
        cost = sum(sum(each.under(load).levels().values()) for each in self._alone)
        return Way(NO_SHARE, cost, len(self._alone), _plans(self._alone))

    def _woven(self, name: str, load: Load, below: float = inf) -> Way:
        """The best groups: ever more of them until that costs ever more; then some queries change groups.

        That they do not if it would not bring the cost below what is asked for.
        """
        weigh = self._two_level if name == WEAVE else self._three_level

        def way(groups: Sequence[Priced]) -> Way:
            return Way(name, weigh(groups, load), len(groups), _plans(groups))

        first, *others = self._groupings.counts
        best, at, worse = way(self._groupings.of(first)), first, 0
        for count in others:
            found = way(self._groupings.of(count))
            if found.cost < best.cost:
                best, at, worse = found, count, 0
            elif (worse := worse + 1) == WORSE:
                break
        if best.cost * (1 - POLISH) >= below:
            return best
        return min(best, way(self._groupings.polished(at)), key=_cost)

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


def _cost(way: Way) -> tuple[float, int]:
    return way.cost, way.groups


def _total(charges: Iterable[Charge | Own]) -> float:
    return sum(charge.seconds for charge in charges)
