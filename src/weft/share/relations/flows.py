"""How many rows relations give: by what was counted of their streams, and by the usual guesses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from sqlglot import exp

from weft.lang.bodies import JoinKind, SetKind
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
from weft.plan.relationtree import below, columns
from weft.share.model.load import Load, Loads
from weft.share.relations.matching import matching
from weft.times import SECOND, Duration

KEYS = 10_000.0  # different keys of a join
PART = 0.5  # of the rows meet a condition
ABSENT = 0.5  # of the rows have no match
FOR_EVER = 3600.0  # seconds that a row is taken to last which stays


@dataclass(frozen=True, slots=True)
class Flow:
    """Rows a second, and rows that are there."""

    rate: float
    rows: float

    def part(self, of: float) -> Flow:
        return Flow(self.rate * of, self.rows * of)


def flow(relation: Relation, loads: Loads) -> Flow:
    """How many rows it gives."""
    match relation:
        case Rows(stream=stream, range=range_, where=where):
            rate = loads.of(stream).rows * passing(loads.of(stream), where)
            return Flow(rate, rate * _seconds(range_))
        case Entries(where=where):
            return Flow(0.0, KEYS * (1.0 if where is None else PART))
        case Kept(source=source):
            return flow(source, loads).part(PART)
        case Paired():
            return _pairs(relation, loads)
        case Whether(source=source, negated=negated):
            return flow(source, loads).part(ABSENT if negated else 1 - ABSENT)
        case Merged(kind=SetKind.UNION, left=left, right=right):
            one, other = flow(left, loads), flow(right, loads)
            return Flow(one.rate + other.rate, one.rows + other.rows)
        case Merged(kind=kind, left=left):
            return flow(left, loads).part(ABSENT if kind is SetKind.EXCEPT else 1 - ABSENT)
        case Distinct(source=source) | Grouped(source=source):
            given = flow(source, loads)
            return replace(given, rows=min(given.rows, KEYS))
        case Lasting(source=source, range=range_):
            rate = flow(source, loads).rate
            return Flow(rate, rate * _seconds(range_))
        case Made() | AsOf() | Leading() | Emitted():
            return flow(relation.source, loads)
        case _:
            assert_never(relation)


def passing(load: Load, where: Expr | None) -> float:
    """Which part of the rows of a stream meets a condition."""
    return 1.0 if where is None else load.passing.get(where.sql, PART)


def keys_of(load: Load, key: str | None = None) -> float:
    """How many different values of `key` the rows of a stream are joined on."""
    if load.groups_by != "given" and key is not None and key in load.joined:
        return max(1.0, load.joined[key])
    return KEYS if load.groups_by == "assumed" else load.groups


def matches(on: Expr | None, left: Relation, right: Relation, loads: Loads) -> float:
    """With which part of the rows of the right one of the left is paired."""
    if on is None:
        return 1.0
    match = matching(on, columns(left), columns(right))
    if not match.left:
        return PART
    mine, theirs = values_of(names(match.left), left, loads), values_of(names(match.right), right, loads)
    return 1.0 / max(mine, theirs)


def names(keys: Sequence[Named]) -> list[str]:
    """The columns that rows are matched by."""
    return [key.expr.tree.name for key in keys]


def values_of(columns: Sequence[str], relation: Relation, loads: Loads) -> float:
    """How many different values these columns have together."""
    found = key_of(columns, relation)
    return KEYS if found is None else keys_of(loads.of(found[0]), found[1])


def key_of(columns: Sequence[str], relation: Relation) -> tuple[str, str] | None:
    """The stream that columns are of, and what they are there, as a key; None: they are not of one."""
    found = [origin(name, relation) for name in columns]
    known = [each for each in found if each is not None]
    if not known or len(known) < len(found) or len({stream for stream, _ in known}) > 1:
        return None
    return known[0][0], key_text(text for _, text in known)


def key_text(parts: Iterable[str]) -> str:
    """Columns of a stream as one key."""
    return ", ".join(parts)


def origin(name: str, relation: Relation) -> tuple[str, str] | None:
    """The stream a column is of, and what it is there; None: it is made of several rows, or of a table."""
    match relation:
        case Rows(stream=stream, items=items):
            return next(((stream, item.expr.sql) for item in items if item.name == name), None)
        case Made(items=items, source=source):
            made = next((item.expr.tree for item in items if item.name == name), None)
            return origin(made.name, source) if isinstance(made, exp.Column) else None
        case Whether(source=source):
            return origin(name, source)
        case Grouped() | Merged() | Entries():
            return None
        case _:
            return next((found for each in below(relation) if (found := origin(name, each))), None)


def _pairs(relation: Paired, loads: Loads) -> Flow:
    left, right = flow(relation.left, loads), flow(relation.right, loads)
    part = matches(relation.on, relation.left, relation.right, loads)
    rate = (left.rate * right.rows + right.rate * left.rows) * part
    alone = _alone(relation.kind, left, right)
    return Flow(rate + alone.rate, left.rows * right.rows * part + alone.rows)


def _alone(kind: JoinKind, left: Flow, right: Flow) -> Flow:
    """The rows of an outer join that have no partner."""
    kept = [left.part(ABSENT)] if kind in (JoinKind.LEFT, JoinKind.FULL) else []
    kept += [right.part(ABSENT)] if kind in (JoinKind.RIGHT, JoinKind.FULL) else []
    return Flow(sum(each.rate for each in kept), sum(each.rows for each in kept))


def _seconds(range_: Duration | None) -> float:
    return FOR_EVER if range_ is None else range_ / SECOND
