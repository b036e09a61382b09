"""Window joins that share a chain: the same two streams on the same condition, whatever else is asked.

    q1   a [RANGE 1 MINUTE]   JOIN b [RANGE 1 MINUTE]  ON a.k = b.k
    q2   a [RANGE 1 HOUR]     JOIN b [RANGE 1 HOUR]    ON a.k = b.k WHERE a.v > 100
    q3   b [RANGE 1 HOUR]     JOIN a [RANGE 10 SECONDS] ON b.k = a.k WHERE b.v > 7

Rows are held once, each for as long as the longest window that wants it; pairs are found once, and each goes
to its queries. After Wang, Rundensteiner, Ganguly and Bhatnagar, "State-Slice" (VLDB 2006), with one
departure: there the rows held are cut into slices by age, and move from one to the next; here by how long
they are wanted, and stay where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from weft.lang.bodies import JoinKind
from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.nodes import Named
from weft.plan.relations import Paired, Rows
from weft.plan.scope import column, names_in
from weft.share.parts import conjunction, conjuncts
from weft.times import BEGINNING, Duration, Instant

LEFT, RIGHT = "l ", "r "  # begin the names of the columns of a chain; behind it what they are computed from
_TURNED: Mapping[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ, exp.NullSafeEQ: exp.NullSafeEQ,
    exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chain:
    """Rows of two streams, paired on a condition over columns that are named by side and expression."""

    left: str
    right: str
    on: Expr | None
    by: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # how the rows of each side lie in buckets


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a join wants of one side: which rows, for how long, and of each what."""

    where: Expr | None
    range: Duration | None
    items: tuple[Named, ...]  # named as in the join
    after: Instant = BEGINNING  # rows up to this time are none of its own


@dataclass(frozen=True, slots=True)
class Link:
    """A join as part of a chain; `turned`: it was written the other way round, and has its columns so."""

    chain: Chain
    left: Wanted
    right: Wanted
    turned: bool = False


def link(relation: Paired, after: Instant = BEGINNING) -> Link | None:
    """The join of rows after a time as part of a chain; None: it is not one of two streams.

    `a JOIN b` and `b JOIN a` are one chain, the sides of which are in the order of their names.
    """
    left, right = relation.left, relation.right
    if relation.kind is not JoinKind.INNER or not isinstance(left, Rows) or not isinstance(right, Rows):
        return None
    names = {item.name: LEFT + item.expr.sql for item in left.items}
    names |= {item.name: RIGHT + item.expr.sql for item in right.items}
    on = None if relation.on is None else _renamed(relation.on, names)
    chain = Chain(left.stream, right.stream, on, (left.by, right.by))
    written = Link(chain, _wanted(left, after), _wanted(right, after))
    if left.stream < right.stream:
        return written
    return min(written, turned(written), key=_order)


def turned(link: Link) -> Link:
    """The same join with its sides the other way round."""
    on = link.chain.on
    if on is not None:
        on = _renamed(on, {name: _other_side(name) for name in names_in(on)})
    left, right = link.chain.by
    chain = Chain(link.chain.right, link.chain.left, on, (right, left))
    return Link(chain, link.right, link.left, not link.turned)


def _order(link: Link) -> tuple[str, str, str]:
    chain = link.chain
    return chain.left, chain.right, "" if chain.on is None else chain.on.sql


def _other_side(name: str) -> str:
    if name.startswith(LEFT):
        return RIGHT + name.removeprefix(LEFT)
    return LEFT + name.removeprefix(RIGHT)


def _wanted(leaf: Rows, after: Instant) -> Wanted:
    return Wanted(leaf.where, leaf.range, leaf.items, after)


def _renamed(source: Expr, names: Mapping[str, str]) -> Expr | None:
    """The condition over columns of the chain: equalities first, for their order makes no difference."""

    def visit(node: exp.Expr) -> exp.Expr:
        return column(names[node.name]) if isinstance(node, exp.Column) else node

    parts = conjuncts(expr(source.tree.transform(visit).transform(_left_first)))
    equal = [part for part in parts if isinstance(part.tree.unnest(), exp.EQ)]
    equal.sort(key=lambda part: part.sql)
    return conjunction([*equal, *(part for part in parts if part not in equal)])


def _left_first(node: exp.Expr) -> exp.Expr:
    """`b.k = a.k` is `a.k = b.k`, and `b.k > a.k` is `a.k < b.k`, so that both are one chain."""
    turned = _TURNED.get(type(node))
    if turned is None or not isinstance(node, exp.Binary):
        return node
    if not _is_all(RIGHT, node.left) or not _is_all(LEFT, node.right):
        return node
    return turned(this=node.right, expression=node.left)


def _is_all(side: str, tree: exp.Expr) -> bool:
    """Is it about columns of one side, and about any?"""
    names = [each.name for each in tree.find_all(exp.Column)]
    return bool(names) and all(name.startswith(side) for name in names)
