"""Whether the log holds all rows that the windows of a query need which is added to a running program.

    rows taken in        . . . . . . . . . . . .|
    complete                              W
    a query that runs        [ . . . . . . )         its rows lie in the log as far back as this
    a new one                    [ . . . . )         its windows are full, as if it had always been there

Each query that runs vouches for the rows that it reads: under its condition, with its columns, and as far
back as its windows. Rows under another condition were perhaps not taken in, and of those that were nobody
knows whether they meet the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from weft.engine.windows import Reach
from weft.lang.bodies import Emission
from weft.lang.statements import Expr
from weft.plan.lookups import passes_on
from weft.plan.relations import Emitted, Relation, Rows
from weft.plan.relationtree import reach_back, rows_read, streams, tables, walk
from weft.share.nodes import Woven
from weft.share.relations.lowering import lowered
from weft.share.relations.means import Means, means
from weft.times import BEGINNING, Instant

Read = tuple[str, Expr | None]  # a stream, and which of its rows


def is_whole(
    asked: Relation, running: Iterable[Woven], bounds: Mapping[str, Instant], reach: Mapping[str, Reach]
) -> bool:
    """Does the log hold all rows that matter to this relation from now on?"""
    since = looks_back_to(asked, reach)
    known: dict[Read, set[str]] = {}
    for each in running:
        if _vouches_from(each, bounds, reach) <= since:
            for read, items in _reads(each.relation):
                known.setdefault(read, set()).update(items)
    return _can_begin_whole(asked) and all(
        read in known and items <= known[read] for read, items in _reads(asked)
    )


def _vouches_from(each: Woven, bounds: Mapping[str, Instant], reach: Mapping[str, Reach]) -> Instant:
    """The time from which on the log holds the rows that a query reads."""
    bound = bounds.get(each.query.name, BEGINNING)
    seen = BEGINNING if bound == BEGINNING else bound + 1
    return max(seen, looks_back_to(each.relation, reach))


def _can_begin_whole(relation: Relation) -> bool:
    """Does what it tells follow from rows alone?

    Where one life of a DISTINCT value ends depends on what was told before, and so do corrections of what was
    told early; tables may have let go of versions.
    """
    if isinstance(relation, Emitted) and relation.emission is Emission.CHANGES:
        return False
    below = [node for node in walk(lowered(relation)) if not isinstance(node, Emitted)]
    return not tables(relation) and all(means(node) is not Means.LONGEST for node in below)


def _reads(relation: Relation) -> Iterable[tuple[Read, set[str]]]:
    for node in walk(relation):
        if isinstance(node, Rows):
            yield (node.stream, node.where), {item.expr.sql for item in node.items}


def looks_back_to(relation: Relation, reach: Mapping[str, Reach]) -> Instant:
    """The time before which no row matters to a query any more; one of tables alone is as far as any."""
    back = 0 if passes_on(relation) else reach_back(relation)
    own = [reach[name].watermark if name in reach else BEGINNING for name in streams(relation)]
    complete = min(own or [max((at.watermark for at in reach.values()), default=BEGINNING)])
    return BEGINNING if back is None or complete == BEGINNING else complete - back


def needed_from(related: Iterable[Woven], stream: str, reach: Mapping[str, Reach]) -> Instant | None:
    """No row of a stream before this time is needed by these after a restart; None: none of it is."""
    reading = [each for each in related if stream in rows_read(each.relation)]
    return min((looks_back_to(each.relation, reach) for each in reading), default=None)
