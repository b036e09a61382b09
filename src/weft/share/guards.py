"""Rows on which a query's expressions fail are kept out of that query, and of that query only.

Every expression is replaced by one that gives NULL instead of failing, and the query's predicate excludes the
rows on which it would have failed. An expression that is not evaluated does not fail: a FILTER guards its
aggregate's argument, WHERE guards everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.failures import failing, safe
from weft.plan.nodes import Aggregation, Named
from weft.share.nodes import Guard
from weft.share.parts import Parts, conjunction, disjunction

Types = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Guarded:
    """A query's expressions below its aggregate, none of which can fail."""

    where: Expr | None
    keys: tuple[Expr, ...]
    calls: tuple[Aggregation, ...]
    guard: Guard | None
    inside: Expr | None = None  # the last part of `where`, said of rows that pass all the others


def guarded(query: str, parts: Parts, types: Types) -> Guarded:
    """The expressions of `query` made safe, its predicate without the rows on which one of them fails."""
    keys = parts.aggregate.keys if parts.aggregate else parts.items
    calls = parts.aggregate.aggregations if parts.aggregate else ()
    fails, inside = _fails(parts.where, keys, calls, types)
    where = None if parts.where is None else safe(parts.where, types)
    if fails is not None:
        where = conjunction([*([where] if where else []), _not(fails)])
    return Guarded(
        where,
        tuple(safe(key.expr, types) for key in keys),
        tuple(_safe_call(call, types) for call in calls),
        None if fails is None else Guard(query, fails, f"an expression of `{query}` fails on this row"),
        None if inside is None else _not(inside),
    )


def _safe_call(call: Aggregation, types: Types) -> Aggregation:
    return replace(
        call,
        args=tuple(safe(arg, types) for arg in call.args),
        filter=None if call.filter is None else safe(call.filter, types),
    )


def _fails(
    where: Expr | None, keys: tuple[Named, ...], calls: tuple[Aggregation, ...], types: Types
) -> tuple[Expr | None, Expr | None]:
    """When a query fails on a row: on any; and on one that passes its WHERE, which queries have in common."""
    inside = [failing(key.expr, types) for key in keys]
    for call in calls:
        arguments = disjunction([f for f in (failing(arg, types) for arg in call.args) if f])
        if call.filter is not None:
            inside.append(failing(call.filter, types))
            arguments = _when(safe(call.filter, types), arguments)
        inside.append(arguments)
    evaluated = disjunction([part for part in inside if part])
    if where is None:
        return evaluated, evaluated
    outer = failing(where, types)
    anywhere = [part for part in (outer, _when(safe(where, types), evaluated)) if part]
    passing = [part for part in (outer, evaluated) if part]
    return disjunction(anywhere), disjunction(passing)


def _when(condition: Expr, fails: Expr | None) -> Expr | None:
    return None if fails is None else conjunction([condition, fails])


def _not(fails: Expr) -> Expr:
    return expr(exp.Not(this=exp.func("COALESCE", fails.tree.copy(), exp.false())))
