"""Grouping sets: ROLLUP, CUBE and GROUPING SETS -> the sets of keys that rows are grouped by, as Spark does.

    ROLLUP (a, b)                 (a, b), (a), ()
    CUBE (a, b)                   (a, b), (a), (b), ()
    a, ROLLUP (b, c)              (a, b, c), (a, b), (a)          every combination of what the commas part
    GROUPING SETS ((a), (a))      (a), (a)                        a set that is there twice is answered twice

Keys are numbered as they first turn up in the sets. GROUPING_ID has a bit for each, the first key's the
highest, which is set where the key is not in the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from math import prod

from sqlglot import exp

from weft.errors import Place, QueryError
from weft.lang.expressions import expr, place_of
from weft.lang.groupings import GROUPINGS
from weft.lang.statements import Expr
from weft.plan.nodes import Aggregate, Column

MOST_SETS = 64  # each is a feed of its own
MOST_KEYS = 63  # bits of GROUPING_ID

GROUPING_ID = "_gid"

Set = tuple[exp.Expr, ...]


def grouping_columns(aggregate: Aggregate) -> tuple[Column, ...]:
    """The columns that tell which keys the set of a row leaves out; none without sets."""
    if not aggregate.sets:
        return ()
    each = (Column(f"_g{at}", "tinyint") for at in range(len(aggregate.keys)))
    return (*each, Column(GROUPING_ID, "bigint"))


def has_sets(sources: Sequence[Expr]) -> bool:
    """Does this GROUP BY have anything but keys?"""
    return any(isinstance(source.tree, GROUPINGS) for source in sources)


def grouping_sets(sources: Sequence[Expr]) -> tuple[tuple[Expr, ...], ...]:
    """The sets of a GROUP BY in order, each with its keys as they are written."""
    count = prod(_count(source.tree) for source in sources)
    if count > MOST_SETS:
        raise _too_many(sources, count)
    combined = product(*(_sets(source.tree) for source in sources))
    return tuple(tuple(expr(key) for part in parts for key in part) for parts in combined)


def _count(tree: exp.Expr) -> int:
    """How many sets a grouping has, told without making them."""
    match tree:
        case exp.Rollup():
            return len(tree.expressions) + 1
        case exp.Cube():
            return 1 << len(tree.expressions)
        case exp.GroupingSets():
            return sum(_count(part) for part in tree.expressions)
        case _:
            return 1


def _sets(tree: exp.Expr) -> list[Set]:
    match tree:
        case exp.Rollup():
            parts = [_keys(part) for part in tree.expressions]
            return [_joined(parts[:length]) for length in range(len(parts), -1, -1)]
        case exp.Cube():
            parts = [_keys(part) for part in tree.expressions]
            lengths = range(len(parts), -1, -1)
            return [_joined(chosen) for length in lengths for chosen in combinations(parts, length)]
        case exp.GroupingSets():
            return [each for part in tree.expressions for each in _sets(part)]
        case _:
            return [_keys(tree)]


def _keys(tree: exp.Expr) -> Set:
    return tuple(tree.expressions) if isinstance(tree, exp.Tuple) else (tree,)


def _joined(parts: Sequence[Set]) -> Set:
    return tuple(key for part in parts for key in part)


def _too_many(sources: Sequence[Expr], count: int) -> QueryError:
    return QueryError(
        "too-many-sets",
        f"GROUP BY has {count:,} grouping sets, and a query may have {MOST_SETS}",
        at=_place(max(sources, key=lambda source: _count(source.tree))),
        because="each is answered for every window",
        help="name the sets that are needed: GROUPING SETS ((a, b), (a), ())",
    )


def check_keys(count: int, sources: Sequence[Expr]) -> None:
    """Raise where GROUPING_ID has not enough bits for so many keys."""
    if count > MOST_KEYS:
        raise QueryError(
            "too-many-keys",
            f"the grouping sets have {count} keys, and there may be {MOST_KEYS}",
            at=_place(next(source for source in sources if isinstance(source.tree, GROUPINGS))),
            because="GROUPING_ID has a bit for each",
            help="use fewer keys, or GROUP BY without sets",
        )


def _place(source: Expr) -> Place | None:
    """The word that a grouping begins with."""
    found = source.place or place_of(source.tree)
    return None if found is None else found._replace(length=len(source.sql.partition(" (")[0]))
