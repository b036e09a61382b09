"""Where absence stands in a relation: above joins or below them, with the same rows at every instant.

    Whether <- Paired <- S1         absence on top: pairs are known for good, only the answer is taken back
                      <- S2
            <- S3
    Paired <- Whether <- S1         absence below: fewer rows meet S2, but all of them may be taken back
                      <- S3
           <- S2

As of every instant a pair has no match in S3 just if its row of S1 has none, where the condition speaks of S1
and S3 alone; so both are the same bag, whatever is told of it (Golab 2006, 3.5.3). Left as they are:

- conditions that can fail, of the absence or of the join: elsewhere they would meet other rows;
- the side of an outer join that may be all nulls: a row that is taken away there leaves nulls in its place;
- tables: which version a row looks up depends on when it begins, and a pair begins with its later row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from weft.lang.bodies import JoinKind
from weft.lang.statements import Expr
from weft.plan.failures import failing
from weft.plan.relations import Entries, Paired, Relation, Whether
from weft.plan.relationtree import below, columns, onto
from weft.plan.scope import names_in

MOST = 24  # ways to write one relation that are looked at

_LEFT = (JoinKind.INNER, JoinKind.LEFT)  # whose left side keeps its rows, or loses them with the pairs
_RIGHT = (JoinKind.INNER, JoinKind.RIGHT)


def places(relation: Relation) -> tuple[Relation, ...]:
    """All ways to write it that differ in where absence stands, but not too many; as it is written, first."""
    found = [relation]
    for way in found:
        for moved in _moves(way):
            if len(found) < MOST and moved not in found:
                found.append(moved)
    return tuple(found)


def joins_below(relation: Relation) -> tuple[int, ...]:
    """How many joins each absence stands above, from the top."""
    mine: tuple[int, ...] = ()
    if isinstance(relation, Whether):
        mine = (_joins(relation.source),)
    return mine + tuple(count for each in below(relation) for count in joins_below(each))


def pull_absence_up(relation: Relation) -> Iterator[Relation]:
    """Absence above an inner join: only pairs are taken back, its sides go by their windows alone."""
    match relation:
        case Paired(kind=kind, left=Whether() as absence) if kind in _LEFT and _may_move(absence, relation):
            yield replace(absence, source=replace(relation, left=absence.source))
        case _:
            pass
    match relation:
        case Paired(kind=kind, right=Whether() as absence) if kind in _RIGHT and _may_move(absence, relation):
            yield replace(absence, source=replace(relation, right=absence.source))
        case _:
            pass


def push_absence_down(relation: Relation) -> Iterator[Relation]:
    """Absence below a join, on the side that it speaks of, so that fewer rows are paired."""
    match relation:
        case Whether(source=Paired(kind=kind) as pairs) if _may_move(relation, pairs):
            if kind in _LEFT and _speaks_of(relation, pairs.left):
                yield replace(pairs, left=replace(relation, source=pairs.left))
            if kind in _RIGHT and _speaks_of(relation, pairs.right):
                yield replace(pairs, right=replace(relation, source=pairs.right))
        case _:
            pass


def _moves(relation: Relation) -> Iterator[Relation]:
    """The relation with one absence moved past one join."""
    yield from pull_absence_up(relation)
    yield from push_absence_down(relation)
    sources = below(relation)
    for at, source in enumerate(sources):
        for moved in _moves(source):
            yield onto(relation, (*sources[:at], moved, *sources[at + 1 :]))


def _joins(relation: Relation) -> int:
    return isinstance(relation, Paired) + sum(_joins(each) for each in below(relation))


def _may_move(absence: Whether, pairs: Paired) -> bool:
    """No table has a part in it, nothing can fail, and names say of whom they speak."""
    sides = (pairs.left, pairs.right)
    if any(isinstance(each, Entries) for each in (absence.other, *sides)):
        return False
    said = [on for on in (absence.on, pairs.on) if on is not None]
    told_apart = not _names(*sides) & _names(absence.other)
    return told_apart and all(_cannot_fail(on, *sides, absence.other) for on in said)


def _speaks_of(absence: Whether, side: Relation) -> bool:
    return absence.on is None or names_in(absence.on) <= _names(side, absence.other)


def _names(*relations: Relation) -> frozenset[str]:
    return frozenset(column.name for each in relations for column in columns(each))


def _cannot_fail(said: Expr, *sides: Relation) -> bool:
    return failing(said, {column.name: column.type for side in sides for column in columns(side)}) is None
