"""Joins of three and more as one: what they read side by side, and all that must hold."""

from __future__ import annotations

from dataclasses import dataclass

from weft.lang.bodies import JoinKind
from weft.lang.statements import Expr
from weft.plan.relationpatterns import Pattern, relation_pattern
from weft.plan.relations import Entries, Paired, Relation
from weft.share.parts import conjuncts
from weft.share.relations.equalities import closed


@dataclass(frozen=True, slots=True)
class Many:
    """An inner join of several sources: what it reads, and all that must hold, or follows from that."""

    sources: tuple[Relation, ...]
    conditions: tuple[Expr, ...]


def joined(relation: Relation) -> Many | None:
    """A join of three and more, all of which have lives; None: it is none."""
    if not isinstance(relation, Paired) or relation_pattern(relation) is Pattern.STRICT:
        return None
    found = _flat(relation)
    if len(found.sources) <= 2:
        return None
    return Many(found.sources, closed(found.conditions, found.sources))


def _flat(relation: Relation) -> Many:
    match relation:
        case Paired(kind=JoinKind.INNER, left=left, right=right, on=on) if not _is_table(left, right):
            one, other = _flat(left), _flat(right)
            mine = tuple(conjuncts(on)) if on is not None else ()
            return Many(one.sources + other.sources, one.conditions + other.conditions + mine)
        case _:
            return Many((relation,), ())


def _is_table(*sides: Relation) -> bool:
    strict = any(relation_pattern(side) is Pattern.STRICT for side in sides)
    return strict or any(isinstance(side, Entries) for side in sides)
