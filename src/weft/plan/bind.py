"""Statements -> Program: names resolved, aggregates taken apart, types told as far as they can be.

All errors of a program are found in one go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from weft.errors import Errors, Place, QueryError, nearest
from weft.lang.generatoroptions import generator
from weft.lang.sinkoptions import check_sink
from weft.lang.statements import (
    CreateQuery,
    CreateRelation,
    CreateStream,
    CreateTable,
    CreateView,
    DropQuery,
    DropTable,
    DropView,
    Explain,
    Statement,
    Unread,
)
from weft.plan.bind_flow import bind_flow
from weft.plan.bind_query import Known, bind_query
from weft.plan.bind_relation import as_body, bind_relation, check_view
from weft.plan.bind_stream import bind_stream
from weft.plan.declared import Declared, Silent
from weft.plan.nodes import Column, Program, Query, Stream, Table
from weft.plan.problems import Problems, in_order
from weft.plan.reads import names_read

Told = Mapping[str, str]
Streams = Mapping[str, Stream | None]


@dataclass(frozen=True, slots=True)
class _Unseen:
    """The names that statements which cannot be read may have declared or dropped."""

    names: frozenset[str]
    any: bool

    def __contains__(self, name: object) -> bool:
        return self.any or str(name).lower() in self.names


NOTHING = Program((), ())


def bind_program(
    statements: Iterable[Statement | Unread], types: Told | None = None, onto: Program = NOTHING
) -> Program:
    """All that the statements declare, bound; raises Errors with all that is wrong, as it stands in the text.

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
    bound = _bind_rest(read, onto, streams, unseen, told, problems)
    if problems.found:
        raise Errors(in_order(problems.found))
    return Program(
        tuple(stream for stream in streams.values() if stream),
        tuple(query for query in bound.queries.values() if query),
        tuple(table for table in bound.tables.values() if table),
        tuple(view for view in bound.views.values() if view),
    )


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
        streams[statement.name.lower()] = bind_stream(statement, told, problems)
        if statement.format == "generator":
            problems.attempt(generator, statement)
    return streams


@dataclass(slots=True)
class _Bound:
    """What is declared beside streams, as statements are read; None stands for one that is wrong."""

    streams: Streams
    queries: dict[str, Query | None]
    tables: dict[str, Table | None]
    views: dict[str, CreateView | None]
    unseen: _Unseen
    told: Told
    known: dict[str, Known]

    def declared(self) -> Declared:
        return Declared(self.streams, self.tables, self.views, self.unseen, self.told)

    def check_new(self, kind: str, name: str, place: Place | None) -> None:
        """Raise where the name is taken."""
        taken: dict[str, Mapping[str, object]] = {
            "query": self.queries, "table": self.tables, "view": self.views, "stream": self.streams,
        }  # fmt: skip
        for other, names in taken.items():
            if name.lower() in names and other == kind and name not in self.unseen:
                raise _duplicate(kind, name, place)
            if name.lower() in names and other != kind:
                raise QueryError(
                    "duplicate-name", f"`{name}` is the name of a {other}", at=place,
                    help=f"give the {kind} another name",
                )  # fmt: skip


def _bind_rest(
    statements: tuple[Statement, ...],
    onto: Program,
    streams: Streams,
    unseen: _Unseen,
    told: Told,
    problems: Problems,
) -> _Bound:
    """What is there after all statements."""
    bound = _Bound(
        streams,
        {query.name.lower(): query for query in onto.queries},
        {table.name.lower(): table for table in onto.tables},
        {view.name.lower(): view for view in onto.views},
        unseen,
        told,
        {name: {} for name in streams},
    )
    for statement in statements:
        match statement:
            case CreateQuery(name=name, place=place) | CreateRelation(name=name, place=place):
                problems.attempt(bound.check_new, "query", name, place)
                bound.queries[name.lower()] = problems.attempt(_bind_created, statement, bound)
                if statement.sink is not None:
                    problems.attempt(check_sink, name, statement.sink)
            case CreateView(name=name, place=place):
                problems.attempt(bound.check_new, "view", name, place)
                bound.views[name.lower()] = problems.attempt(_bind_view, statement, bound)
            case CreateTable(name=name, place=place):
                problems.attempt(bound.check_new, "table", name, place)
                bound.tables[name.lower()] = problems.attempt(_bind_table, statement, bound)
            case DropQuery() | DropView() | DropTable() | Explain(name=str()):
                problems.attempt(_drop, statement, bound)
            case _:
                pass
    return bound


def _bind_created(statement: CreateQuery | CreateRelation, bound: _Bound) -> Query | None:
    try:
        match statement:
            case CreateRelation(body=body):
                return bind_relation(statement, body, bound.declared())
            case CreateQuery(select=select):
                name = select.source.stream.lower()
                if name in bound.tables or name in bound.views:
                    _refuse_empty(statement)
                    return bind_relation(statement, as_body(select), bound.declared())
                stream = _stream_of(statement, bound.streams, bound.unseen)
                known = bound.known.get(name)
                return (
                    bind_query(statement, stream, bound.told, known) if stream and known is not None else None
                )
    except Silent:
        return None


def _refuse_empty(statement: CreateQuery) -> None:
    if statement.emit_empty:
        raise QueryError(
            "needs-aggregate", "EMIT EMPTY needs an aggregate over a window of one stream",
            at=statement.place, help="remove it: there is no row of windows without rows",
        )  # fmt: skip


def _bind_view(statement: CreateView, bound: _Bound) -> CreateView | None:
    try:
        check_view(statement, bound.declared())
    except Silent:
        return None
    return statement


def _bind_table(statement: CreateTable, bound: _Bound) -> Table | None:
    if statement.stream is None:
        columns = tuple(Column(one.name, one.type) for one in statement.columns)
        return Table(statement.name, columns, statement)
    try:
        return bind_flow(statement, bound.declared())
    except Silent:
        return None


def _drop(statement: DropQuery | DropView | DropTable | Explain, bound: _Bound) -> None:
    match statement:
        case DropQuery(name=name, place=place):
            _check_exists("query", name, bound.queries, bound.unseen, place)
            bound.queries.pop(name.lower(), None)
        case Explain(name=str(name), place=place):
            _check_exists("query", name, bound.queries, bound.unseen, place)
        case DropView(name=name, place=place):
            _check_exists("view", name, bound.views, bound.unseen, place)
            _check_unread("view", name, bound, place)
            bound.views.pop(name.lower(), None)
        case DropTable(name=name, place=place):
            _check_exists("table", name, bound.tables, bound.unseen, place)
            _check_unread("table", name, bound, place)
            bound.tables.pop(name.lower(), None)
        case Explain():
            pass


def _check_unread(kind: str, name: str, bound: _Bound, place: Place | None) -> None:
    """Raise where a query or a view reads it."""
    queries = [("query", query.name, query.statement) for query in bound.queries.values() if query]
    views = [("view", view.name, view) for view in bound.views.values() if view]
    for reader, called, statement in (*queries, *views):
        if name.lower() in names_read(statement):
            raise QueryError(
                f"{kind}-in-use", f"{reader} `{called}` reads {kind} `{name}`", at=place,
                help=f"DROP {reader.upper()} {called} first",
            )  # fmt: skip


def _duplicate(kind: str, name: str, place: Place | None) -> QueryError:
    can_drop = kind != "stream"
    help = f"choose another name, or DROP {kind.upper()} {name} first" if can_drop else "choose another name"
    return QueryError("duplicate-name", f"there is a {kind} `{name}` already", at=place, help=help)


def _check_exists(
    kind: str, name: str, known: Mapping[str, object], unseen: _Unseen, place: Place | None
) -> None:
    if name.lower() not in known and name not in unseen:
        raise QueryError(
            f"unknown-{kind}",
            f"there is no {kind} `{name}`",
            at=place,
            because=nearest(name, known),
            help="SHOW QUERIES lists them" if kind == "query" else f"declare it with CREATE {kind.upper()}",
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
