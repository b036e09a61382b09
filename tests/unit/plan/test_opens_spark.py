"""Spark tells what is open, until nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from weft.errors import Errors
from weft.lang.parse import parse_program
from weft.plan.bind import bind_program
from weft.plan.opens import open_expressions
from weft.plan.tree import schema
from weft.spark.analyze import analyze

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STREAMS = """
CREATE STREAM a (tags ARRAY<STRING>, prices MAP<STRING, DECIMAL(10, 2)>, ts TIMESTAMP, tag AS tags[0])
  TIMESTAMP BY ts DELAY 1 SECOND FROM rate;
CREATE STREAM b (tags ARRAY<INT>, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND FROM rate;
"""


def test_everything_is_typed_in_the_end(spark: SparkSession) -> None:
    statements = parse_program(
        f"""{STREAMS}
        CREATE QUERY rows AS SELECT tags[0] AS t, tag, split(tag, ',') AS parts FROM a WHERE prices['x'] > 3;
        CREATE QUERY ints AS SELECT tags[0] AS t, SUM(tags[1]) AS s, array(SUM(tags[1])) AS l
          FROM b [RANGE 1 MINUTE] GROUP BY tags[0];
        CREATE QUERY above AS SELECT SUM(prices['y']) + 1 AS y, split(MAX(tag), ',') AS parts
          FROM a [RANGE 1 MINUTE] HAVING SUM(prices['y']) > 0"""
    )
    types = analyze(spark, bind_program(statements))
    bound = bind_program(statements, types)
    assert open_expressions(bound, types) == {}
    found = {
        one.name: [c.type for c in schema(one.plan) if not c.name.startswith("window")]
        for one in bound.queries
    }
    assert found == {
        "rows": ["string", "string", "array<string>"],
        "ints": ["int", "bigint", "array<bigint>"],
        "above": ["decimal(21,2)", "array<string>"],
    }


def test_what_spark_refuses_and_what_we_refuse_is_told_together(spark: SparkSession) -> None:
    statements = parse_program(
        f"""{STREAMS}
        CREATE QUERY p AS SELECT tag FROM a WHERE prices['x'];
        CREATE QUERY q AS SELECT AVG(tags[0]) AS t FROM a [RANGE 1 MINUTE];
        CREATE QUERY r AS SELECT element_at(tags, 'x') AS t FROM a"""
    )
    with pytest.raises(Errors) as caught:
        analyze(spark, bind_program(statements))
    assert [error.code for error in caught.value.errors] == ["not-boolean", "wrong-type", "spark-refuses"]


def test_expressions_of_relations_are_typed_over_rows_of_one_stream(spark: SparkSession) -> None:
    statements = parse_program(
        f"""{STREAMS}
        CREATE TABLE names (tag STRING, name STRING) FROM csv;
        CREATE VIEW second AS SELECT element_at(tags, 2) AS tag FROM a [RANGE 1 MINUTE];
        CREATE QUERY q AS SELECT x.tag, MAX(element_at(y.tags, 1)) AS m
          FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 MINUTE] y ON x.ts = y.ts JOIN second s ON s.tag = x.tag
          GROUP BY x.tag;
        CREATE QUERY r AS SELECT tag, name FROM second JOIN names USING (tag)"""
    )
    types = analyze(spark, bind_program(statements))
    typed = bind_program(statements, types)
    assert not open_expressions(typed, types)
    found = {query.name: [column.type for column in schema(query.plan)][2:] for query in typed.queries}
    assert found == {"q": ["string", "int"], "r": ["string", "string"]}


def test_what_spark_refuses_in_a_relation_is_told_where_it_stands(spark: SparkSession) -> None:
    text = (
        "CREATE QUERY q AS SELECT date_trunc(x.tags, x.ts) AS d"
        " FROM a [RANGE 1 MINUTE] x, b [RANGE 1 MINUTE] y"
    )
    with pytest.raises(Errors) as raised:
        analyze(spark, bind_program(parse_program(STREAMS + text)))
    (error,) = raised.value.errors
    assert error.at is not None
    assert (error.code, error.at.line, error.at.column) == ("spark-refuses", 5, 26)
