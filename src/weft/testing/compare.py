"""Do two sets of rows say the same? As multisets; floats and approximate aggregates within their bounds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from weft.plan.nodes import Aggregate, Project, Query
from weft.testing.values import show_row

Row = tuple[Any, ...]

RELATIVE, ABSOLUTE = 1e-9, 1e-9


@dataclass(frozen=True, slots=True)
class Bound:
    """How far a column may be off: relative to the value, and by how much in any case."""

    relative: float = 0.0
    absolute: float = 0.0


FLOAT = Bound(RELATIVE, ABSOLUTE)


def bounds(query: Query) -> tuple[Bound | None, ...]:
    """Per output column the bound of an approximate aggregate; None for all others."""
    approximate = {}
    plan = query.plan
    items = plan.items if isinstance(plan, Project) else ()
    while hasattr(plan, "source"):
        if isinstance(plan, Aggregate):
            approximate = {call.name: _bound(call.function, call.params) for call in plan.aggregations}
        plan = plan.source
    return tuple(approximate.get(item.expr.sql) for item in items)


def _bound(function: str, params: Sequence[Any]) -> Bound | None:
    match function:
        case "approx_count_distinct":
            # Four standard deviations; below a few hundred values hardly any two share a register.
            return Bound(4 * (params[0] if params else 0.05), 1.0)
        case "approx_percentile":
            return Bound(2 / (params[1] if len(params) > 1 else 10_000), ABSOLUTE)
        case _:
            return None


def difference(expected: Sequence[Row], actual: Sequence[Row], loose: Sequence[Bound | None] = ()) -> str:
    """What is missing and what is too many, as text; empty when the two say the same."""
    left, right = in_order(expected, loose), in_order(actual, loose)
    if len(left) == len(right) and all(_same(one, other, loose) for one, other in zip(left, right)):
        return ""
    left, right = _but(left, right), _but(right, left)
    missing, extra = _unmatched(left, right, loose), _unmatched(right, left, loose)
    lines = [f"{len(expected)} rows expected, {len(actual)} found"]
    lines += [f"  - {show_row(row)}" for row in missing[:20]]
    lines += [f"  + {show_row(row)}" for row in extra[:20]]
    return "\n".join(lines) if missing or extra else ""


def alike(one: Row, other: Row) -> bool:
    """Do two rows say the same?"""
    return _same(one, other, ())


def _but(rows: Sequence[Row], others: Sequence[Row]) -> list[Row]:
    """The rows without those that are among the others to the letter, each as often as it is there."""
    known = Counter(map(repr, others))
    found = []
    for row in rows:
        text = repr(row)
        if known[text]:
            known[text] -= 1
        else:
            found.append(row)
    return found


def _unmatched(rows: Sequence[Row], others: Sequence[Row], loose: Sequence[Bound | None]) -> list[Row]:
    """The rows that find no partner of their own."""
    left = list(others)
    unmatched = []
    for row in rows:
        partner = next((i for i, other in enumerate(left) if _same(row, other, loose)), None)
        if partner is None:
            unmatched.append(row)
        else:
            del left[partner]
    return unmatched


def in_order(rows: Sequence[Row], loose: Sequence[Bound | None] = ()) -> list[Row]:
    """Sorted by what must be equal, then by what may differ a little."""

    def key(row: Row) -> tuple[Any, ...]:
        inexact = [i for i, value in enumerate(row) if isinstance(value, float) or _at(loose, i)]
        exact = [i for i in range(len(row)) if i not in inexact]
        return tuple(_rank(row[i]) for i in [*exact, *inexact])

    return sorted(rows, key=key)


def _rank(value: Any) -> tuple[Any, ...]:
    """Nulls first, numbers of all kinds together, NaN last."""
    match value:
        case None:
            return (0,)
        case bool() | int() | float() | Decimal():
            return (2,) if math.isnan(value) else (1, value)
        case datetime():
            return (3, value.isoformat())
        case date():
            return (4, value.isoformat())
        case list():
            return (5, tuple(_rank(part) for part in value))
        case bytes():
            return (6, value)
        case _:
            return (7, value)


def _same(one: Row, other: Row, loose: Sequence[Bound | None]) -> bool:
    return len(one) == len(other) and all(
        _near(left, right, _at(loose, i)) for i, (left, right) in enumerate(zip(one, other))
    )


def _at(loose: Sequence[Bound | None], index: int) -> Bound | None:
    return loose[index] if index < len(loose) else None


def _near(left: Any, right: Any, bound: Bound | None) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_near(a, b, bound) for a, b in zip(left, right))
    if isinstance(left, bool) or isinstance(right, bool) or not (_is_number(left) and _is_number(right)):
        return bool(left == right)
    if isinstance(left, float) or isinstance(right, float):
        bound = bound or FLOAT
        left, right = float(left), float(right)
    if bound is None or left == right:
        return bool(left == right)
    if isinstance(left, float) and not (math.isfinite(left) and math.isfinite(right)):
        return math.isnan(left) and math.isnan(right)
    scale = max(abs(float(left)), abs(float(right)))
    return abs(float(left) - float(right)) <= bound.relative * scale + bound.absolute


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal)
