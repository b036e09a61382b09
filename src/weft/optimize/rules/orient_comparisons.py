"""The rule `orient_comparisons`."""

from __future__ import annotations

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.optimize.conditions import Types, on_conditions
from weft.plan.coercion import number_text
from weft.plan.nodes import Plan

_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ, exp.NullSafeEQ: exp.NullSafeEQ,
    exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE,
}  # fmt: skip


def orient_comparisons(plan: Plan) -> Plan:
    """Constants stand on the right, so that queries that ask the same are seen to.

        Filter 100 < qty    becomes    Filter qty > 100

    Two columns, or two constants, stay as they are.
    """
    return on_conditions(plan, _orient)


def _orient(condition: Expr, types: Types) -> Expr:
    if not any(_is_mirrored(node) for node in condition.tree.walk()):
        return condition
    return expr(condition.tree.transform(_orient_node), condition.place)


def _is_mirrored(node: exp.Expr) -> bool:
    return type(node) in _MIRRORED and _is_constant(node.this) and not _is_constant(node.expression)


def _orient_node(node: exp.Expr) -> exp.Expr:
    if not _is_mirrored(node):
        return node
    return _MIRRORED[type(node)](this=node.expression, expression=node.this)


def _is_constant(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Literal | exp.Boolean) or number_text(tree) is not None
