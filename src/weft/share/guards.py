"""Rows on which a query's expressions fail are kept out of that query, and of that query only.

Every expression is replaced by one that gives NULL instead of failing, and the query's predicate excludes the
rows on which it would have failed. An expression that is not evaluated does not fail: a FILTER guards its
aggregate's argument, WHERE guards everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from weft.lang.expressions import place_of, settled
from weft.lang.statements import Expr
from weft.plan.failures import Sound, sound
from weft.plan.nodes import Aggregation
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
    named = parts.aggregate.keys if parts.aggregate else parts.items
    keys = [sound(key.expr, types) for key in named]
    calls = [_sound_call(call, types) for call in (parts.aggregate.aggregations if parts.aggregate else ())]
    asked = None if parts.where is None else sound(parts.where, types)
    evaluated = disjunction([*_there(key.fails for key in keys), *(one for _, some in calls for one in some)])
    fails, inside = _fails(asked, evaluated)
    sound_rows = None if fails is None else _not(fails)
    where = _there([None if asked is None else asked.value, sound_rows])
    return Guarded(
        conjunction(where),
        tuple(key.value for key in keys),
        tuple(call for call, _ in calls),
        None if fails is None else Guard(query, fails, f"an expression of `{query}` fails on this row"),
        sound_rows if inside is fails else None if inside is None else _not(inside),
    )


def _sound_call(call: Aggregation, types: Types) -> tuple[Aggregation, list[Expr]]:
    """An aggregate that does not fail, and when it would have: its arguments only where its FILTER holds."""
    args = [sound(arg, types) for arg in call.args]
    made = replace(call, args=tuple(arg.value for arg in args))
    fails = disjunction(_there(arg.fails for arg in args))
    if call.filter is None:
        return made, _there([fails])
    only = sound(call.filter, types)
    return replace(made, filter=only.value), _there([only.fails, _when(only.value, fails)])


def _fails(asked: Sound | None, evaluated: Expr | None) -> tuple[Expr | None, Expr | None]:
    """When a query fails on a row: on any; and on one that passes its WHERE, which queries have in common."""
    if asked is None:
        return evaluated, evaluated
    anywhere = _there([asked.fails, _when(asked.value, evaluated)])
    return disjunction(anywhere), disjunction(_there([asked.fails, evaluated]))


def _there(found: Iterable[Expr | None]) -> list[Expr]:
    return [one for one in found if one is not None]


def _when(condition: Expr, fails: Expr | None) -> Expr | None:
    return None if fails is None else conjunction([condition, fails])


def _not(fails: Expr) -> Expr:
    tree = exp.Not(this=exp.func("COALESCE", fails.tree.copy(), exp.false(), copy=False))
    return settled(tree, place_of(tree))
