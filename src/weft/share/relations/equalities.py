"""Columns that a join says are equal, by way of others too.

s0.k = s1.k  AND  s0.k = s2.k        so s1.k = s2.k: a row of s1 can look s2 up before it knows s0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.relations import Relation
from weft.plan.relationtree import columns
from weft.plan.scope import column


@dataclass(frozen=True, slots=True)
class Equal:
    """Sets of columns, all of one type, that a join has equal."""

    sets: tuple[frozenset[str], ...]

    def set_of(self, name: str) -> int | None:
        return next((at for at, names in enumerate(self.sets) if name in names), None)

    def needed(self, conditions: Sequence[Expr], names: set[str]) -> list[Expr]:
        """Without those that follow from the others, where `names` are the columns of one side.

        Columns of the other side that are in one set are known to be equal: comparing one of them will do.
        """
        kept: list[Expr] = []
        seen: set[tuple[int, str]] = set()
        for each in conditions:
            sides = _columns(each) or ()
            mine = [name for name in sides if name in names]
            at = self.set_of(mine[0]) if len(mine) == 1 else None
            if at is not None and not self.sets[at].issuperset(sides):
                at = None  # of another type, perhaps
            if at is None or (at, mine[0]) not in seen:
                kept.append(each)
            if at is not None:
                seen.add((at, mine[0]))
        return kept


def equal(conditions: Sequence[Expr], sources: Sequence[Relation]) -> Equal:
    """The columns of different sources that the conditions have equal."""
    types = {found.name: found.type for source in sources for found in columns(source)}
    sets: list[frozenset[str]] = []
    for each in conditions:
        sides = _columns(each)
        if sides is None or types.get(sides[0]) is None or types[sides[0]] != types.get(sides[1]):
            continue
        met = [some for some in sets if some & set(sides)]
        sets = [some for some in sets if some not in met]
        sets.append(frozenset(sides).union(*met))
    return Equal(tuple(sets))


def closed(conditions: Sequence[Expr], sources: Sequence[Relation]) -> tuple[Expr, ...]:
    """The conditions, and all equalities of columns of different sources that follow from them."""
    source_of = {found.name: at for at, source in enumerate(sources) for found in columns(source)}
    said = {frozenset(sides) for each in conditions if (sides := _columns(each)) is not None}
    follows = [
        expr(exp.EQ(this=column(one), expression=column(other)))
        for names in equal(conditions, sources).sets
        for one, other in combinations(sorted(names), 2)
        if source_of[one] != source_of[other] and frozenset((one, other)) not in said
    ]
    return (*conditions, *follows)


def _columns(condition: Expr) -> tuple[str, str] | None:
    """The two columns that it has equal; None: it is something else."""
    tree = condition.tree.unnest()
    if not isinstance(tree, exp.EQ):
        return None
    left, right = tree.left.unnest(), tree.right.unnest()
    if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
        return None
    return left.name, right.name
