"""The rule `push_not_down`."""

from __future__ import annotations

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.optimize.conditions import Types, on_conditions
from weft.plan.nodes import Plan

_OPPOSITE: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ, exp.NEQ: exp.EQ,
    exp.GT: exp.LTE, exp.LTE: exp.GT, exp.LT: exp.GTE, exp.GTE: exp.LT,
}  # fmt: skip
_DUAL: dict[type[exp.Expr], type[exp.Expr]] = {exp.And: exp.Or, exp.Or: exp.And}


def push_not_down(plan: Plan) -> Plan:
    """NOT stands before what is no comparison, AND or OR, so that queries that ask the same are seen to.

        Filter NOT (qty > 5 AND live)    becomes    Filter qty <= 5 OR NOT live

    So it is with NULL, which stays NULL, and with NaN, which Spark ranks above all other numbers: of any two
    values one is greater or they are equal. Operands keep their order, and with it what is asked at all.
    """
    return on_conditions(plan, _push)


def _push(condition: Expr, types: Types) -> Expr:
    if not any(_can_be_pushed(node) for node in condition.tree.find_all(exp.Not)):
        return condition
    return expr(condition.tree.transform(_push_node), condition.place)


def _can_be_pushed(node: exp.Expr) -> bool:
    return isinstance(node, exp.Not) and type(node.this.unnest()) in (*_OPPOSITE, *_DUAL)


def _push_node(node: exp.Expr) -> exp.Expr:
    if not _can_be_pushed(node):
        return node
    inner = node.this.unnest()
    left, right = inner.this.copy(), inner.expression.copy()
    if type(inner) in _OPPOSITE:
        return exp.paren(_OPPOSITE[type(inner)](this=left, expression=right), copy=False)
    dual = _DUAL[type(inner)]
    return exp.paren(dual(this=_negated(left), expression=_negated(right)), copy=False)


def _negated(tree: exp.Expr) -> exp.Expr:
    inner = tree.unnest()
    return inner.this.unnest() if isinstance(inner, exp.Not) else exp.Not(this=exp.paren(inner, copy=False))
