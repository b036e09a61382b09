"""What only Spark can tell of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from weft.errors import Errors
from weft.lang.parse import parse_program
from weft.plan.bind import bind_program
from weft.plan.opens import open_expressions
from weft.spark.analyze import analyze, check_sources
from weft.spark.running import bind_with_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STREAM = """
CREATE STREAM trades (symbol STRING, price DOUBLE, qty BIGINT, ts TIMESTAMP,
    size AS width_bucket(price, 0, 9, 3))
  TIMESTAMP BY ts DELAY 2 SECONDS FROM rate;
"""


def test_open_types_are_told(spark: SparkSession) -> None:
    statements = parse_program(
        STREAM
        + """
        CREATE QUERY one AS SELECT soundex(symbol) AS s, MAX(array_max(array(qty, 1L))) AS top,
            SUM(size) AS sizes, format_number(MAX(price), 2) AS shown
          FROM trades [RANGE 1 MINUTE] GROUP BY soundex(symbol);
        CREATE QUERY two AS SELECT conv(symbol, 16, 10) AS c FROM trades WHERE crc32(symbol) > 5;
        """
    )
    types = analyze(spark, bind_program(statements))
    bound = bind_program(statements, types)
    assert not open_expressions(bound, types)
    assert {column.name: column.type for column in bound.streams[0].columns}["size"] == "bigint"
    assert [type_ for sql, type_ in types.items() if "ARRAY_MAX" in sql] == ["bigint"]


def test_types_are_told_of_a_program_in_pieces(spark: SparkSession) -> None:
    window = "[RANGE 1 MINUTE]"
    first = (
        f"CREATE QUERY one AS SELECT soundex(symbol) AS s, SUM(size) AS n FROM trades {window} GROUP BY s;"
    )
    second = "CREATE QUERY two AS SELECT conv(symbol, 16, 10) AS c, size FROM trades WHERE crc32(symbol) > 5;"
    whole = bind_with_spark(spark, parse_program(STREAM + first + second))
    before = bind_with_spark(spark, parse_program(STREAM + first))
    after = bind_with_spark(spark, parse_program(second), onto=before)
    assert after == whole
    assert after.queries[0] is before.queries[0]


def test_what_is_wrong_with_a_later_piece_is_raised(spark: SparkSession) -> None:
    before = bind_with_spark(spark, parse_program(STREAM))
    with pytest.raises(Errors) as caught:
        bind_with_spark(
            spark, parse_program("CREATE QUERY one AS SELECT map_keys(price) AS k FROM trades;"), onto=before
        )
    assert [error.code for error in caught.value.errors] == ["spark-refuses"]


def test_all_that_is_wrong_is_raised_together(spark: SparkSession) -> None:
    program = bind_program(
        parse_program(
            STREAM
            + """
            CREATE QUERY one AS SELECT map_keys(price) AS k FROM trades;
            CREATE QUERY two AS SELECT symbol FROM trades WHERE array_contains(qty, 1);
            CREATE QUERY three AS
              SELECT COUNT(*) AS n FROM trades [RANGE 1 MINUTE] GROUP BY map_values(symbol);
            """,
            "app.sql",
        )
    )
    with pytest.raises(Errors) as caught:
        analyze(spark, program)
    texts = [str(error) for error in caught.value.errors]
    assert len(texts) == 3
    assert all("SQLSTATE" not in text and "app.sql:" in text for text in texts)
    assert "MAP_KEYS(price)" in texts[0]
    assert '"MAP"' in texts[0]


def test_each_of_many_that_are_wrong_alike_is_raised(spark: SparkSession) -> None:
    wrong = [f"array_contains(qty, 1) AND size = {at}" for at in range(3)]
    queries = (
        f"CREATE QUERY q{at} AS SELECT 1 AS x FROM trades WHERE {one};" for at, one in enumerate(wrong)
    )
    with pytest.raises(Errors) as caught:
        analyze(spark, bind_program(parse_program(STREAM + "".join(queries))))
    assert [f"size = {at}" in error.what for at, error in enumerate(caught.value.errors)] == [True] * 3


def test_sources_are_opened_without_reading(spark: SparkSession) -> None:
    text = """
    CREATE STREAM a (value BIGINT, timestamp TIMESTAMP) TIMESTAMP BY timestamp DELAY 1 SECOND FROM rate;
    CREATE STREAM b (x BIGINT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND
      FROM parquet OPTIONS ('path' = '/no/such');
    """
    errors = check_sources(spark, bind_program(parse_program(text)))
    assert [error.code for error in errors] == ["source-unreadable"]
    assert "`b`" in errors[0].what
