"""Single rows of a batch: those that went wrong, and those that standing filters ask for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.spark.plans import TRADES, plan, stream
from weft.lang.parse import parse_expression, parse_program
from weft.plan.bind import bind_program
from weft.share.build import build
from weft.share.nodes import Guard, StreamPlan
from weft.spark.level1 import bad_rows, collect, small_rows, standing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SECOND = 1_000_000
SCHEMA = "symbol STRING, price DOUBLE, qty BIGINT, _weft_corrupt STRING, us BIGINT"


def batch(spark: SparkSession, rows: list[tuple[Any, ...]]) -> DataFrame:
    made = spark.createDataFrame(rows, SCHEMA)
    return made.selectExpr(*made.columns[:-1], "timestamp_micros(us) AS ts")


def test_what_is_wrong_with_each_row(spark: SparkSession) -> None:
    guards = [
        Guard("ratio", parse_expression("qty = 0"), "it's a division by zero"),
        Guard("root", parse_expression("price < 0"), "negative"),
    ]
    of = plan(stream(TRADES, max_ahead=10 * SECOND), guards=guards)
    rows = [
        ("fine", 1.0, 1, None, 50 * SECOND),
        ("two", -1.0, 0, None, 50 * SECOND),
        ("never", 1.0, 0, None, None),
        ("ahead", 1.0, 1, None, 111 * SECOND),
        (None, None, None, "{oops", None),
        ("late", 1.0, 1, None, 5 * SECOND),
    ]
    found = bad_rows(batch(spark, rows), of, 100 * SECOND, 10 * SECOND, late=True).toArrow().to_pylist()
    assert sorted((row["query"] or "", row["reason"], str(row["row"])[:20]) for row in found) == [
        ("", "the event time lies further ahead of the clock than MAX AHEAD allows", '{"symbol":"ahead","p'),
        ("", "the record could not be parsed", "{oops"),
        ("", "the row has no event time", '{"symbol":"never","p'),
        ("", "the row is later than DELAY allows", '{"symbol":"late","pr'),
        ("ratio", "it's a division by zero", '{"symbol":"two","pri'),
        ("root", "negative", '{"symbol":"two","pri'),
    ]
    late = next(row for row in found if "DELAY" in row["reason"])
    assert late["event_time"].timestamp() == 5
    assert json.loads(late["row"]) == {
        "symbol": "late",
        "price": 1.0,
        "qty": 1,
        "ts": "1970-01-01T00:00:05.000Z",
    }
    without = bad_rows(batch(spark, rows), of, 100 * SECOND, 10 * SECOND, late=False).toArrow()
    assert without.num_rows == len(found) - 1


PROGRAM = """
CREATE STREAM trades (symbol STRING, price DOUBLE, qty BIGINT, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 2 SECONDS MAX AHEAD 10 SECONDS FROM parquet OPTIONS ('path' = 'in');
CREATE QUERY dear AS SELECT symbol, price * 2 AS twice FROM trades WHERE price > 10;
CREATE QUERY every AS SELECT * FROM trades;
CREATE QUERY ratio AS SELECT 10 div qty AS r FROM trades WHERE symbol <> 'C';
"""


def standing_plan() -> StreamPlan:
    return build(bind_program(parse_program(PROGRAM))).streams[0]


ROWS = [
    ("A", 20.0, 5, None, 1 * SECOND),
    ("B", 5.0, 0, None, 2 * SECOND),
    ("C", 30.0, 0, None, 3 * SECOND),
    ("D", 40.0, 1, None, None),
    (None, None, None, "oops", None),
    ("E", 50.0, 1, None, 1000 * SECOND),
]


def test_all_standing_filters_in_one_job(spark: SparkSession) -> None:
    made = collect(standing(batch(spark, ROWS), standing_plan(), 5 * SECOND))
    assert made.column_names == ["q", "s0_0", "s0_1", "s1_0", "s1_1", "s1_2", "s1_3", "s2_0"]
    by_query: dict[int, list[Any]] = {0: [], 1: [], 2: []}
    for row in made.to_pylist():
        by_query[row["q"]].append([value for name, value in row.items() if name.startswith(f"s{row['q']}_")])
    assert sorted(by_query[0]) == [["A", 40.0], ["C", 60.0]]
    assert [row[0] for row in sorted(by_query[1])] == ["A", "B", "C"]
    assert by_query[2] == [[2]]


def test_small_batches_bring_the_standing_rows_along(spark: SparkSession) -> None:
    of = standing_plan()
    apart, along = (
        collect(standing(batch(spark, ROWS), of, 5 * SECOND)),
        collect(small_rows(batch(spark, ROWS), of, 5 * SECOND)),
    )
    for at, columns in enumerate((2, 4, 1)):
        names = [f"s{at}_{i}" for i in range(columns)]
        one = apart.filter(pa.compute.equal(apart["q"], at)).select(names)
        other = along.filter(along[f"q{at}"]).select(names)
        assert one.sort_by(names[0]).to_pylist() == other.sort_by(names[0]).to_pylist()
        assert one.schema.types == other.schema.types
