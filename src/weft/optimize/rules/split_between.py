"""The rule `split_between`."""

from __future__ import annotations

from sqlglot import exp

from weft.lang.statements import Expr
from weft.optimize.conditions import Types, cannot_fail, on_conditions, on_nodes
from weft.plan.nodes import Plan


def split_between(plan: Plan) -> Plan:
    """BETWEEN is two comparisons, so that it is seen to ask the same as they do.

        Filter qty BETWEEN 1 AND 5    becomes    Filter qty >= 1 AND qty <= 5

    Where an operand could fail it stays: it would be asked twice whether it does.
    """
    return on_conditions(plan, _split)


def _split(condition: Expr, types: Types) -> Expr:
    return on_nodes(condition, exp.Between, lambda node: _two_comparisons(node, types))


def _two_comparisons(node: exp.Between, types: Types) -> exp.Expr:
    """The node itself where it has to stay."""
    if node.args.get("symmetric") or not cannot_fail(node, types):
        return node
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    high = exp.LTE(this=node.this.copy(), expression=node.args["high"].copy())
    return exp.paren(exp.And(this=low, expression=high), copy=False)
