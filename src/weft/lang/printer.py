"""Statements -> canonical text; `parse_program(print_statement(s)) == (s,)`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import assert_never

from weft.lang.bodyprinter import print_body
from weft.lang.clauseprinter import print_duration, print_item, print_order_key
from weft.lang.names import shown
from weft.lang.statements import (
    ColumnDef,
    CreateQuery,
    CreateRelation,
    CreateStream,
    CreateTable,
    CreateView,
    DropQuery,
    DropTable,
    DropView,
    Explain,
    Select,
    ShowQueries,
    ShowStreams,
    Sink,
    Source,
    Statement,
    WindowSpec,
)
from weft.times import DAY, Duration


def print_statement(statement: Statement) -> str:
    """The statement as text, without a semicolon."""
    match statement:
        case CreateStream():
            return _stream(statement)
        case CreateQuery():
            return _query(statement)
        case CreateRelation():
            return _relation(statement)
        case CreateView(name, body):
            return f"CREATE VIEW {shown(name)} AS\n{print_body(body)}"
        case CreateTable():
            return _table(statement)
        case DropQuery(name):
            return f"DROP QUERY {shown(name)}"
        case DropView(name):
            return f"DROP VIEW {shown(name)}"
        case DropTable(name):
            return f"DROP TABLE {shown(name)}"
        case ShowStreams():
            return "SHOW STREAMS"
        case ShowQueries():
            return "SHOW QUERIES"
        case Explain(name, analyze):
            return f"EXPLAIN {'ANALYZE ' if analyze else ''}{shown(name) if name else 'ALL'}"
        case _:
            assert_never(statement)


def print_select(select: Select) -> str:
    """The SELECT as text, a line for each of its clauses."""
    lines = ["SELECT " + ", ".join(map(print_item, select.items)), "FROM " + _source(select.source)]
    if select.where:
        lines.append(f"WHERE {select.where.sql}")
    if select.group_by:
        lines.append("GROUP BY " + ", ".join(key.sql for key in select.group_by))
    if select.having:
        lines.append(f"HAVING {select.having.sql}")
    if select.order_by:
        lines.append("ORDER BY " + ", ".join(map(print_order_key, select.order_by)))
    if select.limit is not None:
        lines.append(f"LIMIT {select.limit}")
    return "\n".join(lines)


def _stream(stream: CreateStream) -> str:
    columns = ",\n".join(f"  {_column(column)}" for column in stream.columns)
    lines = [
        f"CREATE STREAM {shown(stream.name)} (\n{columns}\n)",
        f"TIMESTAMP BY {shown(stream.time_column)} DELAY {print_duration(stream.delay)}",
    ]
    if stream.idle_after is not None:
        lines.append(f"IDLE AFTER {print_duration(stream.idle_after)}")
    if stream.max_ahead is None:
        lines.append("MAX AHEAD OFF")
    elif stream.max_ahead != DAY:
        lines.append(f"MAX AHEAD {print_duration(stream.max_ahead)}")
    if stream.keep_late:
        lines.append("KEEP LATE")
    lines.append(f"FROM {_format(stream.format, stream.options)}")
    return "\n".join(lines)


def _column(column: ColumnDef) -> str:
    if column.expr is not None:
        return f"{shown(column.name)} AS {column.expr.sql}"
    type = column.type or ""
    keep = "<" in type  # the fields of a struct keep their spelling
    return f"{shown(column.name)} {type if keep else type.upper()}"


def _query(query: CreateQuery) -> str:
    lines = [f"CREATE QUERY {shown(query.name)} AS", print_select(query.select)]
    if query.emit_empty:
        lines.append("EMIT EMPTY")
    return "\n".join([*lines, *_clauses(query.fail_on_error, query.retain, query.sink)])


def _relation(query: CreateRelation) -> str:
    lines = [f"CREATE QUERY {shown(query.name)} AS", print_body(query.body)]
    if query.emit_changes:
        lines.append("EMIT CHANGES")
    return "\n".join([*lines, *_clauses(query.fail_on_error, query.retain, query.sink)])


def _clauses(fail_on_error: bool, retain: Duration | None, sink: Sink | None) -> Iterator[str]:
    if fail_on_error:
        yield "ON ERROR FAIL"
    if retain is not None:
        yield f"RETAIN {print_duration(retain)}"
    if sink is not None:
        yield f"INTO {_format(sink.format, sink.options)}"


def _table(table: CreateTable) -> str:
    columns = ",\n".join(f"  {_column(column)}" for column in table.columns)
    lines = [f"CREATE TABLE {shown(table.name)}" + (f" (\n{columns}\n)" if columns else "")]
    if table.key:
        lines.append(f"KEY ({', '.join(map(shown, table.key))})")
    if table.retroactive:
        lines.append("RETROACTIVE")
    if table.refresh is not None:
        lines.append(f"REFRESH EVERY {print_duration(table.refresh)}")
    if table.delete is not None:
        lines.append(f"DELETE WHERE {table.delete.sql}")
    source = _format(table.format, table.options) if table.stream is None else f"STREAM {shown(table.stream)}"
    lines.append(f"FROM {source}")
    return "\n".join(lines)


def _source(source: Source) -> str:
    window = f" {print_window(source.window)}" if source.window else ""
    alias = f" AS {shown(source.alias)}" if source.alias else ""
    return f"{shown(source.stream)}{window}{alias}"


def print_window(window: WindowSpec) -> str:
    """`[RANGE 5 MINUTES SLIDE 10 SECONDS]`."""
    text = f"RANGE {print_duration(window.range)}"
    if window.slide != window.range:
        text += f" SLIDE {print_duration(window.slide)}"
    if window.offset:
        text += f" OFFSET {print_duration(window.offset)}"
    return f"[{text}]"


def _format(format: str, options: tuple[tuple[str, str], ...]) -> str:
    name = format if re.fullmatch(r"[A-Za-z_]\w*", format) else _string(format)
    if not options:
        return name
    return f"{name} OPTIONS ({', '.join(f'{_string(key)} = {_string(value)}' for key, value in options)})"


def _string(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"
