"""Conditions go down to the rows they speak of, as far as the answer and its failures stay the same.

    Kept a.x > 1 AND a.k = b.k  <-  Paired  <-  Rows a         Paired on a.k = b.k  <-  Rows a where x > 1
                                            <-  Rows b    becomes                   <-  Rows b

A condition that can fail stays above a join: below it, it would meet rows that have no partner. Nothing goes
to the side of an outer join that may be all nulls, and nothing of its ON to the side whose rows are all kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

from sqlglot import exp

from weft.lang.bodies import JoinKind, SetKind
from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.optimize.conditions import bare_conjuncts
from weft.plan.failures import failing
from weft.plan.nodes import Named
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
from weft.plan.relationtree import WINDOW, columns
from weft.plan.scope import column, names_in

_WINDOW_NAMES = frozenset(one.name for one in WINDOW)
_FROM_LEFT = (JoinKind.INNER, JoinKind.LEFT)  # whose left side a condition from above can go to
_FROM_RIGHT = (JoinKind.INNER, JoinKind.RIGHT)


def push_conditions(relation: Relation) -> Relation:
    """The relation with every condition as far down as it can be."""
    return _push(relation, [])


def _push(relation: Relation, parts: list[Expr]) -> Relation:
    """The rows of the relation for which all `parts`, over its columns, are true."""
    match relation:
        case Kept(source=source, predicate=predicate):
            return _push(source, [*_parts(predicate), *parts])
        case Rows(items=items, where=where) | Entries(items=items, where=where):
            own = [*_parts(where), *(substituted(part, items) for part in parts)]
            return relation if not parts else replace(relation, where=_all(own))
        case Made(source=source, items=items):
            return replace(relation, source=_push(source, [substituted(part, items) for part in parts]))
        case Paired():
            return _push_paired(relation, parts)
        case Whether():
            return _push_whether(relation, parts)
        case Merged(kind=SetKind.UNION, all=True, left=left, right=right):
            names = [one.name for one in columns(left)]
            same = [_renamed(one.name, name) for one, name in zip(columns(right), names, strict=True)]
            other = [substituted(part, same) for part in parts]
            return replace(relation, left=_push(left, parts), right=_push(right, other))
        case Merged(left=left, right=right):
            return _kept(replace(relation, left=_push(left, []), right=_push(right, [])), parts)
        case Lasting() | Distinct() | AsOf() | Grouped() | Leading() | Emitted():
            return _push_one(relation, parts)
        case _:
            assert_never(relation)


def _push_one(
    relation: Lasting | Distinct | AsOf | Grouped | Leading | Emitted, parts: list[Expr]
) -> Relation:
    """Through a node over one relation, where the condition is about what its rows have in common."""
    below: list[Expr] = []
    match relation:
        case Distinct():
            below, parts = _split(parts, relation, lambda part: True)
        case AsOf():
            below, parts = _split(parts, relation, lambda part: not names_in(part) & _WINDOW_NAMES)
        case Grouped(keys=keys) if keys:
            names = frozenset(key.name for key in keys)
            below, parts = _split(parts, relation, lambda part: frozenset() < names_in(part) <= names)
            below = [substituted(part, keys) for part in below]
        case _:
            pass
    return _kept(replace(relation, source=_push(relation.source, below)), parts)


def _push_paired(relation: Paired, parts: list[Expr]) -> Relation:
    kind = relation.kind
    left, right = _names(relation.left), _names(relation.right)
    to_left, parts = _split(parts, relation, lambda part: kind in _FROM_LEFT and names_in(part) <= left)
    to_right, parts = _split(parts, relation, lambda part: kind in _FROM_RIGHT and names_in(part) <= right)
    on = _parts(relation.on)
    if kind is JoinKind.INNER:
        more, parts = _split(parts, relation, lambda part: True)
        on = [*on, *more]
    on_left, on = _split(on, relation, lambda part: kind in _FROM_RIGHT and names_in(part) <= left)
    on_right, on = _split(on, relation, lambda part: kind in _FROM_LEFT and names_in(part) <= right)
    made = replace(
        relation, left=_push(relation.left, [*on_left, *to_left]),
        right=_push(relation.right, [*on_right, *to_right]), on=_all(on),
    )  # fmt: skip
    return _kept(made, parts)


def _push_whether(relation: Whether, parts: list[Expr]) -> Relation:
    """Conditions on the other rows go to these; on the rows that ask only where these must have a match."""
    source, other = _names(relation.source), _names(relation.other)
    down, parts = _split(parts, relation, lambda part: True)
    on_other, on = _split(_parts(relation.on), relation, lambda part: names_in(part) <= other)
    on_source: list[Expr] = []
    if not relation.negated:
        on_source, on = _split(on, relation, lambda part: names_in(part) <= source)
    made = replace(
        relation, source=_push(relation.source, [*down, *on_source]),
        other=_push(relation.other, on_other), on=_all(on),
    )  # fmt: skip
    return _kept(made, parts)


def _split(
    parts: Sequence[Expr], relation: Relation, goes: Callable[[Expr], bool]
) -> tuple[list[Expr], list[Expr]]:
    """Those that go further down, for which they must not be able to fail, and the rest."""
    types = {one.name: one.type for each in _below(relation) for one in columns(each)}
    down = [part for part in parts if goes(part) and failing(part, types) is None]
    return down, [part for part in parts if part not in down]


def _below(relation: Relation) -> tuple[Relation, ...]:
    match relation:
        case Paired(left=left, right=right):
            return left, right
        case Whether(source=source, other=other):
            return source, other
        case _:
            return (relation,)


def _names(relation: Relation) -> frozenset[str]:
    return frozenset(one.name for one in columns(relation))


def _kept(relation: Relation, parts: Sequence[Expr]) -> Relation:
    predicate = _all(parts)
    return relation if predicate is None else Kept(relation, predicate, predicate.place)


def _parts(condition: Expr | None) -> list[Expr]:
    if condition is None:
        return []
    return [expr(part, condition.place) for part in bare_conjuncts(condition)]


def _all(parts: Sequence[Expr]) -> Expr | None:
    """The parts joined by AND, each once."""
    different = list(dict.fromkeys(parts))
    if not different:
        return None
    return expr(exp.and_(*(part.tree.copy() for part in different), copy=False), different[0].place)


def _renamed(name: str, was: str) -> Named:
    return Named(was, expr(column(name)), None)


def substituted(source: Expr, items: Sequence[Named]) -> Expr:
    """The expression with columns replaced by the items of their names."""
    trees = {item.name: item.expr.tree for item in items}

    def visit(node: exp.Expr) -> exp.Expr:
        made = trees.get(node.name) if isinstance(node, exp.Column) else None
        return node if made is None else made.copy()

    return expr(source.tree.transform(visit), source.place)
