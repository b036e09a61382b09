"""How conditions are met: asked of every row, or by a key that groups are picked by; whichever costs least.

                       a row is asked       partials of a row       groups            read for a window
    conditional        every predicate      those of every one      as grouped        as grouped
    key                nothing              those of one            times values      the values picked
    intervals          a few cuts           those of one            times intervals   all, once a window
    signature          every condition      those of one            times signatures  those with the bits

More groups are more cells to make, fold and read; so what pays depends on how many values there are and how
many rows fall on them. A key whose groups are more than the rows of a slice, or of a batch, never does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log2

from weft.lang.statements import Expr, WindowSpec
from weft.share.model.constants import Constants, kind_of
from weft.share.model.load import Load, occupied
from weft.share.nodes import Partial
from weft.times import SECOND

PLAINLY = 2.0  # times cheaper another treatment must be where nothing was counted
CLEARLY = 1.25  # and where it was
ORDERED = 6.0  # times as much a group takes where those of a window are put in order, to run along them

Keys = tuple[str, ...]


class Treatment(StrEnum):
    """What is done about conditions."""

    ASK = "conditional aggregation"
    KEY = "key"
    INTERVALS = "intervals"
    SIGNATURE = "signature"


@dataclass(frozen=True, slots=True)
class Rest:
    """A query whose conditions are to be met: what it groups by, and what it keeps of the rows."""

    predicate: Hashable
    conditions: tuple[Expr, ...]  # of the predicate, where they may be bits
    by: Keys
    partials: tuple[Partial, ...]  # of all rows
    window: WindowSpec
    values: int = 1  # of a column that it takes, where the condition is an equality

    @property
    def windows(self) -> float:
        """A second."""
        return SECOND / self.window.slide


@dataclass(frozen=True, slots=True)
class Way:
    """A treatment as work: what rows are asked, what feeds hold, what is read of them a second."""

    treatment: Treatment
    asked: float
    feeds: Sequence[tuple[float, Sequence[Partial]]]  # groups, partials
    reads: Sequence[tuple[float, Sequence[Partial]]]  # groups a second, partials


@dataclass(frozen=True, slots=True)
class Facts:
    """What a choice rests on."""

    load: Load
    constants: Constants
    edges: float  # a second
    by_row: float = 1.0  # which part of the work by row is done: files of columns are read as such

    @property
    def margin(self) -> float:
        return CLEARLY if self.load.is_known else PLAINLY

    @property
    def room(self) -> float:
        """The rows that fall on the groups of a slice, or of a batch."""
        return self.load.rows * min(self.load.batch, 1 / self.edges)

    def groups(self, by: Keys) -> float:
        """How many groups these keys make."""
        return self.load.groups_for(by)

    def cost(self, way: Way) -> float:
        """CPU-seconds for each second of stream, as far as treatments differ in them."""
        c, rows = self.constants, self.load.rows * self.by_row
        seconds = rows * way.asked * c.predicate
        for groups, partials in way.feeds:
            cells, kinds = self.cells(groups), [kind_of(partial) for partial in partials]
            seconds += rows * c.key + cells * (c.made + c.cell)
            seconds += sum(rows * c.partial[kind] + cells * (c.made_part + c.fold[kind]) for kind in kinds)
        for groups, partials in way.reads:
            seconds += groups * sum(c.final[kind_of(partial)] for partial in partials)
        return seconds

    def cells(self, groups: float) -> float:
        """That a feed of so many groups takes in a second."""
        batch = self.load.batch
        return occupied((1 + self.edges * batch) * groups, self.load.rows * batch) / batch

    def fits(self, way: Way) -> bool:
        """Is there no key with more groups than rows fall on them?"""
        return all(groups <= self.room for groups, _ in way.feeds)


def cheapest(ways: Sequence[Way], facts: Facts) -> Way:
    """The first of the ways, unless another costs less by the margin and its groups are no more than rows."""
    first, *others = ways
    best = min((way for way in others if facts.fits(way)), key=facts.cost, default=first)
    return best if facts.cost(best) * facts.margin < facts.cost(first) else first


def asking(rests: Sequence[Rest], facts: Facts) -> Way:
    """Every row is asked for every predicate, and the partials of each are kept."""
    kept: dict[Keys, dict[tuple[Hashable, str], Partial]] = {}
    for rest in rests:
        mine = kept.setdefault(rest.by, {})
        mine |= {(rest.predicate, partial.text): partial for partial in rest.partials}
    return Way(
        Treatment.ASK,
        len({rest.predicate for rest in rests}),
        [(facts.groups(by), list(partials.values())) for by, partials in kept.items()],
        [(rest.windows * facts.groups(rest.by), rest.partials) for rest in rests],
    )


def by_key(rests: Sequence[Rest], values: float, facts: Facts) -> Way:
    """A column with so many values is a key."""
    reads = [(rest.windows * facts.groups(rest.by) * rest.values, rest.partials) for rest in rests]
    return Way(Treatment.KEY, 0.0, _keyed(rests, values, facts), reads)


def by_intervals(rests: Sequence[Rest], intervals: int, facts: Facts) -> Way:
    """A column is cut into intervals; each window reads all of them once, and each query a few."""
    alike = {(rest.by, rest.window): rest for rest in rests}.values()
    reads = [(rest.windows * facts.groups(rest.by) * intervals * ORDERED, rest.partials) for rest in alike]
    reads += [(rest.windows * facts.groups(rest.by), rest.partials) for rest in rests]
    return Way(Treatment.INTERVALS, log2(intervals), _keyed(rests, intervals, facts), reads)


def by_signature(rests: Sequence[Rest], facts: Facts) -> Way:
    """All conditions together are a key; each query reads the signatures with its bits."""
    conditions = {one.sql for rest in rests for one in rest.conditions}
    found = facts.load.signatures(conditions)
    picked = [max(1.0, found * facts.load.part_with(one.sql for one in rest.conditions)) for rest in rests]
    reads = [
        (rest.windows * facts.groups(rest.by) * mine, rest.partials)
        for rest, mine in zip(rests, picked, strict=True)
    ]
    return Way(Treatment.SIGNATURE, len(conditions), _keyed(rests, found, facts), reads)


def _keyed(rests: Iterable[Rest], values: float, facts: Facts) -> list[tuple[float, Sequence[Partial]]]:
    """The feeds by what queries group by and a key with so many values: each partial is kept once."""
    kept: dict[Keys, dict[str, Partial]] = {}
    for rest in rests:
        kept.setdefault(rest.by, {}).update({partial.text: partial for partial in rest.partials})
    return [(facts.groups(by) * values, list(partials.values())) for by, partials in kept.items()]


def signed(rests: Mapping[str, Rest], facts: Facts, most: int) -> tuple[str, ...]:
    """The queries that are to pick by one signature of at most so many bits; none where that does not pay.

    Conditions that most predicates have come first; of all ways to stop, the one that saves most is taken.
    """
    asked = {name: frozenset(one.sql for one in rest.conditions) for name, rest in rests.items()}
    uses = Counter(text for each in set(asked.values()) for text in each)
    order = sorted(uses, key=lambda text: (-uses[text], text))[:most]
    best: tuple[float, tuple[str, ...]] = 0.0, ()
    for stop in range(1, len(order) + 1):
        within = set(order[:stop])
        if facts.load.signatures(within) > facts.room:
            break
        mine = {name: rest for name, rest in rests.items() if asked[name] <= within}
        best = max(best, _paying(mine, facts), key=lambda each: each[0])
    return best[1]


def _paying(rests: Mapping[str, Rest], facts: Facts) -> tuple[float, tuple[str, ...]]:
    """What a signature saves, and those that it pays for: all that group by the same, or none of them."""
    feeds: dict[Keys, list[str]] = {}
    for name, rest in rests.items():
        feeds.setdefault(rest.by, []).append(name)
    saved = {by: _saved([rests[name] for name in names], facts) for by, names in feeds.items()}
    return sum(saved.values()), tuple(name for by, names in feeds.items() if saved[by] for name in names)


def _saved(rests: Sequence[Rest], facts: Facts) -> float:
    """What a signature saves these queries; nothing where another treatment is to be taken."""
    if len({rest.predicate for rest in rests}) < 2:
        return 0.0
    ask, sign = asking(rests, facts), by_signature(rests, facts)
    return facts.cost(ask) - facts.cost(sign) if cheapest([ask, sign], facts) is sign else 0.0
