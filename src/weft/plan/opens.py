"""Expressions whose type only Spark can tell, as it can tell them: over single rows of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.aggregates import SAME_TYPE
from weft.plan.groupsets import grouping_columns
from weft.plan.nodes import Aggregate, Filter, Plan, Program, Project, Related, Scan, Stream, Top, Window
from weft.plan.origins import open_in_relation
from weft.plan.rows import type_key
from weft.plan.scope import WINDOW_COLUMNS
from weft.plan.tree import walk
from weft.plan.types import infer


def above_types(aggregate: Aggregate) -> dict[str, str | None]:
    """The types of the columns that expressions above an Aggregate speak of."""
    return {
        **dict.fromkeys(WINDOW_COLUMNS, "timestamp"),
        **{key.name: key.type for key in aggregate.keys},
        **{made.name: made.type for made in aggregate.aggregations},
        **{column.name: column.type for column in grouping_columns(aggregate)},
    }


def stand_in(source: Expr, aggregate: Aggregate) -> Expr | None:
    """A row expression of the same type as `source`, which stands above `aggregate`; None if there is none.

    Group keys become what they are computed from, and so do MIN, MAX and the like, which have the type of
    their argument; other aggregates become a NULL of their type: `_a0 / _k0` becomes
    `CAST(NULL AS BIGINT) / qty`.
    """
    types = above_types(aggregate)
    rows = {key.name: key.expr.tree for key in aggregate.keys}
    rows |= {made.name: made.args[0].tree for made in aggregate.aggregations if made.function in SAME_TYPE}
    unknown = False

    def visit(node: exp.Expr) -> exp.Expr:
        nonlocal unknown
        if not isinstance(node, exp.Column):
            return node
        if node.name in rows:
            return rows[node.name].copy()
        type = types.get(node.name)
        unknown = unknown or type is None
        return exp.cast(exp.Null(), type.upper(), dialect="spark") if type else node

    row = source.tree.transform(visit)
    return None if unknown else expr(row, source.place)


def open_expressions(
    program: Program, types: Mapping[str, str] | None = None
) -> Mapping[str, tuple[Expr, ...]]:
    """Per stream the expressions whose type is neither known nor in `types`, each over single rows of it.

    `types` is filed by `type_key`. What stands above an aggregate is listed once the types of the aggregates
    are known: bind again with the types found so far, until nothing is open.
    """
    told = types or {}
    found: dict[str, dict[str, Expr]] = {stream.name: {} for stream in program.streams}
    for stream in program.streams:
        for source in (*_open_columns(stream), *_open_in_queries(program, stream)):
            if type_key(stream.name, source) not in told:
                found[stream.name][source.sql] = source
    return {name: tuple(sources.values()) for name, sources in found.items() if sources}


def _open_columns(stream: Stream) -> Iterator[Expr]:
    for column, made in zip(stream.columns, stream.statement.columns):
        if column.type is None and made.expr is not None:
            yield made.expr


def _open_in_queries(program: Program, stream: Stream) -> Iterator[Expr]:
    types = {column.name: column.type for column in stream.columns}
    for query in program.queries:
        if isinstance(query.plan, Related):
            known = {stream.name: types}
            yield from (
                one for name, one in open_in_relation(query.plan.relation, known) if name == stream.name
            )
            continue
        nodes = list(walk(query.plan))
        if any(isinstance(node, Scan) and node.stream == stream.name for node in nodes):
            for node in nodes:
                yield from _open_in_node(node, types)


def _open_in_node(node: Plan, types: Mapping[str, str | None]) -> Iterator[Expr]:
    """The open expressions of one node, as row expressions."""
    match node:
        case Aggregate(keys=keys, aggregations=aggregations):
            yield from (key.expr for key in keys if key.type is None)
            for made in aggregations:
                yield from (arg for arg, type in zip(made.args, made.arg_types) if type is None)
                if made.filter is not None and infer(made.filter.tree, types) is None:
                    yield made.filter
        case Filter(source=source, predicate=predicate):
            yield from _open_above(source, [predicate], types)
        case Project(source=source, items=items):
            yield from _open_above(source, [item.expr for item in items if item.type is None], types)
        case Scan() | Window() | Top() | Related():
            pass
        case _:
            assert_never(node)


def _open_above(source: Plan, sources: Iterable[Expr], types: Mapping[str, str | None]) -> Iterator[Expr]:
    """Those of the expressions over `source` that are open, aggregates in them replaced."""
    aggregate = next((node for node in walk(source) if isinstance(node, Aggregate)), None)
    for one in sources:
        if aggregate is None:
            if infer(one.tree, types) is None:
                yield one
        elif infer(one.tree, above_types(aggregate)) is None:
            row = stand_in(one, aggregate)
            if row is not None:
                yield row
