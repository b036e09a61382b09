"""Statements -> Program: names resolved, aggregates taken apart, types told as far as they can be.

All errors of a program are found in one go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from weft.errors import Errors, Place, QueryError, nearest
from weft.lang.statements import (
    ColumnDef,
    CreateQuery,
    CreateStream,
    DropQuery,
    Explain,
    Expr,
    Statement,
    Unread,
)
from weft.plan.bind_query import Known, bind_query
from weft.plan.nodes import Column, Program, Query, Stream
from weft.plan.problems import Problems
from weft.plan.rows import Rows, refuse_aggregates
from weft.plan.scope import Scope, names_in, resolve

Told = Mapping[str, str]
Streams = Mapping[str, Stream | None]


@dataclass(frozen=True, slots=True)
class _Unseen:
    """The names that statements which cannot be read may have declared or dropped."""

    names: frozenset[str]
    any: bool

    def __contains__(self, name: str) -> bool:
        return self.any or name.lower() in self.names


NOTHING = Program((), ())


def bind_program(
    statements: Iterable[Statement | Unread], types: Told | None = None, onto: Program = NOTHING
) -> Program:
    """All that the statements declare, bound; raises Errors with all that is wrong, line by line.

    `types` tells the types of the expressions that `open_expressions` listed, filed by `type_key`. Of a
    statement that cannot be read only its own error is told, not what follows from it. The statements may go
    on from a program that was bound before: what they leave alone stays as it is, object by object.
    """
    statements, told = tuple(statements), types or {}
    read = tuple(one for one in statements if not isinstance(one, Unread))
    unread = tuple(one for one in statements if isinstance(one, Unread))
    unseen = _Unseen(frozenset().union(*(one.names for one in unread)), not all(one.names for one in unread))
    problems = Problems([one.error for one in unread])
    streams = _bind_streams(read, onto, told, problems)
    queries = _bind_queries(read, onto, streams, unseen, told, problems)
    if problems.found:
        raise Errors(sorted(problems.found, key=lambda error: error.at.line if error.at else 0))
    return Program(tuple(stream for stream in streams.values() if stream), queries)


def _bind_streams(
    statements: tuple[Statement, ...], onto: Program, told: Told, problems: Problems
) -> dict[str, Stream | None]:
    """The streams by lower-case name; None for one that is wrong, which is reported once."""
    streams: dict[str, Stream | None] = {stream.name.lower(): stream for stream in onto.streams}
    for statement in statements:
        if not isinstance(statement, CreateStream):
            continue
        if statement.name.lower() in streams:
            problems.add(_duplicate("stream", statement.name, statement.place))
            continue
        streams[statement.name.lower()] = _bind_stream(statement, told, problems)
    return streams


def _bind_queries(
    statements: tuple[Statement, ...],
    onto: Program,
    streams: Streams,
    unseen: _Unseen,
    told: Told,
    problems: Problems,
) -> tuple[Query, ...]:
    """The queries that are left after all statements; None stands for one that is wrong, meanwhile."""
    queries: dict[str, Query | None] = {query.name.lower(): query for query in onto.queries}
    known: dict[str, Known] = {name: {} for name in streams}
    for statement in statements:
        match statement:
            case CreateQuery():
                problems.attempt(_check_new, statement, queries, streams, unseen)
                queries[statement.name.lower()] = problems.attempt(
                    _bind_created, statement, streams, unseen, told, known
                )
            case DropQuery(name=name, place=place):
                problems.attempt(_check_exists, name, queries, unseen, place)
                queries.pop(name.lower(), None)
            case Explain(name=str(name), place=place):
                problems.attempt(_check_exists, name, queries, unseen, place)
            case _:
                pass
    return tuple(query for query in queries.values() if query is not None)


def _bind_created(
    statement: CreateQuery, streams: Streams, unseen: _Unseen, told: Told, known: Mapping[str, Known]
) -> Query | None:
    stream = _stream_of(statement, streams, unseen)
    return bind_query(statement, stream, told, known[stream.name.lower()]) if stream is not None else None


def _check_new(
    statement: CreateQuery, queries: Mapping[str, Query | None], streams: Streams, unseen: _Unseen
) -> None:
    if statement.name.lower() in queries and statement.name not in unseen:
        raise _duplicate("query", statement.name, statement.place)
    if statement.name.lower() in streams:
        raise QueryError(
            "duplicate-name",
            f"`{statement.name}` is the name of a stream",
            at=statement.place,
            help="give the query another name",
        )


def _duplicate(kind: str, name: str, place: Place | None) -> QueryError:
    help = f"choose another name, or DROP QUERY {name} first" if kind == "query" else "choose another name"
    return QueryError("duplicate-name", f"there is a {kind} `{name}` already", at=place, help=help)


def _check_exists(
    name: str, queries: Mapping[str, Query | None], unseen: _Unseen, place: Place | None
) -> None:
    if name.lower() not in queries and name not in unseen:
        raise QueryError(
            "unknown-query",
            f"there is no query `{name}`",
            at=place,
            because=nearest(name, queries),
            help="SHOW QUERIES lists them",
        )


def _stream_of(statement: CreateQuery, streams: Streams, unseen: _Unseen) -> Stream | None:
    """The stream it reads; None for one that is wrong or cannot be read."""
    source = statement.select.source
    if source.stream.lower() not in streams and source.stream not in unseen:
        names = ", ".join(sorted(stream.name for stream in streams.values() if stream))
        raise QueryError(
            "unknown-stream",
            f"there is no stream `{source.stream}`",
            at=source.place,
            because=nearest(source.stream, [stream.name for stream in streams.values() if stream]),
            help=f"declared streams: {names}" if names else "declare it with CREATE STREAM",
        )
    return streams.get(source.stream.lower())


def _bind_stream(statement: CreateStream, told: Told, problems: Problems) -> Stream | None:
    """The stream with every column typed, and computed columns in terms of those that are read.

    None if a column is wrong. A wrong event time is no reason to be silent about the queries.
    """
    read = tuple(Column(made.name, made.type) for made in statement.columns if made.expr is None)
    rows = Rows(Scope(statement.name, read, statement.name), told)
    definitions: list[ColumnDef] = []
    columns: dict[str, Column] = {}
    for made in statement.columns:
        bound = problems.attempt(_bind_column, made, rows, definitions, statement)
        if bound is not None:
            definitions.append(bound)
            columns[bound.name] = Column(
                bound.name, bound.type if bound.expr is None else rows.type(bound.expr)
            )
    time_column = problems.attempt(_time_column, statement, columns) or statement.time_column
    if len(definitions) < len(statement.columns):
        return None
    declared = replace(statement, columns=tuple(definitions), time_column=time_column)
    return Stream(statement.name, tuple(columns.values()), declared)


def _bind_column(
    made: ColumnDef, rows: Rows, before: Sequence[ColumnDef], statement: CreateStream
) -> ColumnDef:
    """A computed column over columns that are read; those computed before it are replaced by theirs."""
    if made.expr is None:
        return made
    aliases = {other.name.lower(): other.expr.tree for other in before if other.expr is not None}
    _check_order(made, made.expr, set(aliases), statement)
    resolved = resolve(made.expr, rows.scope, aliases)
    refuse_aggregates(
        resolved, "misplaced-aggregate", f"column `{made.name}` cannot be an aggregate",
        help="a computed column is worked out from one row; aggregate in a query",
    )  # fmt: skip
    rows.check(resolved)
    return replace(made, expr=resolved)


def _check_order(made: ColumnDef, source: Expr, before: set[str], statement: CreateStream) -> None:
    """Raise where a computed column uses another that is computed after it, or itself."""
    computed = {other.name.lower() for other in statement.columns if other.expr is not None}
    for name in sorted(names_in(source)):
        if name.lower() in computed - before:
            raise QueryError(
                "computed-later",
                f"column `{made.name}` cannot use `{name}`, which is not computed before it",
                at=made.place,
                help=f"declare `{name}` first" if name.lower() != made.name.lower() else "use other columns",
            )


def _time_column(statement: CreateStream, columns: Mapping[str, Column]) -> str:
    """The event-time column in declared spelling."""
    name = statement.time_column.lower()
    declared = {made.name.lower(): made.name for made in statement.columns}
    if name not in declared:
        raise QueryError(
            "unknown-column",
            f"TIMESTAMP BY names `{statement.time_column}`, which stream `{statement.name}` does not have",
            at=statement.time_place or statement.place,
            because=nearest(name, declared.values()),
            help=f"its columns are {', '.join(declared.values())}",
        )
    found = columns.get(declared[name])  # None: it is wrong in itself and has been reported
    if found is not None and found.type not in (None, "timestamp"):
        made = next(made for made in statement.columns if made.name == found.name)
        raise QueryError(
            "time-column-type",
            f"the event time `{found.name}` is of type {found.type}, not TIMESTAMP",
            at=made.place or statement.place,
            help=_time_help(found),
        )
    return declared[name]


def _time_help(found: Column) -> str:
    made = {
        "bigint": f"timestamp_millis({found.name})",
        "int": f"timestamp_seconds({found.name})",
        "string": f"to_timestamp({found.name})",
    }.get(found.type or "", f"CAST({found.name} AS TIMESTAMP)")
    return f"add a computed column, event_time AS {made}, and write TIMESTAMP BY event_time"
