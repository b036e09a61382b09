"""Queries over several sources as the relations that they mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.properties.asks import Asked, Body, Both, From, Looked, Over, Pick, Sub, slide_of
from weft.lang.bodies import Emission
from weft.lang.parse import parse_expression
from weft.lang.statements import Expr, OrderKey
from weft.plan.aggregates import result_type
from weft.plan.nodes import Aggregation, Named, Program
from weft.plan.relations import (
    AsOf,
    Distinct,
    Emitted,
    Entries,
    Grouped,
    Kept,
    Lasting,
    Leading,
    Made,
    Merged,
    Paired,
    Relation,
    Rows,
    Whether,
)
from weft.plan.relationtree import below, columns, onto
from weft.plan.types import infer


def related(asked: Asked, program: Program) -> Emitted:
    """The query as the relation that it means."""
    source = _relation(asked.body, program)
    if asked.lasting is not None:
        source = Lasting(source, asked.lasting)
    if slide_of(asked.body) is None:
        return Emitted(source, asked.emission)
    emission = Emission.RSTREAM if asked.emission is Emission.LIVES else asked.emission
    return Emitted(_as_long(source), emission)


def longest(relation: Relation) -> int:
    """The longest window of the relation; what is below a window over a result does not count."""
    match relation:
        case Rows(range=range_) | Lasting(range=range_):
            return range_ or 0
        case _:
            return max((longest(each) for each in below(relation)), default=0)


def _as_long(relation: Relation) -> Relation:
    """All windows of an answer are as long as the longest, so that two sides have the same.

    What is below a window over a result is answered by itself.
    """
    range_ = longest(relation)

    def lengthened(node: Relation) -> Relation:
        match node:
            case AsOf():
                return replace(node, range=range_)
            case Lasting():
                return node
            case _:
                return onto(node, tuple(lengthened(each) for each in below(node)))

    return lengthened(relation)


def _relation(body: Body, program: Program) -> Relation:
    if isinstance(body, Both):
        return Merged(body.kind, body.all, _relation(body.left, program), _relation(body.right, program))
    made = _source(body.source, 0, program)
    for number, beside in enumerate(body.beside, 1):
        made = Paired(beside.kind, made, _source(beside.source, number, program), _maybe(beside.on))
    made = made if body.where is None else Kept(made, _expr(body.where))
    for number, also in enumerate(body.also, 1 + len(body.beside)):
        made = Whether(made, _source(also.source, number, program), _maybe(also.on), also.negated)
    if body.slide is not None:
        made = AsOf(made, body.slide, 0, longest(made))
    made = _shown(body, made)
    if not body.distinct:
        return made
    made = Distinct(made)
    keys = tuple(_ordered(key, lambda at: f"c{at}") for key in body.order)
    return made if body.limit is None else Leading(made, keys, body.limit)


def _shown(body: Pick, made: Relation) -> Relation:
    window = [_named("window_start", "window_start", made), _named("window_end", "window_end", made)]
    if not (body.keys or body.calls):
        made = _first(body, made, body.items)
        items = [_named(f"c{number}", item, made) for number, item in enumerate(body.items)]
        return Made(made, (*(window if body.slide else ()), *items))
    keys = tuple(_named(f"_k{number}", key, made) for number, key in enumerate(body.keys))
    calls = tuple(_aggregation(f"_a{number}", *call, made) for number, call in enumerate(body.calls))
    made = Grouped(made, keys, calls)
    names = [*(key.name for key in keys), *(call.name for call in calls)]
    if body.having is not None:
        having = re.sub(r"\bc(\d+)\b", lambda found: names[int(found[1])], body.having)
        made = Kept(made, _expr(having))
    made = _first(body, made, names)
    items = [_named(f"c{number}", name, made) for number, name in enumerate(names)]
    return Made(made, (*(window if body.slide else ()), *items))


def _first(body: Pick, made: Relation, items: Sequence[str]) -> Relation:
    """The first rows of each window; with DISTINCT they are chosen later."""
    if body.limit is None or body.distinct:
        return made
    return Leading(made, tuple(_ordered(key, items.__getitem__) for key in body.order), body.limit)


def _ordered(key: str, spelled: Callable[[int], str]) -> OrderKey:
    """`c1 DESC`, in terms of what item 1 is made of; as in Spark nulls are the least of all."""
    name, *descending = key.split()
    return OrderKey(_expr(spelled(int(name[1:]))), bool(descending), not descending)


def _source(source: From, number: int, program: Program) -> Relation:
    match source:
        case Over(stream=stream, range=range_, internal=internal):
            items = _renamed([(one.name, one.type) for one in program.stream(stream).columns], number)
            return Rows(stream, items, None, range_, internal)
        case Looked(table=table, retroactive=retroactive):
            known = next(one for one in program.tables if one.name == table)
            items = _renamed([(one.name, one.type) for one in known.columns], number)
            return Entries(table, items, None, retroactive)
        case Sub(body=body, range=range_):
            inner = _relation(body, program)
            inner = inner if range_ is None else _as_long(inner)
            inner = inner if range_ is None else Lasting(inner, range_)
            return Made(inner, _renamed([(one.name, one.type) for one in columns(inner)], number))


def _renamed(known: Sequence[tuple[str, str | None]], number: int) -> tuple[Named, ...]:
    return tuple(Named(f"_s{number}_{name}", _expr(name), type) for name, type in known)


def _named(name: str, sql: str, over: Relation) -> Named:
    made = _expr(sql)
    return Named(name, made, infer(made.tree, {one.name: one.type for one in columns(over)}))


def _aggregation(name: str, function: str, arg: str, over: Relation) -> Aggregation:
    args = () if function == "count_star" else (_named("", arg, over),)
    types = tuple(one.type for one in args)
    exprs = tuple(one.expr for one in args)
    return Aggregation(name, function, exprs, arg_types=types, type=result_type(function, types))


def _maybe(sql: str | None) -> Expr | None:
    return None if sql is None else _expr(sql)


def _expr(sql: str) -> Expr:
    return parse_expression(re.sub(r"\bx(\d+)\.(\w+)", r"_s\1_\2", sql))
