"""Aggregates and sketches against Spark itself: partials made in SQL, windows and values made here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from weft.kernels.columns import ColumnSpec
from weft.kernels.distinct import approx_count_distinct
from weft.kernels.finals import finish
from weft.kernels.sketches import histogram_bucket, hll_register, hll_rho, precision_for
from weft.kernels.state import FeedState
from weft.lang.parse import parse_expression

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SLICES, GROUPS = 6, 12
COUNT = ColumnSpec("count(*)", "count")
SCHEMA = (
    "slice bigint, g int, ts bigint, t tinyint, i int, big bigint, f float, d double, dec decimal(10,2), "
    "wide decimal(30,6), s string, day date, b boolean"
)


def rows(seed: int) -> Iterator[tuple[Any, ...]]:
    """Few rows a cell, so that cells, windows and groups with nothing but nulls occur."""
    rng = np.random.default_rng(seed)

    def pick(*values: Any) -> Any:
        return values[int(rng.integers(len(values)))]

    for number in range(400):
        scale = float(10.0 ** rng.integers(-3, 8))
        group = int(rng.integers(GROUPS))
        yield (
            int(rng.integers(SLICES)),
            group,
            number,
            pick(None, -128, 127, 3),
            pick(None, -(2**31), 2**31 - 1, 17),
            pick(None, int(rng.integers(-(2**50), 2**50)), 2**62 if group == 0 else 5),
            pick(None, float(np.float32(rng.normal() * scale)), 0.5),
            pick(None, rng.normal() * scale, -0.0, *((math.nan, math.inf) if group == 1 else (1.0,))),
            pick(None, Decimal(int(rng.integers(-(10**9), 10**9))).scaleb(-2)),
            pick(None, Decimal(int(rng.integers(10**17)) * 10**11 + number).scaleb(-6)),
            pick(None, "", "a", "B", "é", "\U0001f600"),
            pick(None, date(1969, 12, 31), date(2024, 2, 29)),
            pick(None, True, False),
        )


def partial(op: str, x: str) -> dict[str, str]:
    """The SQL of the parts of a partial, as level 1 makes them."""
    match op:
        case "count":
            return {"": f"count({x})"}
        case "sum_long":
            return {"hi": f"sum(shiftright({x}, 32))", "lo": f"sum({x} & 4294967295)"}
        case "sum_decimal":
            return {"": f"CAST(sum({x}) AS DECIMAL(38,2))"}
        case "sum_wide":
            cut = "CAST('18446744073709.551616' AS DECIMAL(20,6))"
            return {"hi": f"sum(CAST({x} div {cut} AS DECIMAL(20,0)))", "lo": f"sum({x} % {cut})"}
        case "moments":
            return {
                "n": f"CAST(count({x}) AS DOUBLE)",
                "mean": f"coalesce(avg(CAST({x} AS DOUBLE)), 0D)",
                "m2": f"coalesce(var_pop(CAST({x} AS DOUBLE)) * count({x}), 0D)",
            }
        case "sum_int" | "sum_float":
            return {"": f"sum({x})"}
        case _:
            return {"": f"{op}({x})"}


SUM_OPS = {
    "tinyint": "sum_int",
    "int": "sum_int",
    "bigint": "sum_long",
    "float": "sum_float",
    "double": "sum_float",
    "decimal(10,2)": "sum_decimal",
    "decimal(30,6)": "sum_wide",
}
TYPES = {
    "t": "tinyint", "i": "int", "big": "bigint", "f": "float", "d": "double", "dec": "decimal(10,2)",
    "wide": "decimal(30,6)", "s": "string", "day": "date", "b": "boolean",
}  # fmt: skip
NUMBERS = ("t", "i", "big", "f", "d", "dec", "wide")


def cases() -> list[tuple[str, str, tuple[str, ...]]]:
    """function, column, ops of its partials"""
    found: list[tuple[str, str, tuple[str, ...]]] = []
    for column in TYPES:
        found += [("count", column, ("count",)), ("min", column, ("min",)), ("max", column, ("max",))]
    for column in NUMBERS:
        op = SUM_OPS[TYPES[column]]
        found += [("sum", column, (op,)), ("avg", column, (op, "count"))]
        spreads = ("var_pop", "var_samp", "stddev_pop", "stddev_samp")
        found += [(function, column, ("moments",)) for function in spreads]
    return [*found, ("bool_and", "b", ("min",)), ("bool_or", "b", ("max",))]


def spec(op: str, column: str) -> ColumnSpec:
    return ColumnSpec(f"{op}({column})", op, TYPES[column])


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    frame = spark.createDataFrame(list(rows(1)), SCHEMA).cache()
    frame.createOrReplaceTempView("kernel_rows")
    return frame


def state_of(spark: SparkSession) -> FeedState:
    """All partials of all cells, made by one Spark aggregation."""
    wanted = {(op, column) for _, column, ops in cases() for op in ops}
    parts = {
        (op, column, name): sql for op, column in sorted(wanted) for name, sql in partial(op, column).items()
    }
    named = [f"{sql} AS p{at}" for at, sql in enumerate(["count(*)", *parts.values()])]
    table = spark.sql(f"SELECT slice, g, {', '.join(named)} FROM kernel_rows GROUP BY slice, g").toArrow()
    columns: dict[ColumnSpec, dict[str, pa.Array]] = {COUNT: {"": table["p0"]}}
    for at, (op, column, name) in enumerate(parts, start=1):
        columns.setdefault(spec(op, column), {})[name] = table[f"p{at}"]
    state = FeedState(1)
    state.fold(table["slice"].to_numpy(), [table["g"]], columns)
    return state


def same(function: str, got: Any, expected: Any) -> bool:
    if isinstance(expected, float) and got is not None and math.isfinite(expected):
        exact = function in ("min", "max")
        return got == expected if exact else math.isclose(got, expected, rel_tol=1e-7, abs_tol=1e-6)
    return repr(got) == repr(expected)


def asked(function: str, column: str) -> str:
    """A bigint sum that overflows makes Spark fail: there it is asked for as a decimal."""
    return (
        "sum(CAST(big AS DECIMAL(38,0)))" if (function, column) == ("sum", "big") else f"{function}({column})"
    )


@pytest.mark.parametrize("start", [0, 4], ids=["whole", "part"])
def test_values_and_types_are_those_of_spark(spark: SparkSession, data: DataFrame, start: int) -> None:
    state = state_of(spark)
    items = [f"{asked(function, column)} AS v{at}" for at, (function, column, _) in enumerate(cases())]
    query = spark.sql(
        f"SELECT g, {', '.join(items)} FROM kernel_rows WHERE slice >= {start} GROUP BY g ORDER BY g"
    )
    table = query.toArrow()
    for at, (function, column, ops) in enumerate(cases()):
        whole = (function, column) == ("sum", "big")
        result_type = "bigint" if whole else query.schema[f"v{at}"].dataType.simpleString()
        specs = [spec(op, column) for op in ops]
        answered = state.answer(np.array([start]), np.array([SLICES]), COUNT, specs)
        values, failed = finish(function, TYPES[column], result_type, [answered.values[s] for s in specs])
        assert whole or values.type == table[f"v{at}"].type, (function, column)
        order = np.argsort(state.keys(answered.group)[0].to_numpy())
        got = values.take(pa.array(order)).to_pylist()
        wrong = [False] * len(got) if failed is None else failed[order].tolist()
        expected = table[f"v{at}"].to_pylist()
        assert len(got) == len(expected)
        if whole:
            assert wrong == [total is not None and not -(2**63) <= total < 2**63 for total in expected]
            expected = [None if bad or x is None else int(x) for bad, x in zip(wrong, expected)]
        else:
            assert not any(wrong)
        for mine, theirs in zip(got, expected):
            assert same(function, mine, theirs), (function, column, mine, theirs)


def test_some_sum_overflowed(spark: SparkSession, data: DataFrame) -> None:
    answered = state_of(spark).answer(np.array([0]), np.array([SLICES]), COUNT, [spec("sum_long", "big")])
    _, failed = finish("sum", "bigint", "bigint", [answered.values[spec("sum_long", "big")]])
    assert failed is not None
    assert failed.sum() == 1


def test_registers_and_ranks_estimate_distinct_values(spark: SparkSession) -> None:
    precision, distinct = precision_for(0.02), 30_000
    register = parse_expression(hll_register("x", precision)).sql
    rho = parse_expression(hll_rho("x", precision)).sql
    rows = f"(SELECT IF(id % 7 = 0, NULL, concat('v', id % {distinct})) AS x FROM range(100000))"
    table = spark.sql(
        f"SELECT {register} AS r, max({rho}) AS m, count(x) AS n FROM {rows} GROUP BY r"
    ).toArrow()
    seen = table.filter(pa.compute.greater(table["n"], 0))
    ranks = seen["m"].to_numpy()
    assert set(seen["r"].to_pylist()) <= set(range(1 << precision))
    assert set(ranks.tolist()) <= set(range(1, 66 - precision))
    owner = np.zeros(len(ranks), np.int64)
    found = approx_count_distinct(owner, seen["m"].combine_chunks(), 1, precision)
    assert abs(found[0] / distinct - 1) < 0.06


EXTREMES = {
    "double": "1.7976931348623157E308D, -1.7976931348623157E308D, 4.9E-324D, 0D, -0D, double('NaN'), "
    "double('Infinity'), double('-Infinity'), 1D, 0.1D, 123456.789D, -3.5D",
    "float": "float('3.4028235E38'), float('-3.4028235E38'), float('1.4E-45'), float('NaN'), float('0.1'), "
    "float('-7.25')",
    "int": "2147483647, -2147483648, 0, -1, 1, 16383, 16384, 16385, 123456789",
    "bigint": "9223372036854775807L, -9223372036854775807L - 1L, 0L, -1L, 4503599627370497L, 1000L",
    "decimal(10,2)": "99999999.99BD, -99999999.99BD, 0.01BD, 1.00BD, 12345.67BD",
    "decimal(38,0)": "99999999999999999999999999999999999999BD, 1BD, -5BD, 12345678901234567890BD",
    "smallint": "32767S, -32768S, 5S",
    "date": "DATE'2024-02-29', DATE'0001-01-01'",
}


@pytest.mark.parametrize("type", EXTREMES)
def test_buckets_are_near_their_values_and_never_fail(spark: SparkSession, type: str) -> None:
    accuracy = 10_000
    bucket = parse_expression(histogram_bucket("x", type, accuracy)).sql
    values = f"(SELECT CAST(x AS {type}) AS x FROM (SELECT explode(array({EXTREMES[type]}, NULL)) AS x))"
    table = spark.sql(f"SELECT x, {bucket} AS b, {bucket} IS NULL AS missing FROM {values}").toArrow()
    assert table["b"].type == table["x"].type
    for x, b in zip(table["x"].to_pylist(), table["b"].to_pylist()):
        if not isinstance(x, int | float | Decimal) or type == "smallint":
            assert b == x
        elif isinstance(x, float) and not math.isfinite(x):
            assert repr(b) == repr(x)
        elif isinstance(x, float) and abs(x) < 1e-288:
            assert b == 0
        else:
            exact = Decimal(x)
            assert abs(Decimal(b) - exact) <= abs(exact) / accuracy, (x, b)
            if x in (1, 0, -1, -5, 1000, -3.5, -7.25):
                assert b == x
