"""What the columns that a relation speaks of are called in the plans that people read.

_s0_id           sent.id          a column of a stream or a table
_s1_id           sent#2.id        of the second source, where both are the same stream
_a0              count(*)         what an aggregate made, above it
_s0_total        total            what a subquery computed
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import assert_never

from sqlglot import exp

from weft.lang.expressions import text_of
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
from weft.plan.relationtree import below, walk
from weft.plan.scope import column
from weft.plan.shownparts import reworded, show_aggregation

_OPEN = exp.Binary | exp.Unary | exp.Between | exp.In
_CLOSED = exp.Paren | exp.Dot
_PREFIX = re.compile(r"_s\d+_")

Leaf = Rows | Entries
Words = Mapping[str, str]


def words_in(relation: Relation) -> Words:
    """Of the columns that the expressions of the node itself speak of; none of a stream's own."""
    titles = _titles(relation)
    return {name: word for each in below(relation) for name, word in _given(each, titles).items()}


def all_words(relation: Relation) -> Words:
    """Of all columns that anything in it speaks of; of a name with several meanings, the outermost."""
    nodes = reversed(list(walk(relation)))
    return {name: word for node in nodes for name, word in words_in(node).items()}


def bare(name: str) -> str:
    """What its author called a column, without the number of the source."""
    return _text(_PREFIX.sub("", name, count=1))


def _titles(relation: Relation) -> Mapping[Leaf, str]:
    """What each leaf is called: `sent`, and `sent#2` where rows of the stream are taken once more."""
    titles: dict[Leaf, str] = {}
    taken: dict[str, int] = {}
    for leaf in walk(relation):
        if not isinstance(leaf, Rows | Entries) or leaf in titles:
            continue
        name = leaf.stream if isinstance(leaf, Rows) else leaf.table
        taken[name] = taken.get(name, 0) + 1
        titles[leaf] = name if taken[name] == 1 else f"{name}#{taken[name]}"
    return titles


def _given(relation: Relation, titles: Mapping[Leaf, str]) -> dict[str, str]:
    """Of the columns of its rows."""
    match relation:
        case Rows(items=items) | Entries(items=items):
            return {_text(item.name): _qualified(item.expr, titles[relation]) for item in items}
        case Made(source=source, items=items):
            words = _given(source, titles)
            return {_text(item.name): _passed_on(item, words) for item in items}
        case Grouped(source=source, keys=keys, aggregations=calls):
            words = _given(source, titles)
            named = {key.name: _as_part(key.expr, words) for key in keys}
            return named | {call.name: reworded(show_aggregation(call), words) for call in calls}
        case Paired(left=left, right=right):
            return _given(left, titles) | _given(right, titles)
        case Merged(left=left):
            return _given(left, titles)
        case Lasting() | Kept() | Whether() | Distinct() | AsOf() | Leading() | Emitted():
            return _given(relation.source, titles)
        case _:
            assert_never(relation)


def _qualified(made: Expr, title: str) -> str:
    own = {text_of(node) for node in made.tree.find_all(exp.Column)}
    return _as_part(made, {name: f"{title}.{name}" for name in own})


def _text(name: str) -> str:
    """As it stands in expressions."""
    return text_of(column(name))


def _as_part(made: Expr, words: Words) -> str:
    """The expression as it can stand in others."""
    text = reworded(made.sql, words)
    return f"({text})" if isinstance(made.tree, _OPEN) and not isinstance(made.tree, _CLOSED) else text


def _passed_on(item: Named, words: Words) -> str:
    """A column that is there already keeps its word; one that is made has its name."""
    return words.get(item.expr.sql, bare(item.name))
