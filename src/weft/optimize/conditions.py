"""Conditions taken apart and put together again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.coercion import FRACTIONAL, is_integral, is_numeric, time_literal
from weft.plan.functions import call_of
from weft.plan.nodes import Aggregate, Filter, Plan
from weft.plan.tree import schema
from weft.plan.types import infer

Types = Mapping[str, str | None]
N = TypeVar("N", bound=exp.Expr)

# Functions that have a value for every value of their one argument, if it is of one of these types.
_TOTAL: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("upper", "lower", "trim", "ltrim", "rtrim", "length", "initcap", "reverse"), ("string",)
    ),
    **dict.fromkeys(
        ("year", "month", "day", "dayofweek", "weekday", "quarter", "date"), ("date", "timestamp")
    ),
    **dict.fromkeys(("hour", "minute", "second"), ("timestamp",)),
    "isnan": ("float", "double"),
    "abs": ("float", "double"),
}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ)


def bare_conjuncts(condition: Expr) -> list[exp.Expr]:
    """The parts that AND joins, in order, out of their parentheses."""
    tree = condition.tree
    return [part.unnest() for part in tree.flatten()] if isinstance(tree, exp.And) else [tree]


def conjoin(parts: Sequence[exp.Expr], like: Expr) -> Expr:
    """The parts joined by AND, in order, at the place of `like`; TRUE if there are none."""
    tree: exp.Expr = parts[0].copy() if parts else exp.true()
    for part in parts[1:]:
        tree = exp.And(this=tree, expression=part.copy())
    return expr(tree, like.place)


def on_conditions(node: Plan, change: Callable[[Expr, Types], Expr]) -> Plan:
    """The node with `change` applied to its conditions (WHERE, HAVING, FILTER), or the same object."""
    match node:
        case Filter(source=source, predicate=predicate):
            changed = change(predicate, _types(source))
            return node if changed == predicate else replace(node, predicate=changed)
        case Aggregate(source=source, aggregations=aggregations):
            types = _types(source)
            made = tuple(
                replace(one, filter=change(one.filter, types)) if one.filter is not None else one
                for one in aggregations
            )
            return node if made == aggregations else replace(node, aggregations=made)
        case _:
            return node


def on_nodes(condition: Expr, kind: type[N], change: Callable[[N], exp.Expr]) -> Expr:
    """The condition with `change` applied to its nodes of a kind; the same object if all stay as they are."""
    if all(change(node) is node for node in condition.tree.find_all(kind)):
        return condition

    def changed(node: exp.Expr) -> exp.Expr:
        return change(node) if isinstance(node, kind) else node

    return expr(condition.tree.transform(changed), condition.place)


def _types(plan: Plan) -> Types:
    return {column.name: column.type for column in schema(plan)}


def cannot_fail(tree: exp.Expr, types: Types) -> bool:
    """Is it certain that no row makes the expression raise an error? If in doubt, it is not."""
    match tree:
        case exp.Column() | exp.Literal() | exp.Boolean() | exp.Null():
            return True
        case exp.Paren() | exp.Not():
            return cannot_fail(tree.this, types)
        case exp.Cast():
            return time_literal(tree) is not None
        case exp.And() | exp.Or():
            return cannot_fail(tree.left, types) and cannot_fail(tree.right, types)
        case exp.Is():
            return cannot_fail(tree.this, types)
        case exp.Between():
            return _compare_safely([tree.this, tree.args["low"], tree.args["high"]], types)
        case exp.In():
            return bool(tree.expressions) and _compare_safely([tree.this, *tree.expressions], types)
        case exp.Neg() | exp.Add() | exp.Sub() | exp.Mul():
            parts = list(tree.iter_expressions())
            return infer(tree, types) in FRACTIONAL and all(cannot_fail(part, types) for part in parts)
        case exp.Like():
            pattern = tree.expression
            plain = isinstance(pattern, exp.Literal) and "\\" not in str(pattern.this)
            return plain and _compare_safely([tree.this, pattern], types)
    if isinstance(tree, _COMPARISONS):
        return _compare_safely([tree.left, tree.right], types)
    return _is_total_call(tree, types)


def _is_total_call(tree: exp.Expr, types: Types) -> bool:
    """Is it a call of a function that has a value for every value of its argument?"""
    call = call_of(tree)
    if call is None or len(call.args) != 1 or not cannot_fail(call.args[0], types):
        return False
    return infer(call.args[0], types) in _TOTAL.get(call.name, ())


def _compare_safely(parts: Sequence[exp.Expr], types: Types) -> bool:
    """Can the first part be compared with the others, converting neither in a way that could fail?"""
    first, *others = (infer(part, types) for part in parts)
    comparable = all(_meet_safely(first, other) for other in others)
    return comparable and all(cannot_fail(part, types) for part in parts)


def _meet_safely(left: str | None, right: str | None) -> bool:
    if left is None or right is None:
        return False
    if left == right or (is_integral(left) and is_integral(right)):
        return True
    return is_numeric(left) and is_numeric(right) and (left in FRACTIONAL or right in FRACTIONAL)
