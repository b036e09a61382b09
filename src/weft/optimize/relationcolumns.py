"""Columns that nobody asks for are not made."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from weft.lang.statements import Expr
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
from weft.plan.relationtree import columns
from weft.plan.scope import names_in


def prune(relation: Relation) -> Relation:
    """The relation without columns that do not show in its own."""
    return _prune(relation, _all(relation))


def _prune(relation: Relation, needed: frozenset[str]) -> Relation:
    """The relation with at least the columns `needed`, and no others where that changes nothing.

    Rows that are told apart by their columns keep all: whatever is DISTINCT, put together, or given a life of
    its own; and so do the first rows, where columns decide ties.
    """
    match relation:
        case Rows(items=items) | Entries(items=items):
            return replace(relation, items=_kept(items, needed))
        case Made(source=source, items=items):
            kept = _kept(items, needed)
            return replace(relation, source=_prune(source, _names(*(item.expr for item in kept))), items=kept)
        case Kept(source=source, predicate=predicate):
            return replace(relation, source=_prune(source, needed | names_in(predicate)))
        case Paired(left=left, right=right, on=on):
            asked = needed | _names(on)
            return replace(
                relation, left=_prune(left, asked & _all(left)), right=_prune(right, asked & _all(right))
            )
        case Whether(source=source, other=other, on=on):
            asked = _names(on)
            return replace(
                relation,
                source=_prune(source, (needed | asked) & _all(source)),
                other=_prune(other, asked & _all(other)),
            )
        case AsOf(source=source):
            return replace(relation, source=_prune(source, needed & _all(source)))
        case Grouped(source=source, keys=keys, aggregations=calls):
            parts = [part for call in calls for part in (*call.args, call.filter)]
            return replace(relation, source=_prune(source, _names(*(key.expr for key in keys), *parts)))
        case Merged(left=left, right=right):
            return replace(relation, left=_prune(left, _all(left)), right=_prune(right, _all(right)))
        case Distinct() | Leading() | Lasting() | Emitted():
            return replace(relation, source=_prune(relation.source, _all(relation.source)))
        case _:
            assert_never(relation)


def _kept(items: tuple[Named, ...], needed: frozenset[str]) -> tuple[Named, ...]:
    """The items that are needed; one at least, for rows without columns cannot be counted."""
    return tuple(item for item in items if item.name in needed) or items[:1]


def _all(relation: Relation) -> frozenset[str]:
    return frozenset(one.name for one in columns(relation))


def _names(*sources: Expr | None) -> frozenset[str]:
    return frozenset().union(*(names_in(source) for source in sources if source is not None))
