"""The rule `sort_operands`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.optimize.conditions import Types, cannot_fail, on_conditions
from weft.plan.nodes import Plan


def sort_operands(plan: Plan) -> Plan:
    """What AND and OR join stands in one order and once each, so that queries that ask the same are seen to.

        Filter venue = 'X' AND qty > 5 AND venue = 'X'    becomes    Filter qty > 5 AND venue = 'X'

    An operand that could fail keeps its place, and no other crosses it: in `b <> 0 AND a / b > 1` the order
    is what keeps the division from failing.
    """
    return on_conditions(plan, _sort)


def _sort(condition: Expr, types: Types) -> Expr:
    if condition.tree.find(exp.And, exp.Or) is None:
        return condition
    return expr(_sorted(condition.tree, types), condition.place)


def _sorted(tree: exp.Expr, types: Types) -> exp.Expr:
    """A copy with sorted operands, here and below NOT and parentheses."""
    match tree:
        case exp.Paren():
            return exp.paren(_sorted(tree.this, types), copy=False)
        case exp.Not():
            return exp.Not(this=_sorted(tree.this, types))
        case exp.And() | exp.Or():
            return _joined(type(tree), _ordered([_sorted(part, types) for part in operands(tree)], types))
    return tree.copy()


def operands(tree: exp.Expr) -> Iterator[exp.Expr]:
    """What the AND, or OR, at the top of a tree joins, in order and without parentheses."""
    for part in (tree.args["this"].unnest(), tree.args["expression"].unnest()):
        if type(part) is type(tree):
            yield from operands(part)
        else:
            yield part


def _ordered(parts: list[exp.Expr], types: Types) -> list[exp.Expr]:
    ordered: dict[str, exp.Expr] = {}
    for safe, run in groupby(parts, key=lambda part: cannot_fail(part, types)):
        texts = [(expr(part).sql, part) for part in run]
        ordered |= {
            text: ordered.get(text, part)
            for text, part in (sorted(texts, key=lambda pair: pair[0]) if safe else texts)
        }
    return list(ordered.values())


def _joined(kind: type[exp.Expr], parts: list[exp.Expr]) -> exp.Expr:
    tree = parts[0]
    for part in parts[1:]:
        tree = kind(this=tree, expression=part)
    return tree
