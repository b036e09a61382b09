"""Which names a query reads from, as they are written."""

from __future__ import annotations

from typing import assert_never

from weft.lang.bodies import Body, Combining, From, FromBody, FromJoin, FromName, Picking
from weft.lang.statements import CreateQuery, CreateRelation, CreateView


def names_read(statement: CreateQuery | CreateRelation | CreateView) -> frozenset[str]:
    """The streams, tables and views that the statement names, in lower case."""
    match statement:
        case CreateQuery(select=select):
            return frozenset((select.source.stream.lower(),))
        case CreateRelation(body=body) | CreateView(body=body):
            return _of_body(body)
        case _:
            assert_never(statement)


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
