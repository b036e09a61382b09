"""When two rows match: keys that must be equal, and what else must hold of the pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.nodes import Column, Named
from weft.plan.scope import names_in
from weft.plan.types import infer
from weft.share.parts import conjunction, conjuncts


@dataclass(frozen=True, slots=True)
class Matching:
    """`left[i]` and `right[i]` are equal, and `rest` holds (None: nothing else)."""

    left: tuple[Named, ...]
    right: tuple[Named, ...]
    rest: Expr | None


def matching(on: Expr | None, left: Sequence[Column], right: Sequence[Column]) -> Matching:
    """A condition over the columns of both sides taken apart."""
    keys: list[tuple[Named, Named]] = []
    rest: list[Expr] = []
    for part in conjuncts(on) if on is not None else []:
        key = _key(part, left, right, len(keys))
        if key is None:
            rest.append(part)
        else:
            keys.append(key)
    return Matching(tuple(one for one, _ in keys), tuple(other for _, other in keys), conjunction(rest))


def _key(part: Expr, left: Sequence[Column], right: Sequence[Column], at: int) -> tuple[Named, Named] | None:
    """The two sides of an equality of one type, one about each relation; None: it is something else."""
    tree = part.tree.unnest()
    if not isinstance(tree, exp.EQ):
        return None
    for one, other in ((tree.left, tree.right), (tree.right, tree.left)):
        mine, others = _side(one, left, at), _side(other, right, at)
        if mine is not None and others is not None and mine.type == others.type and mine.type is not None:
            return mine, others
    return None


def _side(tree: exp.Expr, columns: Sequence[Column], at: int) -> Named | None:
    """The expression, if it is about these columns alone, and about any."""
    source = expr(tree.unnest())
    names = names_in(source)
    if not names or not names <= {column.name for column in columns}:
        return None
    return Named(f"_key{at}", source, infer(source.tree, {column.name: column.type for column in columns}))
