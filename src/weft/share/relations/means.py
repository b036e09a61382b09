"""What carries out a relation: decided by the update patterns of what it rests on."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

from weft.lang.bodies import SetKind
from weft.plan.lookups import lookup
from weft.plan.relationpatterns import Pattern, relation_pattern
from weft.plan.relations import (
    AsOf,
    Distinct,
    Emitted,
    Entries,
    Grouped,
    Kept,
    Lasting,
    Leading,
    Made,
    Merged,
    Paired,
    Relation,
    Rows,
    Whether,
)
from weft.share.relations.links import link
from weft.share.relations.many import joined


class Means(StrEnum):
    """What carries a node out, in the words of explain."""

    READS = "reads rows"
    READS_CHANGES = "reads rows, and tells when they end"
    VERSIONS = "versions of a table"
    LATEST = "last rows by key of a table"
    FILTER = "filter"
    COLUMNS = "columns"
    STAY = "window over a result"
    UNION = "union"
    TAP = "tap of a chain"
    ORDERED = "look-ups in order"
    PAIRS = "pairs of lives"
    PAIRS_IN_A_LIST = "pairs of lives, looked for in a list"
    PAIRS_OF_CHANGES = "pairs of changes"
    CONSULTS = "look-up in a table"
    AWAITS = "look-up in a table of changes"
    CHECK = "check for partners"
    COUNTS = "counts by row"
    LONGEST = "the equal row that lives longest"
    LONGEST_IN_A_LIST = "the equal row that lives longest, looked for in a list"
    LOOKS = "look as of each slide"
    FIRST = "first rows of each window"
    GROUPS_AS_OF = "groups as of each slide"
    GROUPS_ALWAYS = "groups as of every instant"


def means(relation: Relation) -> Means:
    """What carries out this node over those below it."""
    if (found := lookup(relation)) is not None:
        return Means.CONSULTS if found.entries.stream is None else Means.AWAITS
    match relation:
        case Rows():
            return Means.READS
        case Entries(stream=stream):
            return Means.VERSIONS if stream is None else Means.LATEST
        case Kept():
            return Means.FILTER
        case Made():
            return Means.COLUMNS
        case Lasting():
            return Means.STAY
        case Paired():
            return _paired(relation)
        case Merged(kind=SetKind.UNION, all=True):
            return Means.UNION
        case Distinct():
            return Means.COUNTS if is_strict(relation) else Means.LONGEST
        case Merged():
            return Means.COUNTS
        case Whether():
            return Means.CHECK
        case AsOf():
            return Means.LOOKS
        case Leading():
            return Means.FIRST
        case Grouped(source=source):
            return Means.GROUPS_AS_OF if isinstance(source, AsOf) else Means.GROUPS_ALWAYS
        case Emitted():
            raise ValueError("what is told is not a node: it stands above them")
        case _:
            assert_never(relation)


def is_strict(relation: Relation) -> bool:
    """Are its rows told as changes?"""
    return relation_pattern(relation) is Pattern.STRICT


def _paired(relation: Paired) -> Means:
    if link(relation) is not None:
        return Means.TAP
    if joined(relation) is not None:
        return Means.ORDERED
    return Means.PAIRS_OF_CHANGES if is_strict(relation) else Means.PAIRS
