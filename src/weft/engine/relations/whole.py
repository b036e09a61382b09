"""Whether the log holds all rows that the windows of a query need which is added to a running program.

    rows taken in        . . . . . . . . . . . .|
    complete                              W
    a query that runs        [ . . . . . . )         its rows lie in the log as far back as this
    a new one                    [ . . . . )         its windows are full, as if it had always been there

Each query that runs vouches for the rows that it reads: under its condition, with its columns, and as far
back as its windows. A condition that says more picks from them, and is made of their columns, as are others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from weft.engine.relations.deriving import Types, asks, made_of
from weft.engine.windows import Reach
from weft.lang.bodies import Emission
from weft.lang.statements import Expr
from weft.plan.lookups import passes_on
from weft.plan.nodes import Stream
from weft.plan.relations import Emitted, Relation, Rows
from weft.plan.relationtree import reach_back, rows_read, streams, tables, walk
from weft.share.nodes import Woven
from weft.share.parts import conjuncts
from weft.share.relations.lowering import lowered
from weft.share.relations.means import Means, means
from weft.times import BEGINNING, Instant


@dataclass(slots=True)
class Vouched:
    """What the log holds of a stream: rows under these conditions, None for all, and columns of them."""

    wheres: set[Expr | None] = field(default_factory=set)
    columns: set[str] = field(default_factory=set)

    def has(self, leaf: Rows, types: Types) -> bool:
        """Can the rows that a leaf reads be had from it?"""
        mine = _parts(leaf.where)
        return any(_parts(where) <= mine for where in self.wheres) and all(
            name in self.columns or made_of(source, self.columns, types) is not None
            for name, source in asks(leaf).items()
        )


class Vouching:
    """What the queries that run vouch for, when the streams have come so far."""

    def __init__(
        self,
        running: Iterable[Woven],
        bounds: Mapping[str, Instant],
        reach: Mapping[str, Reach],
        declared: Mapping[str, Stream],
    ) -> None:
        self._reach, self._declared = reach, declared
        self._read = [(_vouches_from(each, bounds, reach), _leaves(each.relation)) for each in running]

    def is_whole(self, asked: Relation) -> bool:
        """Does the log hold all rows that matter to this relation from now on?"""
        if not _can_begin_whole(asked):
            return False
        known = self._known(looks_back_to(asked, self._reach))
        return all(
            leaf.stream in known and known[leaf.stream].has(leaf, types_of(self._declared[leaf.stream]))
            for leaf in _leaves(asked)
        )

    def _known(self, since: Instant) -> dict[str, Vouched]:
        """What of each stream is there from some time on."""
        known: dict[str, Vouched] = {}
        for leaf in (leaf for at, some in self._read if at <= since for leaf in some):
            vouched = known.setdefault(leaf.stream, Vouched())
            vouched.wheres.add(leaf.where)
            vouched.columns |= {*asks(leaf), self._declared[leaf.stream].statement.time_column}
        return known


def types_of(stream: Stream) -> dict[str, str]:
    return {column.name: column.type for column in stream.columns if column.type}


def _parts(where: Expr | None) -> set[Expr]:
    return set() if where is None else set(conjuncts(where))


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


def _leaves(relation: Relation) -> list[Rows]:
    return [node for node in walk(relation) if isinstance(node, Rows)]


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
