"""Which names a query reads from, as they are written, and what these mean."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from weft.lang.bodies import Body, Combining, From, FromBody, FromJoin, FromName, Picking
from weft.lang.printer import print_statement
from weft.lang.statements import CreateQuery, CreateRelation, CreateView
from weft.plan.nodes import Program


def names_read(statement: CreateQuery | CreateRelation | CreateView) -> frozenset[str]:
    """The streams, tables and views that the statement names, in lower case."""
    match statement:
        case CreateQuery(select=select):
            return frozenset((select.source.stream.lower(),))
        case CreateRelation(body=body) | CreateView(body=body):
            return _of_body(body)
        case _:
            assert_never(statement)


def reads(statement: CreateQuery | CreateRelation, program: Program) -> str:
    """The views and tables that a query rests on, as canonical text: with others it means something else.

    From where and how often a table is read is left out: its rows change anyhow.
    """
    if not program.views and not program.tables:
        return ""
    views = {view.name.lower(): view for view in program.views}
    tables = {table.name.lower(): table.statement for table in program.tables}
    found: dict[str, str] = {}
    left = sorted(names_read(statement))
    while left:
        name = left.pop()
        if name in views and name not in found:
            found[name] = print_statement(views[name])
            left += sorted(names_read(views[name]))
        elif name in tables:
            bare = replace(tables[name], refresh=None, format="any", options=())
            found[name] = print_statement(bare)
    return "\n".join(found[name] for name in sorted(found))


def _of_body(body: Body) -> frozenset[str]:
    match body:
        case Combining(left=left, right=right):
            return _of_body(left) | _of_body(right)
        case Picking(source=source, exists=exists):
            return _of_source(source).union(*(_of_body(one.body) for one in exists))
        case _:
            assert_never(body)


def _of_source(source: From) -> frozenset[str]:
    match source:
        case FromName(name=name):
            return frozenset((name.lower(),))
        case FromBody(body=body):
            return _of_body(body)
        case FromJoin(left=left, right=right):
            return _of_source(left) | _of_source(right)
        case _:
            assert_never(source)
