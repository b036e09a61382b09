"""Window joins that share a chain: the same two streams on the same condition, whatever else is asked.

    q1   a [RANGE 1 MINUTE]   JOIN b [RANGE 1 MINUTE]  ON a.k = b.k
    q2   a [RANGE 1 HOUR]     JOIN b [RANGE 1 HOUR]    ON a.k = b.k WHERE a.v > 100
    q3   a [RANGE 10 SECONDS] JOIN b [RANGE 1 HOUR]    ON a.k = b.k WHERE b.v > 7

Rows are held once, each for as long as the longest window that wants it; pairs are found once, and each goes
to its queries. After Wang, Rundensteiner, Ganguly and Bhatnagar, "State-Slice" (VLDB 2006), with one
departure: there the rows held are cut into slices by age, and move from one to the next; here by how long
they are wanted, and stay where they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from weft.lang.bodies import JoinKind
from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.nodes import Named
from weft.plan.relations import Paired, Rows
from weft.plan.scope import column
from weft.times import Duration

LEFT, RIGHT = "l ", "r "  # begin the names of the columns of a chain; behind it what they are computed from


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


@dataclass(frozen=True, slots=True)
class Link:
    """A join as part of a chain."""

    chain: Chain
    left: Wanted
    right: Wanted


def link(relation: Paired) -> Link | None:
    """The join as part of a chain; None: it is not one of two streams."""
    left, right = relation.left, relation.right
    if relation.kind is not JoinKind.INNER or not isinstance(left, Rows) or not isinstance(right, Rows):
        return None
    names = {item.name: LEFT + item.expr.sql for item in left.items}
    names |= {item.name: RIGHT + item.expr.sql for item in right.items}
    on = None if relation.on is None else _renamed(relation.on, names)
    chain = Chain(left.stream, right.stream, on, (left.by, right.by))
    return Link(chain, _wanted(left), _wanted(right))


def _wanted(leaf: Rows) -> Wanted:
    return Wanted(leaf.where, leaf.range, leaf.items)


def _renamed(source: Expr, names: dict[str, str]) -> Expr:
    def visit(node: exp.Expr) -> exp.Expr:
        return column(names[node.name]) if isinstance(node, exp.Column) else node

    return expr(source.tree.transform(visit).transform(_left_first))


def _left_first(node: exp.Expr) -> exp.Expr:
    """`b.k = a.k` is `a.k = b.k`, so that both are one chain."""
    if isinstance(node, exp.EQ) and _is_all(RIGHT, node.left) and _is_all(LEFT, node.right):
        return exp.EQ(this=node.right, expression=node.left)
    return node


def _is_all(side: str, tree: exp.Expr) -> bool:
    """Is it about columns of one side, and about any?"""
    names = [each.name for each in tree.find_all(exp.Column)]
    return bool(names) and all(name.startswith(side) for name in names)
