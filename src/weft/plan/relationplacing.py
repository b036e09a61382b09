"""Where absence and filters stand in a relation: the simplest patterns at the bottom (Golab 2006, 3.5.3).

    Whether <- Paired <- S1         absence on top: only the answer takes rows back
                      <- S2
            <- S3
    Paired <- Whether <- S1         absence below: fewer rows meet S2, but all of them may be taken back
                      <- S3
           <- S2

Both say the same; which is cheaper depends on how many rows absence leaves and how many pairs there are. The
thesis names a cost for each unit of time and prints none: the formulas here count rows handled, rows kept and
put away, and rows taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import log2
from typing import assert_never

from weft.lang.bodies import JoinKind, SetKind
from weft.lang.statements import Expr
from weft.plan.failures import failing
from weft.plan.relationchoice import PARTITIONS, Expected
from weft.plan.relationpatterns import Pattern, relation_pattern
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
from weft.plan.relationtree import below, columns, rewrite_up, walk
from weft.plan.scope import names_in
from weft.times import SECOND


@dataclass(frozen=True, slots=True)
class Supposed:
    """What is supposed of the rows where nothing has been measured."""

    rates: Mapping[str, float] = field(default_factory=dict)  # rows a second, by stream
    rate: float = 100.0  # of the streams that are not in `rates`
    values: float = 1000.0  # different values of what is compared
    passes: float = 0.5  # the part of the rows that a filter lets pass
    absent: float = 0.5  # the part of the rows that has no match
    seconds: float = 3600.0  # that a row is taken to last which stays for ever
    strict: Expected = field(default_factory=Expected)  # what it costs to take rows back


@dataclass(frozen=True, slots=True)
class Flow:
    """Rows a second, rows that are there, and the part of them that is taken back before its time."""

    rate: float
    rows: float
    premature: float = 0.0


@dataclass(frozen=True, slots=True)
class Placed:
    """One way to write a relation, and what it costs a second, in rows looked at."""

    relation: Relation
    cost: float


def candidates(relation: Relation) -> tuple[Relation, ...]:
    """With filters at the bottom: as it stands, with absence at the top, with absence at the bottom.

    Without those that pair a table that does not reach back with rows that may be taken back.
    """
    simple = rewrite_up(relation, push_filter_down)
    ways = (simple, _to_the_end(simple, pull_absence_up), _to_the_end(simple, push_absence_down))
    legal = dict.fromkeys(way for way in ways if not _takes_back_from_table(way))
    return tuple(legal) or (simple,)


def place(relation: Relation, supposed: Supposed | None = None) -> tuple[Placed, ...]:
    """The candidates, the cheapest first; of equals as they were written."""
    ways = [Placed(way, cost(way, supposed or Supposed())) for way in candidates(relation)]
    return tuple(sorted(ways, key=lambda way: way.cost))


def push_filter_down(relation: Relation) -> Relation:
    """A filter goes below what keeps rows as they are, to the side that it speaks of.

        Kept p <- Whether <- S1, S2    becomes    Whether <- (Kept p <- S1), S2

    It stays above outer joins, whose nulls it may ask for, and where it can fail: it would see other rows.
    """
    match relation:
        case Kept(source=source, predicate=predicate) if _cannot_fail(predicate, source):
            return _pushed(relation, source, predicate)
        case _:
            return relation


def pull_absence_up(relation: Relation) -> Relation:
    """Absence goes above an inner join: only pairs are taken back, its sides by their windows alone."""
    match relation:
        case Paired(kind=JoinKind.INNER, left=Whether(source=source) as absence) if _may_move(absence):
            return replace(absence, source=replace(relation, left=source))
        case Paired(kind=JoinKind.INNER, right=Whether(source=source) as absence) if _may_move(absence):
            return replace(absence, source=replace(relation, right=source))
        case _:
            return relation


def push_absence_down(relation: Relation) -> Relation:
    """Absence goes below an inner join, to the side it speaks of, so that fewer rows are paired."""
    match relation:
        case Whether(source=Paired(kind=JoinKind.INNER) as pairs, other=other, on=Expr() as on) if _may_move(
            relation
        ):
            for under in (pairs.left, pairs.right):
                if _speaks_only_of(on, under, other):
                    return _with_side(pairs, under, replace(relation, source=under))
            return relation
        case _:
            return relation


def cost(relation: Relation, supposed: Supposed) -> float:
    """What all nodes cost a second: rows handled, put away and fetched, and rows taken back."""
    return sum(_work(node, supposed) for node in walk(relation))


def flow(relation: Relation, supposed: Supposed) -> Flow:
    """How many rows it gives, by the usual guesses."""
    match relation:
        case Rows(stream=stream, range=range_, where=where):
            rate = supposed.rates.get(stream, supposed.rate) * (1.0 if where is None else supposed.passes)
            return Flow(rate, rate * (supposed.seconds if range_ is None else range_ / SECOND))
        case Entries():
            return Flow(0.0, supposed.values)
        case Kept(source=source):
            given = flow(source, supposed)
            return replace(given, rate=given.rate * supposed.passes, rows=given.rows * supposed.passes)
        case Paired(left=left, right=right):
            return _pairs(flow(left, supposed), flow(right, supposed), supposed)
        case Whether(source=source):
            given = flow(source, supposed)
            early = 1 - (1 - given.premature) * (1 - supposed.strict.premature)
            return Flow(given.rate * supposed.absent, given.rows * supposed.absent, early)
        case Merged(kind=kind, left=left, right=right):
            return _merged(kind, flow(left, supposed), flow(right, supposed), supposed)
        case Distinct(source=source) | Grouped(source=source):
            given = flow(source, supposed)
            return replace(given, rows=min(given.rows, supposed.values))
        case Lasting(source=source, range=range_):
            rate = flow(source, supposed).rate
            return Flow(rate, rate * (supposed.seconds if range_ is None else range_ / SECOND))
        case Made() | AsOf() | Leading() | Emitted():
            return flow(relation.source, supposed)
        case _:
            assert_never(relation)


def _pairs(left: Flow, right: Flow, supposed: Supposed) -> Flow:
    rate = (left.rate * right.rows + right.rate * left.rows) / supposed.values
    early = 1 - (1 - left.premature) * (1 - right.premature)
    return Flow(rate, left.rows * right.rows / supposed.values, early)


def _merged(kind: SetKind, left: Flow, right: Flow, supposed: Supposed) -> Flow:
    early = max(left.premature, right.premature)
    if kind is SetKind.UNION:
        return Flow(left.rate + right.rate, left.rows + right.rows, early)
    part = supposed.absent if kind is SetKind.EXCEPT else 1 - supposed.absent
    return Flow(left.rate * part, left.rows * part, max(early, supposed.strict.premature))


def _work(node: Relation, supposed: Supposed) -> float:
    """What a node does with what it is given, and what keeping its own rows for whoever reads it takes."""
    given = sum(flow(each, supposed).rate for each in below(node))
    mine = flow(node, supposed)
    return given + mine.rate * _keeping(relation_pattern(node), mine, supposed.strict)


def _keeping(pattern: Pattern, mine: Flow, strict: Expected) -> float:
    """Rows looked at to put one row away and to have it leave."""
    match pattern:
        case Pattern.MONOTONIC:
            return 1.0
        case Pattern.WEAKEST:
            return 2.0
        case Pattern.WEAK:
            return 2.0 + log2(1 + mine.rows / PARTITIONS)
        case Pattern.STRICT:
            return 2.0 + min(mine.premature * mine.rows, strict.message)


def _pushed(above: Kept, source: Relation, predicate: Expr) -> Relation:
    match source:
        case Kept(source=under) if isinstance(lower := push_filter_down(replace(above, source=under)), Kept):
            return above if lower.source == under else replace(source, source=lower)
        case Kept() | Distinct() | Lasting() | Whether():
            return replace(source, source=push_filter_down(replace(above, source=source.source)))
        case Paired(kind=JoinKind.INNER, left=left, right=right):
            for under in (left, right):
                if _speaks_only_of(predicate, under):
                    return _with_side(source, under, push_filter_down(replace(above, source=under)))
            return above
        case _:
            return above


def _with_side(pairs: Paired, side: Relation, other: Relation) -> Paired:
    return replace(pairs, left=other) if side is pairs.left else replace(pairs, right=other)


def _to_the_end(relation: Relation, rule: Callable[[Relation], Relation]) -> Relation:
    """Until the rule finds nothing more to do: each time absence passes a join, and they are few."""
    while (changed := rewrite_up(relation, rule)) is not relation:
        relation = changed
    return relation


def _may_move(absence: Whether) -> bool:
    """It sees other rows elsewhere: it must not be able to fail on one."""
    return absence.on is None or _cannot_fail(absence.on, absence.source, absence.other)


def _speaks_only_of(said: Expr, *sides: Relation) -> bool:
    known = {column.name for side in sides for column in columns(side)}
    return names_in(said) <= known and bool(names_in(said) & {column.name for column in columns(sides[0])})


def _cannot_fail(said: Expr, *sides: Relation) -> bool:
    return failing(said, {column.name: column.type for side in sides for column in columns(side)}) is None


def _takes_back_from_table(relation: Relation) -> bool:
    for node in walk(relation):
        match node:
            case Paired(left=Entries(retroactive=False), right=other):
                strict = relation_pattern(other) is Pattern.STRICT
            case Paired(left=other, right=Entries(retroactive=False)):
                strict = relation_pattern(other) is Pattern.STRICT
            case _:
                strict = False
        if strict:
            return True
    return False
