"""What a relation holds as of one instant, a row at a time and without SQL: it is there to judge the SQL."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from math import inf
from typing import Any

from sqlglot import exp

from tests.properties.relations import Scenario, truth
from tests.properties.relationtruth import DuckTruth
from weft.lang.bodies import JoinKind, SetKind
from weft.lang.statements import Expr
from weft.plan.nodes import Aggregation
from weft.plan.relations import (
    AsOf,
    Distinct,
    Emitted,
    Grouped,
    Kept,
    Lasting,
    Made,
    Merged,
    Paired,
    Relation,
    Rows,
    Whether,
)
from weft.plan.relationtree import columns, walk
from weft.reference.bags import slides_of
from weft.testing.compare import difference
from weft.testing.values import micros
from weft.times import show_instant

Row = dict[str, Any]
Streams = Mapping[str, Sequence[Row]]
Life = tuple[int, float, Row]

TIME = "at"  # the event time of every stream, in microseconds
_COMPARED: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}


def disagreements(made: Scenario) -> dict[str, str]:
    """The queries of which the SQL of the reference says something else, each with the first difference."""
    known, streams = truth(made), histories(made)
    found = {name: _disagreement(relation, known, streams) for name, relation in made.relations.items()}
    return {name: text for name, text in found.items() if text}


def _disagreement(relation: Emitted, known: DuckTruth, streams: Streams) -> str:
    asked = None if slides_of(relation) else instants(relation, streams)
    for at, bag in known.bags(relation, asked).items():
        rows = [_key(row) for row in as_of(relation, streams, at)]
        said = [tuple(micros(one) if isinstance(one, datetime) else one for one in row) for row in bag]
        wrong = difference(rows, said)
        if wrong:
            return f"as of {show_instant(at)}: {wrong}"
    return ""


def histories(made: Scenario) -> dict[str, list[Row]]:
    """All rows of the streams, event times in microseconds."""
    found: dict[str, list[Row]] = {stream.name: [] for stream in made.streams.streams}
    for stream, rows in made.feeds:
        found[stream] += [{**row, TIME: micros(row[TIME])} for row in rows.to_pylist()]
    return found


def as_of(relation: Relation, streams: Streams, at: int) -> list[Row]:
    """The rows that are there as of `at`."""

    def rows(source: Relation) -> list[Row]:
        return as_of(source, streams, at)

    match relation:
        case Rows(stream=stream, where=where, range=range_):
            there = [
                row
                for row in streams[stream]
                if row[TIME] <= at and (range_ is None or at < row[TIME] + range_)
            ]
            return [_made(relation.items, row) for row in there if where is None or is_true(where, row)]
        case Kept(source=source, predicate=predicate):
            return [row for row in rows(source) if is_true(predicate, row)]
        case Made(source=source, items=items):
            return [_made(items, row) for row in rows(source)]
        case Paired(left=left, right=right):
            return _paired(relation, rows(left), rows(right))
        case Whether(source=source, other=other, on=on, negated=negated):
            others = rows(other)
            return [
                row
                for row in rows(source)
                if negated != any(on is None or is_true(on, row | other) for other in others)
            ]
        case Distinct(source=source):
            return list({_key(row): row for row in rows(source)}.values())
        case Merged(left=left, right=right):
            names = [column.name for column in columns(left)]
            return _merged(relation, rows(left), [dict(zip(names, row.values())) for row in rows(right)])
        case AsOf(source=source, range=range_):
            return [{"window_start": at + 1 - range_, "window_end": at + 1, **row} for row in rows(source)]
        case Grouped(source=source):
            return _grouped(relation, rows(source))
        case Emitted(source=source):
            return rows(source)
        case Lasting(source=source, range=range_):
            return [row for begin, row in begun(source, streams) if begin <= at < _later(begin, range_)]
        case _:
            raise NotImplementedError(relation)


def begun(relation: Relation, streams: Streams) -> list[tuple[int, Row]]:
    """Its rows with when they begin to hold: their own lives where they have any, else as they come up."""
    own = lives(relation, streams)
    if own is not None:
        return [(begin, row) for begin, _, row in own]
    before: Counter[tuple[Any, ...]] = Counter()
    made = []
    for at in instants(relation, streams):
        rows = {_key(row): row for row in as_of(relation, streams, at)}
        now = Counter(_key(row) for row in as_of(relation, streams, at))
        made += [(at, rows[key]) for key in (now - before).elements()]
        before = now
    return made


def lives(relation: Relation, streams: Streams) -> list[Life] | None:
    """Each row with when it begins and when it ends; None where rows have no lives of their own."""
    match relation:
        case Rows(stream=stream, items=items, range=range_):
            rows = [row for row in streams[stream] if relation.where is None or is_true(relation.where, row)]
            return [(row[TIME], _later(row[TIME], range_), _made(items, row)) for row in rows]
        case Lasting(source=source, range=range_):
            return [(begin, _later(begin, range_), row) for begin, row in begun(source, streams)]
        case Kept(source=source, predicate=predicate):
            below = lives(source, streams)
            return below and [life for life in below if is_true(predicate, life[2])]
        case Made(source=source, items=items):
            below = lives(source, streams)
            return below and [(begin, end, _made(items, row)) for begin, end, row in below]
        case Paired(kind=JoinKind.INNER, left=left, right=right):
            ours, theirs = lives(left, streams), lives(right, streams)
            if ours is None or theirs is None:
                return None
            pairs = [(max(a, c), min(b, d), row | other) for a, b, row in ours for c, d, other in theirs]
            return [life for life in pairs if life[0] < life[1] and _meets(relation, life[2])]
        case _:
            return None


def instants(relation: Relation, streams: Streams) -> list[int]:
    """All instants at which it may change."""
    found: set[int] = set()
    for node in walk(relation):
        match node:
            case Rows(stream=stream, range=range_):
                found.update(row[TIME] for row in streams[stream])
                found.update(row[TIME] + range_ for row in streams[stream] if range_ is not None)
            case Lasting(source=source, range=range_):
                found.update(begin + range_ for begin, _ in begun(source, streams) if range_ is not None)
    return sorted(found)


def _later(begin: int, range_: int | None) -> float:
    return inf if range_ is None else begin + range_


def is_true(predicate: Expr, row: Row) -> bool:
    return value(predicate.tree, row) is True


def value(tree: exp.Expr, row: Row) -> Any:
    """What an expression is on a row; None is null."""
    match tree:
        case exp.Column():
            return row[tree.name]
        case exp.Literal():
            return tree.name if tree.is_string else int(tree.name)
        case exp.Paren() | exp.Cast():
            return value(tree.this, row)
        case exp.Not():
            inner = value(tree.this, row)
            return None if inner is None else not inner
        case exp.Neg():
            inner = value(tree.this, row)
            return None if inner is None else -inner
        case exp.Is():
            return value(tree.this, row) is None
        case exp.And() | exp.Or():
            decides = isinstance(tree, exp.Or)
            sides = [value(tree.left, row), value(tree.right, row)]
            return decides if decides in sides else None if None in sides else not decides
        case exp.NullSafeEQ():
            return value(tree.left, row) == value(tree.right, row)
        case _:
            left, right = value(tree.left, row), value(tree.right, row)
            return None if left is None or right is None else _COMPARED[type(tree)](left, right)


def _made(items: Sequence[Any], row: Row) -> Row:
    return {item.name: value(item.expr.tree, row) for item in items}


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row.values())


def _paired(relation: Paired, left: list[Row], right: list[Row]) -> list[Row]:
    made: list[Row] = []
    met: set[int] = set()
    for ours in left:
        partners = [at for at, row in enumerate(right) if _meets(relation, ours | row)]
        met.update(partners)
        made += [ours | right[at] for at in partners]
        if not partners and relation.kind in (JoinKind.LEFT, JoinKind.FULL):
            made.append(ours | {column.name: None for column in columns(relation.right)})
    if relation.kind in (JoinKind.RIGHT, JoinKind.FULL):
        nulls = {column.name: None for column in columns(relation.left)}
        made += [nulls | row for at, row in enumerate(right) if at not in met]
    return made


def _meets(relation: Paired, row: Row) -> bool:
    return relation.on is None or is_true(relation.on, row)


def _merged(relation: Merged, left: list[Row], right: list[Row]) -> list[Row]:
    ours, theirs = Counter(map(_key, left)), Counter(map(_key, right))
    if not relation.all:
        ours, theirs = Counter(set(ours)), Counter(set(theirs))
    match relation.kind:
        case SetKind.UNION:
            counts = ours + theirs if relation.all else ours | theirs
        case SetKind.EXCEPT:
            counts = ours - theirs
        case SetKind.INTERSECT:
            counts = ours & theirs
    names = [column.name for column in columns(relation)]
    return [dict(zip(names, key)) for key in counts.elements()]


def _grouped(relation: Grouped, rows: list[Row]) -> list[Row]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    heads: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        window = {name: row[name] for name in ("window_start", "window_end") if name in row}
        head = window | _made(relation.keys, row)
        heads[_key(head)] = head
        groups.setdefault(_key(head), []).append(row)
    return [
        heads[key] | {call.name: _aggregated(call, group) for call in relation.aggregations}
        for key, group in groups.items()
    ]


def _aggregated(call: Aggregation, rows: list[Row]) -> Any:
    if call.function == "count_star":
        return len(rows)
    known = [found for row in rows if (found := value(call.args[0].tree, row)) is not None]
    match call.function:
        case "count":
            return len(known)
        case "sum":
            return sum(known) if known else None
        case "min":
            return min(known, default=None)
        case "max":
            return max(known, default=None)
        case _:
            raise NotImplementedError(call.function)
