"""Shared plans put together by hand, for tests of what Spark makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.lang.parse import parse_expression
from weft.lang.statements import ColumnDef, CreateStream
from weft.plan.nodes import Column, Stream
from weft.share.nodes import Edges, Feed, Guard, Op, Partial, Standing, StreamPlan

TRADES = {"symbol": "string", "price": "double", "qty": "bigint", "ts": "timestamp"}


def stream(
    columns: dict[str, str], source: str = "parquet", options: dict[str, str] | None = None, **declared: Any
) -> Stream:
    """A stream of these columns, with event time `ts` unless `time_column` says otherwise."""
    computed = declared.pop("computed", {})
    definitions = [ColumnDef(name, type_) for name, type_ in columns.items()]
    definitions += [ColumnDef(name, None, parse_expression(sql)) for name, sql in computed.items()]
    time_column = declared.pop("time_column", "ts")
    statement = CreateStream(
        "trades",
        tuple(definitions),
        time_column,
        2_000_000,
        source,
        tuple((options or {}).items()),
        **declared,
    )
    typed = [Column(name, type_) for name, type_ in columns.items()] + [
        Column(name, None) for name in computed
    ]
    return Stream("trades", tuple(typed), statement)


def partial(
    op: Op,
    arg: str | None = None,
    type_: str | None = None,
    *,
    by: str | None = None,
    where: str | None = None,
    by_type: str | None = None,
) -> Partial:
    parse = parse_expression
    return Partial(op, arg and parse(arg), by and parse(by), where and parse(where), type_, by_type)


def feed(
    keys: Sequence[str], *partials: Partial, types: Sequence[str] | None = None, extra: bool = False
) -> Feed:
    parsed = tuple(parse_expression(key) for key in keys)
    return Feed(parsed, partials, tuple(types or ["string"] * len(keys)), None, extra)


def plan(
    of: Stream,
    *feeds: Feed,
    edges: Edges | None = None,
    wanted: str | None = None,
    guards: Sequence[Guard] = (),
    standing: Sequence[Standing] = (),
) -> StreamPlan:
    return StreamPlan(
        stream=of,
        edges=edges or Edges(1_000_000, (), ""),
        feeds=feeds,
        taps=(),
        standing=tuple(standing),
        guards=tuple(guards),
        wanted=wanted and parse_expression(wanted),
        columns=tuple(column.name for column in of.columns),
        longest=0,
    )
