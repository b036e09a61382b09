"""How relations are carried out: by update patterns, or as a yardstick by what these are compared to.

After Golab (2006), 3.3:

    patterns    lives wherever the pattern is not strict, changes where it is
    negative    every window tells that its rows end, and all operators go by changes
    direct      lives as by patterns, held in one list each that is looked through as a whole

Of rows that do not change by others, `negative` tells when they begin, as of those that do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from weft.plan.lookups import lookup
from weft.plan.relationpatterns import has_lives, is_inside
from weft.plan.relations import Emitted, Grouped, Lasting, Paired, Relation, Whether
from weft.plan.relationtree import is_windowed, walk
from weft.share.relations.means import Means, is_strict, means


class Strategy(Enum):
    """Which operators carry out a relation."""

    PATTERNS = "patterns"
    NEGATIVE = "negative"
    DIRECT = "direct"

    def means(self, relation: Relation) -> Means:
        """What carries out this node: as decided by patterns, or in its place what is compared to it."""
        chosen = means(relation)
        if self is Strategy.PATTERNS:
            return chosen
        changes = self.changes(relation)
        match chosen:
            case Means.READS if changes:
                return Means.READS_CHANGES
            case Means.TAP | Means.ORDERED | Means.PAIRS | Means.PAIRS_OF_CHANGES if changes:
                return Means.PAIRS_OF_CHANGES
            case Means.TAP | Means.ORDERED | Means.PAIRS:
                return Means.PAIRS_IN_A_LIST if self is Strategy.DIRECT else Means.PAIRS
            case Means.LONGEST if changes:
                return Means.COUNTS
            case Means.LONGEST if self is Strategy.DIRECT:
                return Means.LONGEST_IN_A_LIST
            case _:
                return chosen

    def changes(self, relation: Relation) -> bool:
        """Are its rows told as changes?"""
        return is_strict(relation) or (self is Strategy.NEGATIVE and not is_windowed(relation))


def going_by_lives(relations: Iterable[Relation]) -> frozenset[Relation]:
    """All that lies below something which asks when each single row began: no strategy changes that.

    Where windows are internal, an equal row that goes does not make up for one that comes.
    """
    return frozenset(below for relation in relations for below in _asked_for_lives(relation))


def _asked_for_lives(relation: Relation) -> Iterator[Relation]:
    for node in walk(relation):
        match node:
            case Lasting(source=source) if has_lives(source):
                yield from walk(source)
            case Emitted(source=source) if has_lives(source) and is_inside(source):
                yield from walk(source)
            case Paired() | Whether() if (found := lookup(node)) is not None:
                yield from walk(found.rows)
            case Grouped(source=source, aggregations=calls) if any(
                _by_begin(call.function) for call in calls
            ):
                yield from walk(source)


def _by_begin(function: str) -> bool:
    return function in ("first", "last")
