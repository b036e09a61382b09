"""Canonical text means to Spark what the original means: same type, same value, same tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp

from weft.lang.dialect import Weft
from weft.lang.expressions import LEVELS, expr
from weft.lang.parse import parse_expression

TOGETHER = 40  # expressions in one query


def batches(file: str) -> list[list[str]]:
    lines = (Path(__file__).parent / file).read_text().splitlines()
    expressions = [line for line in lines if line and not line.startswith("#")]
    return [expressions[start : start + TOGETHER] for start in range(0, len(expressions), TOGETHER)]


ROW = """
  SELECT 7 AS i, 3 AS j, 10000000000L AS l, 5S AS si, 2Y AS ti, 2.5D AS d, 1.25F AS f,
    CAST(12.34 AS DECIMAL(10,2)) AS dec, 'Hello World' AS s, 'abc' AS t, '42' AS num, true AS b,
    CAST(NULL AS INT) AS n, TIMESTAMP '2024-02-29 12:34:56.789' AS ts,
    TIMESTAMP '2024-01-31 01:02:03' AS ts2, DATE '2024-02-29' AS dt, array(1, 2, 3) AS arr,
    array('x', NULL, 'z') AS arrs, map('a', 1, 'b', 2) AS m, named_struct('a', 1, 'b', 'y') AS st,
    X'6162' AS bin, '{"a": {"b": 1}}' AS js, 11 AS `odd name`, 1 AS date, 2 AS value, 3 AS timestamp,
    4 AS year, 5 AS `select`, 6 AS window, 7 AS first, 8 AS left, 9 AS filter
"""


@pytest.fixture(scope="module")
def one(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, with the row as a view; queries as wide as these compile slower than they run."""
    before = spark.conf.get("spark.sql.codegen.wholeStage")
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.sql(ROW).createOrReplaceTempView("one")
    yield spark
    spark.catalog.dropTempView("one")
    spark.conf.set("spark.sql.codegen.wholeStage", before or "true")


def explicit(text: str) -> str:
    """The expression with every operation in parentheses: what the tree says, whatever the precedence."""
    tree = parse_expression(text).tree.copy()
    for node in list(tree.walk()):
        if type(node) in LEVELS and not isinstance(node.parent, exp.Paren | exp.Escape) and node is not tree:
            node.replace(exp.Paren(this=node.copy()))
    return tree.sql(dialect=Weft, comments=False)


def query(spark: SparkSession, columns: list[str]) -> DataFrame:
    return spark.sql("SELECT " + ", ".join(f"{text} AS c{i}" for i, text in enumerate(columns)) + " FROM one")


def shown(text: str, type: str) -> str:
    """Text that shows the value: what Spark cannot cast to a string goes by JSON."""
    return f"to_json(struct({text} AS x))" if type in ("binary", "variant") else f"CAST({text} AS STRING)"


@pytest.mark.spark
@pytest.mark.parametrize("batch", batches("spark_expressions.txt") + batches("spark_aggregates.txt"))
def test_meaning_survives(one: SparkSession, batch: list[str]) -> None:
    cases = [(text, other) for text in batch for other in (parse_expression(text).sql, explicit(text))]
    texts = [text for case in cases for text in case]
    types = [type for _, type in query(one, texts).dtypes]
    values = query(one, [shown(text, type) for text, type in zip(texts, types)]).collect()[0]
    wrong = [
        f"{text}  ->  {other}: {types[i]} {values[i]} became {types[i + 1]} {values[i + 1]}"
        for i, (text, other) in zip(range(0, len(texts), 2), cases)
        if (types[i], values[i]) != (types[i + 1], values[i + 1])
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.spark
def test_every_character_survives_in_a_literal(one: SparkSession) -> None:
    texts = [chr(code) for code in (*range(0, 0x100), 0x2603, 0x1F600)]
    texts += [f"\\{text}" for text in texts] + [
        "a\\'b",
        "''",
        "\\u0041",
        "\\101",
        "%_\\%\\_",
        "--",
        "/*",
        ";",
    ]
    literals = [expr(exp.Literal.string(text)).sql for text in texts]
    assert [parse_expression(literal).tree.this for literal in literals] == texts
    found = query(one, [f"hex({literal})" for literal in literals]).collect()[0]
    assert list(found) == [text.encode().hex().upper() for text in texts]
