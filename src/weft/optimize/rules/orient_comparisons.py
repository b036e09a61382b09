"""The rule `orient_comparisons`."""

from __future__ import annotations

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.optimize.conditions import Types, on_conditions
from weft.plan.coercion import number_text, time_literal
from weft.plan.nodes import Plan

_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ, exp.NEQ: exp.NEQ, exp.NullSafeEQ: exp.NullSafeEQ,
    exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE,
}  # fmt: skip


def orient_comparisons(plan: Plan) -> Plan:
    """Constants stand on the right, so that queries that ask the same are seen to.

        Filter 100 < qty AND price < bid    becomes    Filter qty > 100 AND bid > price

    Of two columns the one whose name comes first stands on the left. Two constants stay as they are, and so
    do other operands: where the first is null Spark does not ask whether the second fails.
    """
    return on_conditions(plan, _orient)


def _orient(condition: Expr, types: Types) -> Expr:
    if not any(_is_mirrored(node) for node in condition.tree.walk()):
        return condition
    return expr(condition.tree.transform(_orient_node), condition.place)


def _is_mirrored(node: exp.Expr) -> bool:
    if type(node) not in _MIRRORED:
        return False
    left, right = node.this, node.expression
    if isinstance(left, exp.Column) and isinstance(right, exp.Column):
        return bool(right.name < left.name)
    return _is_constant(left) and not _is_constant(right)


def _orient_node(node: exp.Expr) -> exp.Expr:
    if not _is_mirrored(node):
        return node
    return _MIRRORED[type(node)](this=node.expression, expression=node.this)


def _is_constant(tree: exp.Expr) -> bool:
    if isinstance(tree, exp.Cast):
        return time_literal(tree) is not None
    return isinstance(tree, exp.Literal | exp.Boolean) or number_text(tree) is not None
