"""The rule `split_between`."""

from __future__ import annotations

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.optimize.conditions import Types, cannot_fail, on_conditions
from weft.plan.nodes import Plan


def split_between(plan: Plan) -> Plan:
    """BETWEEN is two comparisons, so that it is seen to ask the same as they do.

        Filter qty BETWEEN 1 AND 5    becomes    Filter qty >= 1 AND qty <= 5

    Where an operand could fail it stays: it would be asked twice whether it does.
    """
    return on_conditions(plan, _split)


def _split(condition: Expr, types: Types) -> Expr:
    if not any(_can_be_split(node, types) for node in condition.tree.find_all(exp.Between)):
        return condition

    def split(node: exp.Expr) -> exp.Expr:
        return _two_comparisons(node) if _can_be_split(node, types) else node

    return expr(condition.tree.transform(split), condition.place)


def _can_be_split(node: exp.Expr, types: Types) -> bool:
    return isinstance(node, exp.Between) and not node.args.get("symmetric") and cannot_fail(node, types)


def _two_comparisons(node: exp.Expr) -> exp.Expr:
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
    return exp.paren(exp.And(this=low, expression=high), copy=False)
