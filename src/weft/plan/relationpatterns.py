"""Update patterns of relations: how their rows come and go, by the rules of Golab (2006), 3.5.1, mended.

A pair of rows leaves with the first of the two, so pairs leave in another order than they come, even if only
one of the windows is external; a union leaves in order only where all rows live equally long. What is there
because something else is not, or what a group amounts to, ends when another row says so. A row that looks up
a table does so once, and what it found goes with it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import assert_never

from weft.lang.bodies import JoinKind, SetKind
from weft.plan.lookups import lookup
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
from weft.plan.relationtree import below, windows
from weft.times import Duration


class Pattern(IntEnum):
    """From the simplest to the hardest to keep state for."""

    MONOTONIC = 0  # rows come and stay
    WEAKEST = 1  # rows leave in the order they came
    WEAK = 2  # when a row leaves is known when it comes
    STRICT = 3  # rows leave when another row says so

    def __str__(self) -> str:
        return self.name.lower()


def relation_pattern(relation: Relation) -> Pattern:
    """The update pattern of its rows."""
    if (found := lookup(relation)) is not None:
        return relation_pattern(found.rows)
    match relation:
        case Rows(range=range_) | Lasting(range=range_):
            return Pattern.MONOTONIC if range_ is None else Pattern.WEAKEST
        case Entries(retroactive=retroactive):
            return Pattern.STRICT if retroactive else Pattern.MONOTONIC
        case Kept(source=source) | Made(source=source):
            return relation_pattern(source)
        case Paired():
            return _paired(relation)
        case Distinct(source=source):
            return _distinct(relation_pattern(source))
        case Merged(kind=SetKind.UNION, all=all_):
            return _united(relation) if all_ else _distinct(_united(relation))
        case Merged() | Whether():
            return Pattern.STRICT
        case AsOf():
            return Pattern.MONOTONIC  # each row says of which window it is
        case Grouped(source=source):
            return Pattern.MONOTONIC if isinstance(source, AsOf) else Pattern.STRICT
        case Leading(source=source):
            return relation_pattern(source)
        case Emitted(source=source):
            return Pattern.MONOTONIC if stays(source) else relation_pattern(source)
        case _:
            assert_never(relation)


def lasts(relation: Relation) -> Duration | None:
    """How long every row of it lives, where that is the same for all; None: it is not, or for ever."""
    match relation:
        case Rows(range=range_) | Lasting(range=range_):
            return range_
        case Kept(source=source) | Made(source=source):
            return lasts(source)
        case Merged(kind=SetKind.UNION, all=True, left=left, right=right):
            return lasts(left) if lasts(left) == lasts(right) else None
        case _:
            return None if (found := lookup(relation)) is None else lasts(found.rows)


def is_internal(relation: Relation) -> bool:
    """Is none of its windows one that lets go of what came out? One without end does not.

    A window over a result is one of its own, whatever is below it.
    """
    match relation:
        case Rows(internal=internal, range=range_):
            return internal or range_ is None
        case Lasting(range=range_):
            return range_ is None
        case _:
            sources = [each for each in below(relation) if not isinstance(each, Entries)]
            return bool(sources) and all(is_internal(each) for each in sources)


def stays(relation: Relation) -> bool:
    """Does all that came out of it stay, because its windows only bound what is held?"""
    return is_inside(relation) and all(is_internal(each) for each in windows(relation))


def is_outlived(relation: Relation) -> bool:
    """Do some of its windows only bound what is held, while others let go of what came out?"""
    return is_inside(relation) and not stays(relation)


def is_inside(relation: Relation) -> bool:
    """Is any of its windows INTERNAL?"""
    return any(isinstance(each, Rows) and each.internal for each in windows(relation))


def has_lives(relation: Relation) -> bool:
    """Does each row have a life of its own, told by the rows it is made of?"""
    if (found := lookup(relation)) is not None:
        return has_lives(found.rows)
    match relation:
        case Rows() | Lasting():
            return True
        case Kept(source=source) | Made(source=source):
            return has_lives(source)
        case Paired(kind=JoinKind.INNER, left=left, right=right):
            return has_lives(left) and has_lives(right)
        case Merged(kind=SetKind.UNION, all=True, left=left, right=right):
            return has_lives(left) and has_lives(right)
        case _:
            return False


def _paired(relation: Paired) -> Pattern:
    if relation.kind is not JoinKind.INNER:
        return Pattern.STRICT
    left, right = relation_pattern(relation.left), relation_pattern(relation.right)
    worst = max(left, right)
    return worst if worst is Pattern.MONOTONIC else max(worst, Pattern.WEAK)


def _united(relation: Merged) -> Pattern:
    worst = max(relation_pattern(relation.left), relation_pattern(relation.right))
    in_order = worst is Pattern.MONOTONIC or lasts(relation) is not None
    return worst if in_order else max(worst, Pattern.WEAK)


def _distinct(source: Pattern) -> Pattern:
    return source if source is Pattern.MONOTONIC else max(source, Pattern.WEAK)
