"""CREATE TABLE ... FROM STREAM -> Table: the last row of each key of a stream of changes."""

from __future__ import annotations

from weft.errors import QueryError, nearest
from weft.lang.statements import CreateTable, Expr
from weft.plan.coercion import is_supported
from weft.plan.declared import Declared, Silent
from weft.plan.failures import failing
from weft.plan.nodes import Flow, Stream, Table
from weft.plan.rows import Rows, refuse_aggregates
from weft.plan.scope import Scope, resolve


def bind_flow(statement: CreateTable, declared: Declared) -> Table:
    """The table, with all columns of its stream; raises what is wrong with it."""
    stream = _stream(statement, declared)
    flow = Flow(stream.name, _key(statement, stream), _delete(statement, stream, declared))
    return Table(statement.name, stream.columns, statement, flow)


def _stream(statement: CreateTable, declared: Declared) -> Stream:
    name = statement.stream or ""
    if name.lower() in declared.streams:
        found = declared.streams[name.lower()]
        if found is None:
            raise Silent
        return found
    if name in declared.unseen:
        raise Silent
    for kind, known in (("table", declared.tables), ("view", declared.views)):
        if name.lower() in known:
            raise QueryError(
                "unknown-stream", f"`{name}` is a {kind}, not a stream", at=statement.stream_place,
                because="a table is made of rows that come one after the other",
                help="name the stream that it is made of",
            )  # fmt: skip
    names = [stream.name for stream in declared.streams.values() if stream]
    raise QueryError(
        "unknown-stream", f"there is no stream `{name}`", at=statement.stream_place,
        because=nearest(name, names),
        help=f"declared streams: {', '.join(sorted(names))}" if names else "declare it with CREATE STREAM",
    )  # fmt: skip


def _key(statement: CreateTable, stream: Stream) -> tuple[str, ...]:
    """The columns of the key in declared spelling, by which rows can be told apart."""
    columns = {column.name.lower(): column for column in stream.columns}
    for name in statement.key:
        found = columns.get(name.lower())
        if found is None:
            names = [column.name for column in stream.columns]
            raise QueryError(
                "unknown-column", f"the key has `{name}`, which is no column of stream `{stream.name}`",
                at=statement.key_place, because=nearest(name, names),
                help=f"its columns are {', '.join(names)}",
            )  # fmt: skip
        if not is_supported(found.type):
            raise QueryError(
                "unsupported-type", f"the key has `{found.name}`, which is of type {found.type}",
                at=statement.key_place, because="rows cannot be told apart by it",
                help="take columns of numbers, strings, booleans, dates or timestamps",
            )  # fmt: skip
    return tuple(columns[name.lower()].name for name in statement.key)


def _delete(statement: CreateTable, stream: Stream, declared: Declared) -> Expr | None:
    if statement.delete is None:
        return None
    rows = Rows(Scope(stream.name, stream.columns, stream.name), declared.told)
    found = resolve(statement.delete, rows.scope)
    refuse_aggregates(
        found, "misplaced-aggregate", "DELETE WHERE looks at one row, and has no aggregates",
        help="write a condition on the columns of the change",
    )  # fmt: skip
    rows.check_condition(found, "DELETE WHERE")
    if failing(found, rows.scope.types) is not None:
        raise QueryError(
            "may-fail", "DELETE WHERE may fail on a row", at=found.place,
            because="whether its key is gone would not be known",
            help="write what gives null instead: TRY_CAST, TRY_DIVIDE, TRY_ADD, TRY_TO_TIMESTAMP",
        )  # fmt: skip
    return found
