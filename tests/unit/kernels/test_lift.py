"""Rows -> cells against the obvious loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.lift import Rows, lift

EXACT = Context(prec=60)
FLOATS = st.sampled_from([0.0, -0.0, 1.5, -2.25, 1e300, math.inf, -math.inf, math.nan])
LONGS = st.sampled_from([0, 1, -1, 7, 2**63 - 1, -(2**63), 2**32, -(2**32) - 1])
WORDS = st.sampled_from(["", "a", "b", "ab", "é", "z", "\U0001f600"])
DECIMALS = st.sampled_from([Decimal("0.00"), Decimal("1.25"), Decimal("-99999999999999999999.99")])
WIDES = st.integers(1 - 10**38, 10**38 - 1).map(lambda units: Decimal(units).scaleb(-3, EXACT))
FLAGS = st.booleans()

TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "double": (pa.float64(), FLOATS),
    "bigint": (pa.int64(), LONGS),
    "string": (pa.string(), WORDS),
    "decimal": (pa.decimal128(22, 2), DECIMALS),
    "wide": (pa.decimal128(38, 3), WIDES),
    "boolean": (pa.bool_(), FLAGS),
}


@st.composite
def tables(draw: st.DrawFn, type_: str) -> list[dict[str, Any]]:
    values = st.none() | TYPES[type_][1]
    row = st.fixed_dictionaries(
        {
            "slice": st.sampled_from([0, 10, 20]),
            "key": st.none() | FLOATS,
            "value": values,
            "by": st.none() | LONGS,
            "where": st.none() | FLAGS,
        }
    )
    return draw(st.lists(row, max_size=25))


def cells(rows: list[dict[str, Any]]) -> dict[Any, list[dict[str, Any]]]:
    """The rows by slice and key; NaN is one key, and so are the zeros."""
    found: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        key = "nan" if row["key"] is not None and math.isnan(row["key"]) else row["key"]
        found.setdefault((row["slice"], key), []).append(row)
    return found


def lifted(rows: list[dict[str, Any]], type_: str, op: str, where: bool) -> dict[Any, dict[str, Any]]:
    arrow = {"key": pa.float64(), "value": TYPES[type_][0], "by": pa.int64(), "where": pa.bool_()}
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in arrow.items()}
    slices = np.array([row["slice"] for row in rows], np.int64)
    made = Rows(columns, slices, [columns["key"]])
    parts = lift(made, op, "value", "by", "where" if where else None)
    names = [next(iter(cells([rows[at]]))) for at in made.first]
    assert len(set(names)) == len(names)
    return {name: {part: array[at].as_py() for part, array in parts.items()} for at, name in enumerate(names)}


def order(value: Any) -> Any:
    """What SQL orders by: text by its bytes, NaN above all numbers."""
    if isinstance(value, str):
        return value.encode()
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def present(cell: list[dict[str, Any]], where: bool) -> list[dict[str, Any]]:
    return [row for row in cell if row["where"]] if where else cell


def check(rows: list[dict[str, Any]], type_: str, op: str, expected: Callable[[list[Any]], Any]) -> None:
    for where in (False, True):
        found = lifted(rows, type_, op, where)
        assert set(found) == set(cells(rows))
        for name, cell in cells(rows).items():
            values = [row["value"] for row in present(cell, where) if row["value"] is not None]
            assert same(found[name], expected(values)), (name, op, found[name], expected(values))


def same(left: dict[str, Any], right: dict[str, Any]) -> bool:
    return left.keys() == right.keys() and all(_equal(left[part], right[part]) for part in left)


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        both_nan = math.isnan(left) and math.isnan(right)
        return both_nan or left == right or math.isclose(left, right, rel_tol=1e-9)
    return bool(left == right)


@pytest.mark.parametrize("type_", list(TYPES))
@given(data=st.data())
def test_counts_and_extremes(type_: str, data: st.DataObject) -> None:
    rows = data.draw(tables(type_))
    check(rows, type_, "count", lambda values: {"": len(values)})
    check(rows, type_, "min", lambda values: {"": min(values, key=order, default=None)})
    check(rows, type_, "max", lambda values: {"": max(values, key=order, default=None)})


@given(tables("bigint"))
def test_long_sums_are_exact(rows: list[dict[str, Any]]) -> None:
    for where in (False, True):
        found = lifted(rows, "bigint", "sum_long", where)
        for name, cell in cells(rows).items():
            values = [row["value"] for row in present(cell, where) if row["value"] is not None]
            high, low = found[name]["hi"], found[name]["lo"]
            assert (high is None) == (not values)
            assert not values or high * 2**32 + low == sum(values)


@given(tables("double"))
def test_float_sums(rows: list[dict[str, Any]]) -> None:
    check(rows, "double", "sum_float", lambda values: {"": float(sum(values)) if values else None})


@given(tables("decimal"))
def test_decimal_sums(rows: list[dict[str, Any]]) -> None:
    check(rows, "decimal", "sum_decimal", lambda values: {"": sum(values) if values else None})


@given(tables("wide"))
def test_sums_of_wide_decimals_are_exact_beyond_38_digits(rows: list[dict[str, Any]]) -> None:
    for where in (False, True):
        found = lifted(rows, "wide", "sum_wide", where)
        for name, cell in cells(rows).items():
            values = [row["value"] for row in present(cell, where) if row["value"] is not None]
            high, low = found[name]["hi"], found[name]["lo"]
            assert (high is None) == (low is None) == (not values)
            assert not values or int(high) * 2**64 + units(low) == sum(map(units, values))


def units(value: Decimal) -> int:
    return int(value.scaleb(3, EXACT))


@given(st.lists(st.floats(-100, 100), max_size=20))
def test_moments(values: list[float]) -> None:
    rows = [{"slice": 0, "key": 1.0, "value": value, "by": 0, "where": True} for value in values]

    def expected(values: list[float]) -> dict[str, Any]:
        mean = sum(values) / len(values)
        return {"n": len(values), "mean": mean, "m2": sum((value - mean) ** 2 for value in values)}

    for found in lifted(rows, "double", "moments", False).values():
        wanted = expected(values)
        assert found["n"] == wanted["n"]
        assert found["mean"] == pytest.approx(wanted["mean"], abs=1e-9)
        assert found["m2"] == pytest.approx(wanted["m2"], abs=1e-6)


@pytest.mark.parametrize("type_", list(TYPES))
@pytest.mark.parametrize("op", ["min_by", "max_by"])
@given(data=st.data())
def test_values_that_go_with_an_extreme(type_: str, op: str, data: st.DataObject) -> None:
    rows = data.draw(tables(type_))
    extreme = max if op == "max_by" else min
    for where in (False, True):
        found = lifted(rows, type_, op, where)
        for name, cell in cells(rows).items():
            taking = [row for row in present(cell, where) if row["by"] is not None]
            if not taking:
                assert found[name] == {"by": None, "val": None}
                continue
            by = extreme(row["by"] for row in taking)
            values = [row["value"] for row in taking if row["by"] == by]
            known = [value for value in values if value is not None]
            none = not known or (op == "min_by" and len(known) < len(values))
            wanted = None if none else extreme(known, key=order)
            assert same(found[name], {"by": by, "val": wanted})
