"""The obvious way: rows kept as they came, every window computed from them by a loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from weft.kernels.arrow import arrow_type
from weft.kernels.columns import ColumnSpec

GRAIN = 10  # of the slices in these tests


@dataclass(frozen=True)
class Row:
    ts: int
    key: tuple[Any, ...]
    i: int | None = None
    big: int | None = None
    f: float | None = None
    s: str | None = None
    d: Decimal | None = None  # decimal(20,2), too long for 64 bits
    e: Decimal | None = None  # decimal(10,2)
    w: int | None = None  # decimal(38,0)
    day: date | None = None
    flag: bool | None = None

    @property
    def slice(self) -> int:
        return self.ts // GRAIN * GRAIN


@dataclass(frozen=True)
class Case:
    """A column: how a cell's partial is made of its rows, and what a window's value is."""

    spec: ColumnSpec
    column: str | None = None
    by: str | None = None
    where: Callable[[Row], bool] = lambda row: True

    def rows(self, rows: Sequence[Row]) -> list[Row]:
        return [row for row in rows if self.where(row)]


def _spec(text: str, op: str, type: str | None = None, by_type: str | None = None) -> ColumnSpec:
    return ColumnSpec(text, op, type, by_type)


CASES = [
    Case(_spec("count(*)", "count")),
    Case(_spec("count(*) odd", "count"), where=lambda row: row.ts % 2 == 1),
    Case(_spec("count(i)", "count", "int"), "i"),
    Case(_spec("sum(i)", "sum_int", "int"), "i"),
    Case(_spec("sum(i) odd", "sum_int", "int"), "i", where=lambda row: row.ts % 2 == 1),
    Case(_spec("sum(big)", "sum_long", "bigint"), "big"),
    Case(_spec("sum(d)", "sum_decimal", "decimal(20,2)"), "d"),
    Case(_spec("sum(w)", "sum_wide", "decimal(38,0)"), "w"),
    Case(_spec("sum(f)", "sum_float", "double"), "f"),
    Case(_spec("moments(f)", "moments", "double"), "f"),
    *(
        Case(_spec(f"{op}({name})", op, type), name)
        for op in ("min", "max")
        for name, type in [
            ("i", "int"),
            ("big", "bigint"),
            ("f", "double"),
            ("s", "string"),
            ("d", "decimal(20,2)"),
            ("e", "decimal(10,2)"),
            ("day", "date"),
            ("flag", "boolean"),
        ]
    ),
    Case(_spec("first(s)", "first", "string", "bigint"), "s", "ts"),
    Case(_spec("last(big)", "last", "bigint", "bigint"), "big", "ts"),
    Case(_spec("min_by(s, f)", "min_by", "string", "double"), "s", "f"),
    Case(_spec("max_by(f, s)", "max_by", "double", "string"), "f", "s"),
    Case(_spec("max_by(i, big)", "max_by", "int", "bigint"), "i", "big"),
]
PRESENT, PRESENT_ODD = CASES[0], CASES[1]


def order(value: Any) -> Any:
    """Sorts as SQL does: null first, NaN greatest, one zero, text by its UTF-8 bytes."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (1, math.isnan(value), 0.0 if math.isnan(value) else value + 0.0)
    return (1, value.encode() if isinstance(value, str) else value)


def evaluate(case: Case, rows: Sequence[Row]) -> Any:
    """The partial of all rows at once, as Python values."""
    rows = case.rows(rows)
    op = case.spec.op
    if case.column is None:
        return len(rows)
    values = [getattr(row, case.column) for row in rows if getattr(row, case.column) is not None]
    if op == "count":
        return len(values)
    if op in ("sum_int", "sum_long", "sum_decimal", "sum_wide"):
        return sum(values) if values else None
    if op == "sum_float":
        return _float_sum(values) if values else None
    if op == "moments":
        return _moments(values)
    if op in ("min", "max"):
        return (min if op == "min" else max)(values, key=order) if values else None
    assert case.by is not None
    least = op in ("first", "min_by")
    pairs = [(getattr(row, case.by), getattr(row, case.column)) for row in rows]
    pairs = [pair for pair in pairs if pair[0] is not None]
    return (min if least else max)(pairs, key=lambda pair: (order(pair[0]), order(pair[1])), default=None)


def _float_sum(values: Sequence[float]) -> float:
    finite = all(math.isfinite(value) for value in values)
    return math.fsum(values) if finite else sum(values)


def _moments(values: Sequence[float]) -> tuple[float, float, float]:
    if any(not math.isfinite(value) for value in values):
        return float(len(values)), math.nan, math.nan
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction(0)) / max(1, len(exact))
    return float(len(exact)), float(mean), float(sum(((x - mean) ** 2 for x in exact), Fraction(0)))


def parts(case: Case, cells: Sequence[Sequence[Row]]) -> dict[str, pa.Array]:
    """What level 1 hands over: the partials of cells as Arrow columns."""
    found = [evaluate(case, rows) for rows in cells]
    type = arrow_type(case.spec.type)
    match case.spec.op:
        case "count":
            return {"": pa.array(found, pa.int64())}
        case "sum_int":
            return {"": pa.array(found, pa.int64())}
        case "sum_long":
            rows = [[r.big for r in case.rows(cell) if r.big is not None] for cell in cells]
            hi = [sum(x >> 32 for x in cell) if cell else None for cell in rows]
            lo = [sum(x & 0xFFFFFFFF for x in cell) if cell else None for cell in rows]
            return {"hi": pa.array(hi, pa.int64()), "lo": pa.array(lo, pa.int64())}
        case "sum_decimal":
            return {"": pa.array(found, pa.decimal128(38, 2))}
        case "sum_wide":
            wide = [[r.w for r in case.rows(cell) if r.w is not None] for cell in cells]
            hi = [sum(x >> 64 for x in cell) if cell else None for cell in wide]
            lo = [sum(x & (1 << 64) - 1 for x in cell) if cell else None for cell in wide]
            return {"hi": pa.array(hi, pa.decimal128(38, 0)), "lo": pa.array(lo, pa.decimal128(38, 0))}
        case "sum_float":
            return {"": pa.array(found, pa.float64())}
        case "moments":
            names = ("n", "mean", "m2")
            return {name: pa.array([m[at] for m in found], pa.float64()) for at, name in enumerate(names)}
        case "min" | "max":
            return {"": pa.array(found, type)}
        case _:
            by = pa.array(
                [None if pair is None else pair[0] for pair in found], arrow_type(case.spec.by_type)
            )
            return {"by": by, "val": pa.array([None if p is None else p[1] for p in found], type)}


def lowered(case: Case, values: tuple[Any, ...]) -> list[Any]:
    """What a state answers, as Python values comparable with `evaluate`."""
    match case.spec.op:
        case "count":
            return list(values[0].tolist())
        case "sum_int":
            return [total if seen else None for total, seen in zip(*(v.tolist() for v in values))]
        case "sum_long":
            return [(h << 32) + lo if seen else None for h, lo, seen in zip(*(v.tolist() for v in values))]
        case "sum_decimal":
            return [None if n is None else Decimal(n).scaleb(-2) for n in _unlimbed(values)]
        case "sum_wide":
            return _unlimbed(values)
        case "sum_float":
            return [None if x == 0 and np.signbit(x) else x for x in values[0].tolist()]
        case "moments":
            return list(zip(*(v.tolist() for v in values)))
        case _:
            return list(values[0].to_pylist())


def _unlimbed(values: tuple[Any, ...]) -> list[int | None]:
    *limbs, seen = (column.tolist() for column in values)
    totals = [sum(limb << (32 * at) for at, limb in enumerate(row)) for row in zip(*limbs)]
    return [total if some else None for total, some in zip(totals, seen)]


def agree(case: Case, got: Any, expected: Any, rows: Sequence[Row]) -> bool:
    """Bit-equal, but for floating sums (1e-12 of the sum of sizes) and variance (1e-9)."""
    if case.spec.op == "sum_float" and expected is not None:
        sizes = [abs(row.f) for row in case.rows(rows) if row.f is not None]
        return got is not None and close(got, expected, 1e-12 * _float_sum(sizes))
    if case.spec.op == "moments":
        return _moments_agree(got, expected)
    if case.by is not None:
        expected = None if expected is None else expected[1]
    return type(got) is type(expected) and order(got) == order(expected)


def _moments_agree(got: tuple[float, float, float], expected: tuple[float, float, float]) -> bool:
    if got[0] != expected[0] or math.isnan(expected[2]) or got[0] == 0:
        return got[0] == expected[0] and (got[0] == 0 or not math.isfinite(got[2]))
    size = max(abs(expected[1]), math.sqrt(expected[2]), 1e-300)
    return close(got[1], expected[1], 1e-9 * size) and close(got[2], expected[2], 1e-9 * size * size * got[0])


def close(got: float, expected: float, within: float) -> bool:
    if not math.isfinite(expected):
        return str(got) == str(expected)
    return abs(got - expected) <= within
