"""Relations in terms of fewer operators: what is left is pairs, absence, counts and unions.

a LEFT JOIN b      pairs of a and b, and with nulls beside them the rows of a while they have no partner
a UNION b          what is DISTINCT of a UNION ALL b

A LEFT JOIN of rows with a table that they look up stays: one look finds the partner, or that there is none.
"""

from __future__ import annotations

from sqlglot import exp

from weft.lang.bodies import JoinKind, SetKind
from weft.lang.expressions import expr
from weft.plan.lookups import lookup
from weft.plan.nodes import Column, Named
from weft.plan.relations import Distinct, Made, Merged, Paired, Relation, Whether
from weft.plan.relationtree import columns, rewrite_up
from weft.plan.scope import column


def lowered(relation: Relation) -> Relation:
    return rewrite_up(relation, _lower)


def _lower(node: Relation) -> Relation:
    match node:
        case Paired(kind=JoinKind.LEFT | JoinKind.RIGHT | JoinKind.FULL) if lookup(node) is None:
            return _outer(node)
        case Merged(kind=SetKind.UNION, all=False, left=left, right=right):
            return Distinct(Merged(SetKind.UNION, True, left, right))
        case _:
            return node


def _outer(node: Paired) -> Relation:
    left, right = node.left, node.right
    found: Relation = Paired(JoinKind.INNER, left, right, node.on)
    if node.kind in (JoinKind.LEFT, JoinKind.FULL):
        alone = Whether(left, right, node.on, negated=True)
        items = (*same(columns(left)), *nulls(columns(right)))
        found = Merged(SetKind.UNION, True, found, Made(alone, items))
    if node.kind in (JoinKind.RIGHT, JoinKind.FULL):
        alone = Whether(right, left, node.on, negated=True)
        items = (*nulls(columns(left)), *same(columns(right)))
        found = Merged(SetKind.UNION, True, found, Made(alone, items))
    return found


def same(of: tuple[Column, ...]) -> tuple[Named, ...]:
    """The columns as they are."""
    return tuple(Named(each.name, expr(column(each.name)), each.type) for each in of)


def nulls(of: tuple[Column, ...]) -> tuple[Named, ...]:
    """A null of the type of each column."""
    return tuple(Named(each.name, expr(_null(each.type)), each.type) for each in of)


def _null(type_: str | None) -> exp.Expr:
    return exp.Null() if type_ is None else exp.cast(exp.Null(), type_.upper(), dialect="spark")
