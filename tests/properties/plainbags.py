"""What operators make of bags of rows, a row at a time and without SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.properties.plainvalues import Row, is_true, value
from weft.lang.bodies import JoinKind, SetKind
from weft.plan.nodes import Aggregation
from weft.plan.relations import Grouped, Leading, Merged, Paired, Whether
from weft.plan.relationtree import columns


def made_of(items: Sequence[Any], row: Row) -> Row:
    return {item.name: value(item.expr.tree, row) for item in items}


def key_of(row: Row) -> tuple[Any, ...]:
    return tuple(row.values())


def paired(relation: Paired, left: list[Row], right: list[Row]) -> list[Row]:
    made: list[Row] = []
    met: set[int] = set()
    for ours in left:
        partners = [at for at, row in enumerate(right) if meets(relation, ours | row)]
        met.update(partners)
        made += [ours | right[at] for at in partners]
        if not partners and relation.kind in (JoinKind.LEFT, JoinKind.FULL):
            made.append(ours | {column.name: None for column in columns(relation.right)})
    if relation.kind in (JoinKind.RIGHT, JoinKind.FULL):
        nulls = {column.name: None for column in columns(relation.left)}
        made += [nulls | row for at, row in enumerate(right) if at not in met]
    return made


def meets(relation: Paired, row: Row) -> bool:
    return relation.on is None or is_true(relation.on, row)


def passes(relation: Whether, row: Row, others: Sequence[Row]) -> bool:
    on = relation.on
    return relation.negated != any(on is None or is_true(on, row | other) for other in others)


def merged(relation: Merged, left: list[Row], right: list[Row]) -> list[Row]:
    ours, theirs = Counter(map(key_of, left)), Counter(map(key_of, right))
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


def renamed(relation: Merged, right: Sequence[Row]) -> list[Row]:
    names = [column.name for column in columns(relation)]
    return [dict(zip(names, row.values())) for row in right]


def first(relation: Leading, rows: list[Row]) -> list[Row]:
    """Sorted by the last key first, since that keeps what is equal as it is; a null is the least."""
    rows = sorted(rows, key=lambda row: [(one is not None, one) for one in row.values()])
    for key in reversed(relation.order):
        assert key.nulls_first is not key.descending
        known = [(value(key.expr.tree, row), row) for row in rows]
        known.sort(key=lambda one: (one[0] is not None, one[0]), reverse=key.descending)
        rows = [row for _, row in known]
    return rows[: relation.limit]


def grouped(relation: Grouped, rows: list[Row]) -> list[Row]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    heads: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        window = {name: row[name] for name in ("window_start", "window_end") if name in row}
        head = window | made_of(relation.keys, row)
        heads[key_of(head)] = head
        groups.setdefault(key_of(head), []).append(row)
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
