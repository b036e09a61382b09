"""The rule `number_aggregates`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.nodes import Aggregate, Aggregation, Filter, Plan, Project, Top
from weft.plan.scope import column, names_in
from weft.plan.shownparts import show_aggregation
from weft.plan.tree import rewrite_up, walk

_Names = Mapping[str, str]  # before: after


def number_aggregates(plan: Plan) -> Plan:
    """Keys and aggregates are numbered by what they are, each once, not by where the query speaks of them.

        SELECT SUM(qty), COUNT(*) ... GROUP BY venue, symbol    becomes    _k0 = symbol, _k1 = venue:
                                                                           _a0 = count(*), _a1 = sum(qty)

    So what stands above is the same text in queries that say the same. Keys keep their order where it tells
    ties apart, with ORDER BY, and where grouping sets and their ids speak of it.
    """
    match plan:
        case Project():
            aggregate = next((node for node in walk(plan) if isinstance(node, Aggregate)), None)
            return plan if aggregate is None else _numbered(plan, aggregate)
        case _:
            return plan


def _numbered(plan: Project, aggregate: Aggregate) -> Plan:
    is_ordered = isinstance(plan.source, Top) or bool(aggregate.sets)
    keys = aggregate.keys if is_ordered else tuple(sorted(aggregate.keys, key=lambda key: key.expr.sql))
    calls = tuple(sorted(aggregate.aggregations, key=_text))
    distinct = list(dict.fromkeys(replace(call, name="") for call in calls))
    names = {key.name: f"_k{at}" for at, key in enumerate(keys)}
    names |= {call.name: f"_a{distinct.index(replace(call, name=''))}" for call in calls}
    if all(before == after for before, after in names.items()):
        return plan
    numbered = replace(
        aggregate,
        keys=tuple(replace(key, name=names[key.name]) for key in keys),
        aggregations=tuple(replace(call, name=f"_a{at}") for at, call in enumerate(distinct)),
    )
    return rewrite_up(plan, lambda node: _renumbered(node, numbered, names))


def _renumbered(node: Plan, aggregate: Aggregate, names: _Names) -> Plan:
    match node:
        case Aggregate():
            return aggregate
        case Filter(source=source, predicate=predicate) if _is_above(source):
            return replace(node, predicate=_renamed(predicate, names))
        case Top(order=order):
            return replace(node, order=tuple(replace(key, expr=_renamed(key.expr, names)) for key in order))
        case Project(items=items):
            return replace(
                node, items=tuple(replace(item, expr=_renamed(item.expr, names)) for item in items)
            )
        case _:
            return node


def _text(call: Aggregation) -> tuple[str, str]:
    return show_aggregation(call), repr(replace(call, name=""))


def _is_above(plan: Plan) -> bool:
    return any(isinstance(node, Aggregate) for node in walk(plan))


def _renamed(source: Expr, names: _Names) -> Expr:
    if all(names.get(name, name) == name for name in names_in(source)):
        return source

    def rename(node: exp.Expr) -> exp.Expr:
        return column(names[node.name]) if isinstance(node, exp.Column) and node.name in names else node

    return expr(source.tree.transform(rename), source.place)
