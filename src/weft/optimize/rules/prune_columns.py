"""The rule `prune_columns`."""

from __future__ import annotations

from dataclasses import replace

from weft.plan.check import expressions
from weft.plan.nodes import Aggregate, Plan, Project, Scan
from weft.plan.scope import names_in
from weft.plan.tree import rewrite_up, walk


def prune_columns(plan: Plan) -> Plan:
    """Read only the columns that something speaks of.

        Aggregate by symbol: count(*) <- trades (symbol, price, qty)    becomes    ... <- trades (symbol)

    The event time is read of every stream anyway and is listed only where an expression names it.
    """
    match plan:
        case Aggregate():
            return _prune(plan)
        case Project() if not any(isinstance(node, Aggregate) for node in walk(plan)):
            return _prune(plan)
        case _:
            return plan


def _prune(plan: Plan) -> Plan:
    sources = [source for node in walk(plan) for source in expressions(node)]
    wanted = frozenset[str]().union(*map(names_in, sources))

    def narrow(node: Plan) -> Plan:
        if not isinstance(node, Scan) or all(column.name in wanted for column in node.columns):
            return node
        return replace(node, columns=tuple(column for column in node.columns if column.name in wanted))

    return rewrite_up(plan, narrow)
