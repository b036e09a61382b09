"""The number of an interval, as Spark and the kernels find it: how many cuts hold, each compared by Spark."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from weft.kernels.expressions import compile
from weft.lang.parse import parse_expression
from weft.share.intervals import cut_at, range_of
from weft.spark.intervals import key_sql

pytestmark = pytest.mark.spark

FLOATS = [0.0, -0.0, 5e-324, -1.5, 0.1, 2.5, 10.0, 1e300, math.inf, -math.inf, math.nan, None]
NUMBERS = ["0", "-0.0", "0.1", "2.5", "10", "10.0", "-1.5", "1e300", "3000000000"]
CASES: list[tuple[str, str, list[Any], list[str]]] = [
    ("double", "x", FLOATS, NUMBERS),
    ("float", "f", [value for value in FLOATS if value != 1e300], NUMBERS),
    ("int", "i", [-(2**31), -1, 0, 1, 2, 2**31 - 1, None], ["0", "-1", "1.5", "3000000000", "2147483647"]),
    ("tinyint", "t", [-128, 0, 127, None], ["-129", "-128", "0", "127", "128"]),
    (
        "bigint",
        "n",
        [-(2**63), 0, 2**63 - 1, 2**53 + 1, None],
        ["9223372036854775807", "0", "9007199254740993"],
    ),
    (
        "decimal(10,2)",
        "d",
        [Decimal("1.25"), Decimal("-0.01"), Decimal("0.00"), None],
        ["1.25", "1.249", "0"],
    ),
    ("date", "day", [date(2026, 1, 31), date(2026, 2, 1), None], ["DATE '2026-01-31'", "DATE '2026-02-01'"]),
    (
        "timestamp",
        "at",
        [datetime(2026, 1, 31, 12, 0, 0, 500_000, UTC), datetime(1969, 12, 31, tzinfo=UTC), None],
        ["TIMESTAMP '2026-01-31'", "TIMESTAMP '2026-01-31 12:00:00.5'", "TIMESTAMP '1969-12-31 00:00:00'"],
    ),
    (
        "string",
        "s",
        ["", "A", "a", "z", "é", "\U0001f600", "\uffff", None],
        ["''", "'a'", "'é'", "'\uffff'", "'it''s'"],
    ),
]


@pytest.mark.parametrize(("type_", "column", "values", "bounds"), CASES, ids=[case[0] for case in CASES])
def test_as_many_cuts_hold_as_spark_says(
    type_: str, column: str, values: list[Any], bounds: list[str], spark
) -> None:
    wheres = [f"{column} {sign} {bound}" for bound in bounds for sign in (">", ">=")]
    ranges = [range_of(parse_expression(where).tree, {column: type_}) for where in wheres]
    cuts = cut_at([each for each in ranges if each is not None])
    rows = spark.createDataFrame([(value,) for value in values], f"{column} {type_}")
    counted = " + ".join(f"CAST({cut.condition.sql} AS INT)" for cut in cuts.cuts)
    table = rows.selectExpr(column, f"{counted} AS wanted", f"{key_sql(cuts.key)} AS found").toArrow()
    assert table.schema.field("found").type == pa.int32()
    assert table.column("found").to_pylist() == table.column("wanted").to_pylist()
    compiled = compile(cuts.key.tree, {column: type_})
    if compiled is not None:
        found, failed = compiled.run({column: table.column(column).combine_chunks()})
        assert failed is None
        assert found.equals(table.column("found").combine_chunks())
    assert (compiled is not None) == (type_ in ("double", "tinyint", "bigint", "string"))


def test_hundreds_of_cuts(spark) -> None:
    ranges = [range_of(parse_expression(f"x > {at / 4}").tree, {"x": "double"}) for at in range(1000)]
    cuts = cut_at([each for each in ranges if each is not None])
    rows = spark.range(1100).selectExpr("id / 4.0D + 0.125D AS x")
    table = rows.selectExpr("x", f"{key_sql(cuts.key)} AS g").groupBy("g").count().toArrow()
    found = dict(zip(table.column("g").to_pylist(), table.column("count").to_pylist(), strict=True))
    assert found == dict.fromkeys(range(1, 1000), 1) | {1000: 101}
