"""What relations are predicted to hold and to do, a second: rates times measured constants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from weft.plan.nodes import Column
from weft.plan.relationplacing import Supposed, flow
from weft.plan.relations import Relation
from weft.plan.relationtree import streams
from weft.share.joinorder import Order, Side, choose_order
from weft.share.model.load import Loads
from weft.share.relations.classes import CANDIDATE, LOOKUP, PART, Shelves, keys_of, shelves
from weft.share.relations.links import LEFT, RIGHT, Chain, Link
from weft.share.relations.many import Many
from weft.share.relations.matching import matching
from weft.share.relations.means import Means
from weft.share.relations.weave import Node


@dataclass(frozen=True, slots=True)
class Work:
    """Rows held; look-ups and pairs a second, and CPU-seconds a second for both."""

    held: float
    lookups: float
    pairs: float

    @property
    def cpu(self) -> float:
        return LOOKUP * self.lookups + CANDIDATE * self.pairs


@dataclass(frozen=True, slots=True)
class Chained:
    """A chain as it runs: both sides, whether rows are found by keys, and what that takes."""

    left: Shelves
    right: Shelves
    keyed: bool
    work: Work


def chained(chain: Chain, links: Iterable[Link], loads: Loads) -> Chained:
    """What a chain holds and does under these loads."""
    some = tuple(links)
    keyed = _is_keyed(chain, some)
    left, right = loads.of(chain.left), loads.of(chain.right)
    mine = shelves([each.left for each in some], keyed, left, right)
    theirs = shelves([each.right for each in some], keyed, right, left)
    lookups = left.rows * len(theirs.classes) + right.rows * len(mine.classes)
    work = Work(mine.held + theirs.held, lookups, mine.looked_at + theirs.looked_at)
    return Chained(mine, theirs, keyed, work)


def _is_keyed(chain: Chain, links: Iterable[Link]) -> bool:
    from_left = {item.expr.sql: item.type for each in links for item in each.left.items}
    from_right = {item.expr.sql: item.type for each in links for item in each.right.items}
    left = [Column(LEFT + sql, type_) for sql, type_ in from_left.items()]
    right = [Column(RIGHT + sql, type_) for sql, type_ in from_right.items()]
    return bool(matching(chain.on, left, right).left)


def order_of(many: Many, loads: Loads) -> Order:
    """In which order a row looks at the others, as long as nothing has been counted."""
    return choose_order([_side(each, loads) for each in many.sources])


def work_of(node: Node, loads: Loads) -> Work:
    """What a node does itself; a tap does nothing, its chain does.

    Of counts, groups and what is looked at as of slides only what is held is predicted.
    """
    sources = [flow(key[0], supposed(key[0], loads)) for key in node.sources]
    held, rate = sum(each.rows for each in sources), sum(each.rate for each in sources)
    pairs = flow(node.relation, supposed(node.relation, loads)).rate
    match node.means:
        case Means.ORDERED:
            return Work(held, rate * (len(sources) - 1), pairs)
        case Means.PAIRS | Means.PAIRS_OF_CHANGES:
            return Work(held, rate, pairs)
        case Means.CHECK:
            return Work(held, rate, 0.0)
        case Means.CONSULTS | Means.AWAITS:
            return Work(0.0, rate, 0.0)
        case Means.GROUPS_ALWAYS | Means.LOOKS | Means.GROUPS_AS_OF | Means.COUNTS:
            return Work(held, 0.0, 0.0)
        case Means.LONGEST | Means.STAY:
            return Work(flow(node.relation, supposed(node.relation, loads)).rows, 0.0, 0.0)
        case _:
            return Work(0.0, 0.0, 0.0)


def supposed(relation: Relation, loads: Loads) -> Supposed:
    """What streams bring, and half of the rows for every condition."""
    read = streams(relation)
    rates = {name: loads.of(name).rows for name in read}
    return Supposed(
        rates=rates, values=max((keys_of(loads.of(name)) for name in read), default=1.0), passes=PART
    )


def _side(relation: Relation, loads: Loads) -> Side:
    guess = supposed(relation, loads)
    found = flow(relation, guess)
    return Side(found.rate, found.rows / found.rate if found.rate else 0.0, guess.values, guess.values)
