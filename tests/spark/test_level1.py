"""Level 1 against what the rows say, put down by hand."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyarrow as pa
import pytest

from tests.spark.plans import TRADES, feed, partial, plan, stream
from weft.engine.rowcells import row_cells
from weft.lang.parse import parse_expression
from weft.share.nodes import Edges, Guard, Op, StreamPlan
from weft.share.rowcolumns import key_layout
from weft.spark.level1 import collect, level1, small_rows
from weft.spark.sql import AHEAD, BROKEN, CELL, NO_TIME, UNWANTED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SECOND = 1_000_000
NAN, INF = float("nan"), float("inf")


def batch(spark: SparkSession, rows: list[tuple[Any, ...]], schema: str = "") -> DataFrame:
    """Rows whose last column is the event time in microseconds."""
    names = schema or "symbol STRING, price DOUBLE, qty BIGINT, us BIGINT"
    made = spark.createDataFrame(rows, names)
    return made.selectExpr(*(f"`{name}`" for name in made.columns[:-1]), "timestamp_micros(us) AS ts")


def cells(table: pa.Table, *columns: str) -> dict[tuple[Any, ...], Any]:
    """The cells by slice (in seconds) and keys."""
    found: dict[tuple[Any, ...], Any] = {}
    for row in table.to_pylist():
        if row["status"] == CELL:
            keys = tuple(value for name, value in row.items() if name[0] == "g" and name[1:].isdigit())
            at = (row["slice"] / SECOND, *keys)
            assert at not in found
            found[at] = tuple(row[name] for name in columns) if len(columns) > 1 else row[columns[0]]
    return found


class Run(Protocol):
    def __call__(
        self, rows: DataFrame, of: StreamPlan, now: int | None = None, watermark: int | None = None
    ) -> pa.Table: ...


def in_spark(
    rows: DataFrame, of: StreamPlan, now: int | None = None, watermark: int | None = None
) -> pa.Table:
    return collect(level1(rows, of, now, watermark))


def in_one_task(
    rows: DataFrame, of: StreamPlan, now: int | None = None, watermark: int | None = None
) -> pa.Table:
    return collect(level1(rows.coalesce(1), of, now, watermark))


def here(rows: DataFrame, of: StreamPlan, now: int | None = None, watermark: int | None = None) -> pa.Table:
    return row_cells(collect(small_rows(rows, of, now)), of, watermark)


@pytest.fixture(params=[in_spark, in_one_task, here])
def run(request: pytest.FixtureRequest) -> Run:
    return cast(Run, request.param)


ROWS = [
    ("A", 10.0, 1, 0),
    ("A", 30.0, 2, 900_000),
    ("A", None, 4, 1_000_000),
    ("B", 5.0, 8, 1_999_999),
    (None, 7.0, 16, 500_000),
]


def test_counts_and_sums_by_slice_and_key(spark: SparkSession, run: Run) -> None:
    of = plan(
        stream(TRADES),
        feed(
            ["symbol"],
            partial(Op.COUNT),
            partial(Op.COUNT, "price"),
            partial(Op.SUM_FLOAT, "price", "double"),
            partial(Op.SUM_LONG, "qty", "bigint"),
        ),
    )
    table = run(batch(spark, ROWS), of)
    assert cells(table, "f0_p0", "f0_p1", "f0_p2", "f0_p3_hi", "f0_p3_lo") == {
        (0, "A"): (2, 2, 40.0, 0, 3),
        (1, "A"): (1, 0, None, 0, 4),
        (1, "B"): (1, 1, 5.0, 0, 8),
        (0, None): (1, 1, 7.0, 0, 16),
    }
    assert sum(table["rows"].to_pylist()) == 5
    assert max(table["max_ts"].to_pylist()) == 1_999_999


def test_long_sums_are_exact_at_the_ends_of_the_range(spark: SparkSession, run: Run) -> None:
    least, most = -(2**63), 2**63 - 1
    of = plan(stream(TRADES), feed([], partial(Op.SUM_LONG, "qty", "bigint")))
    table = run(batch(spark, [("A", 1.0, n, 0) for n in (least, least, most, -1)]), of)
    high, low = cells(table, "f0_p0_hi", "f0_p0_lo")[(0,)]
    assert high * 2**32 + low == 2 * least + most - 1


def test_extremes_rank_nan_highest_and_know_one_zero(spark: SparkSession, run: Run) -> None:
    of = plan(
        stream(TRADES),
        feed(["symbol"], partial(Op.MIN, "price", "double"), partial(Op.MAX, "price", "double")),
    )
    rows = [("A", NAN, 0, 0), ("A", 1.0, 0, 0), ("B", -0.0, 0, 0), ("C", -INF, 0, 0), ("C", None, 0, 0)]
    found = cells(run(batch(spark, rows), of), "f0_p0", "f0_p1")
    assert found[(0, "A")][0] == 1.0
    assert math.isnan(found[(0, "A")][1])
    assert math.copysign(1.0, found[(0, "B")][0]) == 1.0
    assert found[(0, "C")] == (-INF, -INF)


def test_float_keys_zero_and_minus_zero_are_one_group(spark: SparkSession, run: Run) -> None:
    of = plan(stream(TRADES), feed(["price"], partial(Op.COUNT), types=["double"]))
    found = cells(run(batch(spark, [("A", 0.0, 0, 0), ("A", -0.0, 0, 0)]), of), "f0_p0")
    assert found == {(0, 0.0): 2}


def test_moments(spark: SparkSession, run: Run) -> None:
    of = plan(stream(TRADES), feed([], partial(Op.MOMENTS, "price", "double", where="symbol = 'A'")))
    rows = [("A", x, 0, 0) for x in (2.0, 4.0, 9.0, None)] + [("B", 100.0, 0, 0), ("B", 1.0, 0, SECOND)]
    found = cells(run(batch(spark, rows), of), "f0_p0_n", "f0_p0_mean", "f0_p0_m2")
    n, mean, m2 = found[(0,)]
    assert (n, mean) == (3, 5.0)
    assert m2 == pytest.approx(26.0)
    assert found[(1,)] == (0, None, None)


def test_first_last_and_extremes_by_another_column(spark: SparkSession, run: Run) -> None:
    of = plan(
        stream(TRADES),
        feed(
            [],
            partial(Op.FIRST, "price", "double"),
            partial(Op.LAST, "price", "double"),
            partial(Op.MIN_BY, "symbol", "string", by="qty", by_type="bigint"),
            partial(Op.MAX_BY, "symbol", "string", by="qty", by_type="bigint"),
        ),
    )
    rows = [
        ("D", 3.0, 5, 20), ("C", 2.0, 5, 20), ("A", 9.0, None, 30), ("B", None, 1, 10), ("E", 4.0, 1, 30),
        ("Z", 1.0, None, 20),
    ]  # fmt: skip
    names = [f"f0_p{i}_{part}" for i in range(4) for part in ("by", "val")]
    found = cells(run(batch(spark, rows), of), *names)[(0,)]
    assert found == (10, None, 30, 9.0, 1, "B", 5, "D")


def test_a_partial_without_rows_is_absent(spark: SparkSession, run: Run) -> None:
    of = plan(stream(TRADES), feed([], partial(Op.MIN_BY, "price", by="qty", where="symbol = 'X'")))
    assert cells(run(batch(spark, ROWS[:2]), of), "f0_p0_by", "f0_p0_val") == {(0,): (None, None)}


def test_decimal_sums_are_wide(spark: SparkSession, run: Run) -> None:
    of = plan(
        stream({"d": "decimal(10,2)", "ts": "timestamp"}),
        feed([], partial(Op.SUM_DECIMAL, "d", "decimal(10,2)")),
    )
    rows = batch(spark, [(Decimal("99999999.99"), 0), (Decimal("0.01"), 0)], "d DECIMAL(10, 2), us BIGINT")
    table = run(rows, of)
    assert table.schema.field("f0_p0").type == pa.decimal128(38, 2)
    assert cells(table, "f0_p0") == {(0,): Decimal("100000000.00")}


@pytest.mark.parametrize(("precision", "scale"), [(38, 0), (38, 38), (38, 19), (29, 5), (29, 29)])
def test_sums_of_wide_decimals_may_have_more_than_38_digits(
    spark: SparkSession, run: Run, precision: int, scale: int
) -> None:
    type_ = f"decimal({precision},{scale})"
    most, exact = 10**precision - 1, Context(prec=60)
    units = {
        "A": [most] * 3,
        "B": [-most, -most, 1],
        "C": [most, None, -most, -1, 2**64, -(2**64)],
        "D": [None],
    }
    rows = [
        (key, None if n is None else Decimal(n).scaleb(-scale, exact), 0)
        for key, values in units.items()
        for n in values
    ]
    of = plan(
        stream({"k": "string", "d": type_, "ts": "timestamp"}),
        feed(["k"], partial(Op.SUM_WIDE, "d", type_), partial(Op.SUM_WIDE, "d", type_, where="k = 'A'")),
    )
    table = run(batch(spark, rows, f"k STRING, d {type_}, us BIGINT"), of)
    assert table.schema.field("f0_p0_hi").type == pa.decimal128(38, 0)
    assert table.schema.field("f0_p0_lo").type == pa.decimal128(38, scale)
    found = cells(table, "f0_p0_hi", "f0_p0_lo", "f0_p1_hi", "f0_p1_lo")
    assert found.pop((0, "D")) == (None, None, None, None)
    for (_, key), (high, low, *chosen) in found.items():
        assert int(high) * 2**64 + int(low.scaleb(scale, exact)) == sum(n or 0 for n in units[key])
        assert chosen == ([high, low] if key == "A" else [None, None])


def test_a_condition_guards_its_argument(spark: SparkSession, run: Run) -> None:
    of = plan(
        stream(TRADES),
        feed(
            [],
            partial(Op.SUM_LONG, "8 div qty", "bigint", where="qty <> 0"),
            partial(Op.MAX, "8 div qty", "bigint", where="qty <> 0"),
        ),
    )
    found = cells(run(batch(spark, [("A", 1.0, 0, 0), ("A", 1.0, 2, 0)]), of), "f0_p0_lo", "f0_p1")
    assert found == {(0,): (4, 4)}


def test_slices_before_1970_and_at_uneven_edges(spark: SparkSession, run: Run) -> None:
    rows = [("A", 1.0, 1, us) for us in (-1, -SECOND, 0, 2_999_999, 3_000_000, 3_500_000, 5_000_000)]
    uniform = plan(stream(TRADES), feed([], partial(Op.COUNT)))
    assert cells(run(batch(spark, rows), uniform), "f0_p0") == {(-1,): 2, (0,): 1, (2,): 1, (3,): 2, (5,): 1}
    edges = Edges(None, ((3_000_000, 0), (5_000_000, 500_000)), "")
    uneven = plan(stream(TRADES), feed([], partial(Op.COUNT)), edges=edges)
    assert cells(run(batch(spark, rows), uneven), "f0_p0") == {(-3,): 2, (0.5,): 1, (0,): 1, (3,): 3}


def test_status_of_rows(spark: SparkSession, run: Run) -> None:
    schema = "symbol STRING, price DOUBLE, qty BIGINT, _weft_corrupt STRING, us BIGINT"
    rows = [
        ("A", 1.0, 1, None, 5),
        ("B", 1.0, 1, None, 6),
        (None, None, None, None, None),
        ("A", 1.0, 1, None, 100 * SECOND + 1),
        (None, None, None, "{oops", None),
        ("A", 1.0, 1, None, 100 * SECOND),
    ]
    declared = stream(TRADES, max_ahead=40 * SECOND)
    of = plan(declared, feed(["symbol"], partial(Op.COUNT)), wanted="symbol = 'A'")
    table = run(batch(spark, rows, schema), of, now=60 * SECOND, watermark=100 * SECOND)
    by_status: dict[int, int] = {}
    for row in table.to_pylist():
        by_status[row["status"]] = by_status.get(row["status"], 0) + row["rows"]
    assert by_status == {CELL: 2, UNWANTED: 1, NO_TIME: 1, AHEAD: 1, BROKEN: 1}
    assert sum(table["late"].to_pylist()) == 2
    without_clock = run(batch(spark, rows, schema), of)
    assert AHEAD not in without_clock["status"].to_pylist()


def test_guards_count_the_rows_that_fail(spark: SparkSession, run: Run) -> None:
    guard = Guard("ratio", parse_expression("qty = 0"), "division by zero")
    of = plan(stream(TRADES), feed(["symbol"], partial(Op.COUNT)), guards=[guard], wanted="symbol <> 'B'")
    rows = [("A", 1.0, 0, 0), ("B", 1.0, 0, 0), ("A", 1.0, 1, 0), ("A", 1.0, 0, None)]
    assert sum(run(batch(spark, rows), of)["e0"].to_pylist()) == 2


def test_several_roots_count_rows_once(spark: SparkSession, run: Run) -> None:
    of = plan(
        stream(TRADES),
        feed(["symbol"], partial(Op.SUM_FLOAT, "price", "double")),
        feed(["qty % 2"], partial(Op.COUNT), partial(Op.SUM_FLOAT, "price", "double"), types=["bigint"]),
        feed(["symbol"], partial(Op.MAX, "price", "double"), extra=True),
    )
    assert key_layout(of) == {0: [0], 1: [1], 2: [0]}
    table = run(batch(spark, ROWS), of, watermark=1_000_000)
    assert sum(x or 0 for x in table["rows"].to_pylist()) == 5
    assert sum(x or 0 for x in table["late"].to_pylist()) == 3
    first = {(r["slice"], r["g0"]): r["f0_p0"] for r in table.to_pylist() if r["feed"] == 0}
    assert first == {(0, "A"): 40.0, (SECOND, "A"): None, (SECOND, "B"): 5.0, (0, None): 7.0}
    second = {(r["slice"], r["g1"]): (r["f1_p0"], r["f1_p1"]) for r in table.to_pylist() if r["feed"] == 1}
    assert second == {(0, 1): (1, 10.0), (0, 0): (2, 37.0), (SECOND, 0): (2, 5.0)}
    third = {(r["slice"], r["g0"]): r["f2_p0"] for r in table.to_pylist() if r["feed"] == 2}
    assert third == {(0, "A"): 30.0, (SECOND, "A"): None, (SECOND, "B"): 5.0, (0, None): 7.0}


def test_no_feeds_still_gives_the_counts(spark: SparkSession, run: Run) -> None:
    table = run(batch(spark, [*ROWS, ("A", 1.0, 1, None)]), plan(stream(TRADES)))
    counted = {row["status"]: (row["rows"], row["max_ts"]) for row in table.to_pylist()}
    assert counted == {UNWANTED: (5, 1_999_999), NO_TIME: (1, None)}


def test_an_empty_batch_gives_an_empty_table(spark: SparkSession, run: Run) -> None:
    of = plan(stream(TRADES), feed(["symbol"], partial(Op.COUNT)))
    table = run(batch(spark, ROWS).limit(0), of)
    assert table.num_rows == 0
    assert {"feed", "status", "slice", "g0", "f0_p0", "rows", "max_ts", "late"} <= set(table.column_names)


def test_columns_may_have_any_name(spark: SparkSession, run: Run) -> None:
    rows = batch(spark, [("A", "B", "C", 0)], "g0 STRING, feed STRING, `a b` STRING, us BIGINT")
    declared = stream({"g0": "string", "feed": "string", "a b": "string", "ts": "timestamp"})
    of = plan(declared, feed(["feed", "`a b`"], partial(Op.MAX, "g0", "string")))
    assert cells(run(rows, of), "f0_p0") == {(0, "B", "C"): "A"}


def test_the_clock_is_the_one_given(spark: SparkSession, run: Run) -> None:
    when = "ts > current_timestamp() - INTERVAL 10 SECONDS AND symbol <> 'CURRENT_TIMESTAMP()'"
    of = plan(stream(TRADES), feed([], partial(Op.COUNT, where=when)))
    rows = batch(spark, [("A", 1.0, 1, 95 * SECOND), ("A", 1.0, 1, 85 * SECOND)])
    assert cells(run(rows, of, now=100 * SECOND), "f0_p0") == {(95,): 1, (85,): 0}
