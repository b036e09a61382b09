"""The rule `settle_lists`."""

from __future__ import annotations

from sqlglot import exp

from weft.lang.expressions import text_of
from weft.lang.statements import Expr
from weft.optimize.conditions import Types, cannot_fail, on_conditions, on_nodes
from weft.plan.nodes import Plan


def settle_lists(plan: Plan) -> Plan:
    """The values of an IN stand in one order and once each, and a single one is compared.

        Filter venue IN ('Y', 'X', 'Y') AND qty IN (5)    becomes    Filter venue IN ('X', 'Y') AND qty = 5

    A list of which something could fail stays, as do values of types that would be converted another way
    beside others: NULL is compared with nothing, but makes FALSE unknown wherever it stands.
    """
    return on_conditions(plan, _settle)


def _settle(condition: Expr, types: Types) -> Expr:
    return on_nodes(condition, exp.In, lambda node: _settled(node, types))


def _settled(node: exp.In, types: Types) -> exp.Expr:
    """The node itself where there is nothing to do."""
    if not cannot_fail(node, types):
        return node
    values = {text_of(value): value for value in node.expressions}
    if len(values) == 1:
        (value,) = values.values()
        return exp.paren(exp.EQ(this=node.this.copy(), expression=value.copy()), copy=False)
    ordered = [values[text] for text in sorted(values)]
    if len(ordered) == len(node.expressions) and all(map(_is, ordered, node.expressions)):
        return node
    return exp.In(this=node.this.copy(), expressions=[value.copy() for value in ordered])


def _is(one: exp.Expr, other: exp.Expr) -> bool:
    return one is other
