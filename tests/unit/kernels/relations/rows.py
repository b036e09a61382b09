"""Rows of all types that aggregates know, at random, and as columns."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pyarrow as pa
from hypothesis import strategies as st

from tests.unit.kernels.model import Row
from weft.kernels.arrow import arrow_type

TYPES = {
    "ts": "bigint", "i": "int", "big": "bigint", "f": "double", "s": "string", "d": "decimal(20,2)",
    "e": "decimal(10,2)", "w": "decimal(38,0)", "day": "date", "flag": "boolean",
}  # fmt: skip
LONGS = st.integers(-(2**40), 2**40) | st.sampled_from([2**63 - 1, -(2**63), 0, -1, 1 << 32])
FLOATS = st.sampled_from([0.0, -0.0, 1.5, -2.25, 1e100, float("inf"), float("-inf"), float("nan")])

rows = st.builds(
    Row,
    ts=st.integers(0, 9),
    key=st.just(()),
    i=st.none() | st.integers(-5, 5),
    big=st.none() | LONGS,
    f=st.none() | FLOATS,
    s=st.none() | st.sampled_from(["", "a", "b", "é", "\U0001f600", "\uffff"]),
    d=st.none() | st.decimals(-(10**17), 10**17, places=2),
    e=st.none() | st.sampled_from([Decimal("1.25"), Decimal("-99999999.99"), Decimal("0.00")]),
    w=st.none() | st.integers(1 - 10**38, 10**38 - 1),
    day=st.none() | st.dates(date(1960, 1, 1), date(2030, 1, 1)),
    flag=st.none() | st.booleans(),
)


def columns_of(given: list[Row]) -> dict[str, pa.Array]:
    """The columns of rows, and `odd`: is the time?"""
    columns = {
        name: pa.array([getattr(row, name) for row in given], arrow_type(type))
        for name, type in TYPES.items()
    }
    return columns | {"odd": pa.array([row.ts % 2 == 1 for row in given], pa.bool_())}
