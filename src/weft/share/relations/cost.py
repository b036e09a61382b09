"""What relations are predicted to hold and to do, a second: rates times measured constants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass

from weft.plan.nodes import Column
from weft.plan.relations import Paired, Relation, Whether
from weft.plan.relationtree import columns
from weft.plan.scope import names_in
from weft.share.joinorder import Order, Side, choose_order
from weft.share.model.constants import Constants
from weft.share.model.forecast import Basis
from weft.share.model.load import Load, Loads
from weft.share.relations.classes import Classes, Probed, Shelves, shelves
from weft.share.relations.flows import KEYS, Flow, flow, key_text, keys_of, matches, names, values_of
from weft.share.relations.links import LEFT, RIGHT, Chain, Link
from weft.share.relations.many import Many
from weft.share.relations.matching import Matching, matching
from weft.share.relations.means import Means
from weft.share.relations.weave import Node


@dataclass(frozen=True, slots=True)
class Work:
    """Rows held, and a second: rows that joins take in, look-ups, rows looked at, rows that come or go.

    Of those that come or go, how many are matched with others, and how often one is counted among its equals.
    """

    held: float = 0.0
    kept: float = 0.0
    lookups: float = 0.0
    pairs: float = 0.0
    changes: float = 0.0
    counted: float = 0.0

    def cpu(self, each: Constants) -> float:
        """CPU-seconds a second."""
        rows = each.kept * self.kept + each.lookup * self.lookups
        return rows + each.looked * self.pairs + each.change * self.changes + each.counted * self.counted

    def __sub__(self, other: Work) -> Work:
        return Work(*(mine - theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


def added(work: Iterable[Work]) -> Work:
    """All of it together."""
    return Work(*(sum(each) for each in zip(astuple(Work()), *map(astuple, work), strict=True)))


@dataclass(frozen=True, slots=True)
class Keys:
    """How many different keys the rows of one side have, and how that is known."""

    number: float
    by: str  # assumed | given | measured


@dataclass(frozen=True, slots=True)
class Chained:
    """A chain as it runs: both sides, the keys by which rows of either are found, what it takes."""

    left: Shelves
    right: Shelves
    keys: tuple[Keys, Keys] | None  # None: every row is looked at
    work: Work

    @property
    def cost(self) -> float:
        """CPU-seconds a second for looking."""
        return self.left.cost + self.right.cost


def chained(
    chain: Chain, links: Iterable[Link], basis: Basis, classes: tuple[Classes, Classes] | None = None
) -> Chained:
    """What a chain holds and does, in these classes; None: in the best."""
    some, (first, second) = tuple(links), classes or (None, None)
    match, loads = _matching(chain, some), basis.loads
    left, right = loads.of(chain.left), loads.of(chain.right)
    keys = _keys(match, left, right)
    most = max(each.number for each in keys) if keys else 1.0
    mine = shelves([each.left for each in some], left, Probed(right, most, basis.constants), first)
    theirs = shelves([each.right for each in some], right, Probed(left, most, basis.constants), second)
    work = Work(
        held=mine.held + theirs.held,
        kept=mine.kept + theirs.kept,
        lookups=left.rows * len(theirs.classes) + right.rows * len(mine.classes),
        pairs=mine.looked_at + theirs.looked_at,
    )
    return Chained(mine, theirs, keys, work)


def _matching(chain: Chain, links: Iterable[Link]) -> Matching:
    from_left = {item.expr.sql: item.type for each in links for item in each.left.items}
    from_right = {item.expr.sql: item.type for each in links for item in each.right.items}
    left = [Column(LEFT + sql, type_) for sql, type_ in from_left.items()]
    right = [Column(RIGHT + sql, type_) for sql, type_ in from_right.items()]
    return matching(chain.on, left, right)


def _keys(match: Matching, left: Load, right: Load) -> tuple[Keys, Keys] | None:
    if not match.left:
        return None
    mine, theirs = chain_keys(match)
    return _side_keys(left, mine), _side_keys(right, theirs)


def _side_keys(load: Load, key: str) -> Keys:
    counted = load.groups_by != "given" and key in load.joined
    return Keys(keys_of(load, key), "measured" if counted else load.groups_by)


def chain_keys(match: Matching) -> tuple[str, str]:
    """What the keys of either side of a chain are in their stream."""
    left = key_text(name.removeprefix(LEFT) for name in names(match.left))
    return left, key_text(name.removeprefix(RIGHT) for name in names(match.right))


def order_of(many: Many, loads: Loads) -> Order:
    """In which order a row looks at the others, as long as nothing has been counted."""
    return choose_order([_side(each, many, loads) for each in many.sources])


def work_of(node: Node, loads: Loads) -> Work:
    """What a node does itself; a tap does nothing, its chain does.

    Of groups and what is looked at as of slides only what is held is predicted.
    """
    sources = [flow(key[0], loads) for key in node.sources]
    held, rate = sum(each.rows for each in sources), sum(each.rate for each in sources)
    match node.means:
        case Means.ORDERED:
            pairs = flow(node.relation, loads).rate
            return Work(held, rate, rate * (len(sources) - 1), pairs)
        case Means.PAIRS:
            return Work(held, rate, rate, flow(node.relation, loads).rate)
        case Means.PAIRS_OF_CHANGES:
            return Work(held, pairs=2 * _met(node.relation, sources, loads), changes=2 * rate)
        case Means.CHECK:  # those that ask are counted by themselves and with their partners, others by key
            counted = 2 * (rate + sources[0].rate)
            return Work(held, 0.0, 0.0, 2 * _met(node.relation, sources, loads), 2 * rate, counted)
        case Means.COUNTS:
            return Work(held, counted=2 * rate)
        case Means.CONSULTS | Means.AWAITS:
            return Work(lookups=rate)
        case Means.GROUPS_ALWAYS | Means.LOOKS | Means.GROUPS_AS_OF:
            return Work(held)
        case Means.LONGEST | Means.STAY:
            return Work(flow(node.relation, loads).rows)
        case _:
            return Work()


def _met(relation: Relation, sources: Sequence[Flow], loads: Loads) -> float:
    """Pairs a second that rows which come and go make; each is made, and taken back.

    Where only keys must be equal a row is checked against one key, however many rows have it.
    """
    match relation:
        case Paired():
            return flow(relation, loads).rate
        case Whether(source=source, other=other, on=on):
            asked, there = sources
            keyed = on is not None and matching(on, columns(source), columns(other)).rest is None
            rows = min(there.rows, KEYS) if keyed else there.rows
            return asked.rate * rows * matches(on, source, other, loads)
        case _:
            return 0.0


def _side(relation: Relation, many: Many, loads: Loads) -> Side:
    found, mine = flow(relation, loads), {column.name for column in columns(relation)}
    asked = {name for each in many.conditions for name in names_in(each) & mine}
    keys = max((values_of([name], relation, loads) for name in asked), default=KEYS)
    return Side(found.rate, found.rows / found.rate if found.rate else 0.0, keys, keys)
