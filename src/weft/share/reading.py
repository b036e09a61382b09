"""Which columns of its streams a program reads: told from its queries alone, before there is a plan."""

from __future__ import annotations

from collections.abc import Iterator

from weft.lang.statements import Expr
from weft.plan.nodes import Named, Program, Query, Related, Stream
from weft.plan.relations import Rows
from weft.plan.relationtree import walk
from weft.plan.scope import names_in
from weft.share.intakes import changes_read
from weft.share.parts import parts


def columns_read(program: Program) -> list[tuple[Stream, tuple[str, ...]]]:
    """The streams that are read, each with the columns that it is asked for."""
    asked: dict[str, set[Expr]] = {}
    for query in program.queries:
        for stream, source in _asked(query):
            asked.setdefault(stream, set()).update(source)
    for table in program.tables:
        if table.flow is not None:
            asked.setdefault(table.flow.stream, set()).update(_of_rows(changes_read(table)))
    read = [stream for stream in program.streams if stream.name in asked]
    return [(stream, _in_order(stream, asked[stream.name])) for stream in read]


def _asked(query: Query) -> Iterator[tuple[str, list[Expr]]]:
    """Of each stream that a query reads, the expressions over its rows."""
    if isinstance(query.plan, Related):
        leaves = (node for node in walk(query.plan.relation) if isinstance(node, Rows))
        yield from ((leaf.stream, _of_rows(leaf)) for leaf in leaves)
        return
    found = parts(query)
    aggregate = found.aggregate
    read = _sources(found.where, found.items if aggregate is None else aggregate.keys)
    for call in () if aggregate is None else aggregate.aggregations:
        read += [*call.args, *([] if call.filter is None else [call.filter])]
    yield found.stream, read


def _of_rows(leaf: Rows) -> list[Expr]:
    return _sources(leaf.where, leaf.items)


def _sources(where: Expr | None, items: tuple[Named, ...]) -> list[Expr]:
    return [*([] if where is None else [where]), *(item.expr for item in items)]


def _in_order(stream: Stream, sources: set[Expr]) -> tuple[str, ...]:
    names = {stream.statement.time_column}.union(*map(names_in, sources))
    return tuple(column.name for column in stream.columns if column.name in names)
