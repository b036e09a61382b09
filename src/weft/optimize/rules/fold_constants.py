"""The rule `fold_constants`."""

from __future__ import annotations

import operator
from collections.abc import Callable

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.optimize.conditions import Types, cannot_fail, on_conditions
from weft.plan.coercion import number_text
from weft.plan.nodes import Plan

_COMPARE: dict[type[exp.Expr], Callable[[int, int], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
}


def fold_constants(plan: Plan) -> Plan:
    """What does not depend on the row is decided now.

        Filter 1 = 1 AND NOT NOT price > 5    becomes    Filter price > 5

    `1 / qty > 0 AND FALSE` stays: it fails where qty is 0, and what fails must be reported. Guarded by a
    FALSE in front of it, it goes.
    """
    return on_conditions(plan, _fold)


def _fold(condition: Expr, types: Types) -> Expr:
    if not any(_may_fold(node) for node in condition.tree.walk()):
        return condition
    folded = _fold_tree(condition.tree.copy(), types)
    return expr(folded, condition.place)


def _may_fold(node: exp.Expr) -> bool:
    return isinstance(node, exp.Boolean | exp.Not) or _fold_comparison(node) is not node


def _fold_tree(tree: exp.Expr, types: Types) -> exp.Expr:
    match tree:
        case exp.Paren():
            return _fold_tree(tree.this, types)
        case exp.And():
            return _fold_connector(tree, types, absorbs=False)
        case exp.Or():
            return _fold_connector(tree, types, absorbs=True)
        case exp.Not():
            return _fold_not(_fold_tree(tree.this, types))
    return _fold_comparison(tree)


def _fold_connector(tree: exp.Connector, types: Types, absorbs: bool) -> exp.Expr:
    """AND and OR: one constant decides (FALSE for AND), the other leaves the rest as it is."""
    left, right = _fold_tree(tree.left, types), _fold_tree(tree.right, types)
    if _is_constant(left, absorbs) or (_is_constant(right, absorbs) and cannot_fail(left, types)):
        return exp.Boolean(this=absorbs)
    if _is_constant(left, not absorbs):
        return right
    if _is_constant(right, not absorbs):
        return left
    return type(tree)(this=left, expression=right)


def _fold_not(inner: exp.Expr) -> exp.Expr:
    if isinstance(inner, exp.Boolean):
        return exp.Boolean(this=not inner.this)
    return inner.this.unnest() if isinstance(inner, exp.Not) else exp.Not(this=inner)


def _fold_comparison(tree: exp.Expr) -> exp.Expr:
    compare = _COMPARE.get(type(tree))
    if compare is None:
        return tree
    left, right = _whole_number(tree.this), _whole_number(tree.expression)
    return tree if left is None or right is None else exp.Boolean(this=compare(left, right))


def _is_constant(tree: exp.Expr, value: bool) -> bool:
    return isinstance(tree, exp.Boolean) and bool(tree.this) is value


def _whole_number(tree: exp.Expr) -> int | None:
    text = number_text(tree)
    return int(text) if text is not None and text.lstrip("-").isdigit() else None
