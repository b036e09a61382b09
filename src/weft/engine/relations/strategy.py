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

from weft.plan.relationpatterns import Pattern, has_lives, relation_pattern
from weft.plan.relations import Grouped, Lasting, Relation
from weft.plan.relationtree import is_windowed, walk


class Strategy(Enum):
    """Which operators carry out a relation."""

    PATTERNS = "patterns"
    NEGATIVE = "negative"
    DIRECT = "direct"

    def changes(self, relation: Relation) -> bool:
        """Are its rows told as changes?"""
        return is_strict(relation) or (self is Strategy.NEGATIVE and not is_windowed(relation))


def is_strict(relation: Relation) -> bool:
    """Do its rows end when others say so?"""
    return relation_pattern(relation) is Pattern.STRICT


def going_by_lives(relations: Iterable[Relation]) -> frozenset[Relation]:
    """All that lies below something which asks when each single row began: no strategy changes that."""
    return frozenset(below for relation in relations for below in _asked_for_lives(relation))


def _asked_for_lives(relation: Relation) -> Iterator[Relation]:
    for node in walk(relation):
        match node:
            case Lasting(source=source) if has_lives(source):
                yield from walk(source)
            case Grouped(source=source, aggregations=calls) if any(
                _by_begin(call.function) for call in calls
            ):
                yield from walk(source)


def _by_begin(function: str) -> bool:
    return function in ("first", "last")
