"""Expressions of a relation over single rows of a stream, so that Spark can tell their types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.aggregates import SAME_TYPE
from weft.plan.nodes import Aggregation
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
from weft.plan.relationtree import below, columns, streams, walk
from weft.plan.rows import Rows as RowScope
from weft.plan.rows import type_key
from weft.plan.types import infer


@dataclass(frozen=True, slots=True)
class RelationRows(RowScope):
    """The columns of a relation, as what expressions over it speak of."""

    relation: Relation | None = None

    def told_of(self, source: Expr) -> str | None:
        assert self.relation is not None
        return told_type(source, self.relation, self.told)


def told_type(source: Expr, relation: Relation, told: Mapping[str, str]) -> str | None:
    """What Spark told of the type of an expression over the relation."""
    found = row_expression(source, relation)
    return None if found is None else told.get(type_key(*found))


def row_expression(source: Expr, *relations: Relation) -> tuple[str, Expr] | None:
    """The stream whose rows it is about, and an expression of the same type over these; None: there is none.

    Columns of two rows of one stream, as in a self-join, may be taken for those of one: the type is the same.
    """
    known = {name: _origin(name, relations) for name in _names(source)}
    found = [origin for origin in known.values() if origin is not None]
    about = {stream for stream, _ in found} or {name for one in relations for name in streams(one)[:1]}
    if len(found) < len(known) or len(about) != 1:
        return None
    trees = {name: origin[1] for name, origin in known.items() if origin is not None}
    return about.pop(), _replaced(source, trees)


def row_expressions(relation: Relation) -> Iterator[tuple[str, Expr]]:
    """Every expression of the relation that is about rows of one stream, with that stream."""
    for node in walk(relation):
        for source in expressions(node):
            found = (node.stream, source) if isinstance(node, Rows) else row_expression(source, *below(node))
            if found is not None:
                yield found


def open_in_relation(
    relation: Relation, streams: Mapping[str, Mapping[str, str | None]]
) -> Iterator[tuple[str, Expr]]:
    """Those of its row expressions whose type is not known."""
    for node in walk(relation):
        types = {one.name: one.type for under in below(node) for one in columns(under)}
        types |= streams.get(node.stream, {}) if isinstance(node, Rows) else {}
        for source in expressions(node):
            if infer(source.tree, types) is None:
                found = (
                    (node.stream, source) if isinstance(node, Rows) else row_expression(source, *below(node))
                )
                if found is not None:
                    yield found


def expressions(node: Relation) -> tuple[Expr, ...]:
    """The expressions that stand in the node itself."""
    match node:
        case Rows(items=items, where=where) | Entries(items=items, where=where):
            return (*(item.expr for item in items), *([where] if where is not None else []))
        case Kept(predicate=predicate):
            return (predicate,)
        case Made(items=items):
            return tuple(item.expr for item in items)
        case Paired(on=on) | Whether(on=on):
            return (on,) if on is not None else ()
        case Grouped(keys=keys, aggregations=aggregations):
            return (*(key.expr for key in keys), *(part for made in aggregations for part in _parts(made)))
        case Leading(order=order):
            return tuple(key.expr for key in order)
        case Lasting() | Distinct() | Merged() | AsOf() | Emitted():
            return ()
        case _:
            assert_never(node)


def _parts(made: Aggregation) -> tuple[Expr, ...]:
    return (*made.args, *([made.filter] if made.filter is not None else []))


def _names(source: Expr) -> list[str]:
    return list(dict.fromkeys(node.name for node in source.tree.find_all(exp.Column)))


def _origin(name: str, relations: tuple[Relation, ...]) -> tuple[str, Expr] | None:
    """The stream that a column comes from, and what it is over the rows of that stream."""
    for relation in relations:
        if any(column.name == name for column in columns(relation)):
            return _origin_in(name, relation)
    return None


def _origin_in(name: str, relation: Relation) -> tuple[str, Expr] | None:
    match relation:
        case Rows(stream=stream, items=items):
            return next((stream, item.expr) for item in items if item.name == name)
        case Made(source=source, items=items):
            return row_expression(next(item.expr for item in items if item.name == name), source)
        case Grouped(source=source, keys=keys, aggregations=aggregations):
            found = {key.name: key.expr for key in keys}
            found |= {call.name: call.args[0] for call in aggregations if call.function in SAME_TYPE}
            return row_expression(found[name], source) if name in found else None
        case Entries() | Merged():
            return None
        case _:
            return _origin(name, below(relation))


def _replaced(source: Expr, trees: Mapping[str, Expr]) -> Expr:
    """The expression with columns replaced by what they stand for."""

    def visit(node: exp.Expr) -> exp.Expr:
        return trees[node.name].tree.copy() if isinstance(node, exp.Column) else node

    return expr(source.tree.transform(visit), source.place)
