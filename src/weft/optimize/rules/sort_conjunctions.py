"""The rule `sort_conjunctions`."""

from __future__ import annotations

from itertools import groupby

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.optimize.conditions import Types, cannot_fail, conjoin, conjuncts, on_conditions
from weft.plan.nodes import Plan


def sort_conjunctions(plan: Plan) -> Plan:
    """The parts of an AND stand in one order and once each, so that queries that ask the same are seen to.

        Filter venue = 'X' AND qty > 5 AND venue = 'X'    becomes    Filter qty > 5 AND venue = 'X'

    A part that could fail keeps its place, and no other part crosses it: in `b <> 0 AND a / b > 1` the order
    is what keeps the division from failing.
    """
    return on_conditions(plan, _sort)


def _sort(condition: Expr, types: Types) -> Expr:
    parts = conjuncts(condition)
    if len(parts) == 1:
        return condition
    ordered: dict[str, exp.Expr] = {}
    for safe, run in groupby(parts, key=lambda part: cannot_fail(part, types)):
        texts = [(expr(part).sql, part) for part in run]
        ordered |= {
            text: ordered.get(text, part)
            for text, part in (sorted(texts, key=lambda pair: pair[0]) if safe else texts)
        }
    return conjoin(list(ordered.values()), condition)
