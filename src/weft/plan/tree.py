"""Walking and rewriting plans, and what a plan's rows look like."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import assert_never

from weft.lang.statements import WindowSpec
from weft.plan import relationtree
from weft.plan.groupsets import grouping_columns
from weft.plan.nodes import Aggregate, Column, Filter, Plan, Project, Query, Related, Scan, Top, Window


def children(plan: Plan) -> tuple[Plan, ...]:
    match plan:
        case Scan() | Related():
            return ()
        case Filter() | Window() | Aggregate() | Project() | Top():
            return (plan.source,)
        case _:
            assert_never(plan)


def walk(plan: Plan) -> Iterator[Plan]:
    """The node itself, then all below it."""
    yield plan
    for child in children(plan):
        yield from walk(child)


def rewrite_up(plan: Plan, rule: Callable[[Plan], Plan]) -> Plan:
    """The plan with `rule` applied to every node, those below first; the same object if nothing changed."""
    match plan:
        case Scan() | Related():
            return rule(plan)
        case Filter() | Window() | Aggregate() | Project() | Top():
            source = rewrite_up(plan.source, rule)
            return rule(plan if source is plan.source else replace(plan, source=source))
        case _:
            assert_never(plan)


def over(plan: Plan, window: WindowSpec) -> Plan:
    """The same over another window."""

    def change(node: Plan) -> Plan:
        return Window(node.source, window, window.place) if isinstance(node, Window) else node

    return rewrite_up(plan, change)


def schema(plan: Plan) -> tuple[Column, ...]:
    """The columns of the plan's rows."""
    match plan:
        case Scan(columns=columns):
            return columns
        case Filter(source=source) | Window(source=source) | Top(source=source):
            return schema(source)
        case Aggregate(keys=keys, aggregations=aggregations):
            return (
                Column("window_start", "timestamp"),
                Column("window_end", "timestamp"),
                *(Column(key.name, key.type) for key in keys),
                *(Column(made.name, made.type) for made in aggregations),
                *grouping_columns(plan),
            )
        case Project(items=items):
            return tuple(Column(item.name, item.type) for item in items)
        case Related(relation=relation):
            return relationtree.columns(relation)
        case _:
            assert_never(plan)


def streams_of(query: Query) -> tuple[str, ...]:
    """The streams that a query reads, each once, in order."""
    if isinstance(query.plan, Related):
        return relationtree.streams(query.plan.relation)
    return tuple(node.stream for node in walk(query.plan) if isinstance(node, Scan))


def fingerprint(plan: Plan) -> str:
    """Sixteen hex digits that are the same for equal plans, in every process; places do not count."""
    return hashlib.sha256(repr(plan).encode()).hexdigest()[:16]
