"""`failing` and `safe` against Spark itself, expression by expression and row by row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from weft.lang.parse import parse_expression
from weft.plan.failures import failing, safe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {
    "a": "int", "b": "int", "l": "bigint", "m": "bigint", "t": "tinyint", "d": "double", "e": "double",
    "s": "string", "u": "string", "n": "decimal(38,2)", "k": "decimal(5,2)", "p": "boolean",
    "at": "timestamp",
    "day": "date", "xs": "array<int>", "i": "int", "f": "float",
}  # fmt: skip

LEAST_INT, LEAST_LONG = -(2**31), -(2**63)

ROWS = [
    "1, 2, 3L, 4L, 5Y, 1.5D, 2.5D, '7', 'x', 1.25BD, 2.50BD, true, timestamp'2024-01-31 10:00:00', "
    "date'2024-02-29', array(1, 2, 3), 1, 1.5F",
    "7, 0, 9L, 0L, 0Y, 3.0D, 0.0D, 'abc', '1,2,3', 0.00BD, 0.00BD, false, timestamp'1969-12-31 23:59:59', "
    "date'1970-01-01', array(), 0, 0.0F",
    f"{2**31 - 1}, {LEAST_INT}, {2**63 - 1}L, -1L, 127Y, 1e300D, double('NaN'), '2024-01-31', 'true', "
    "99999999999999999999999999999999999.99BD, 999.99BD, null, timestamp'9999-12-31 23:59:59', "
    "date'0001-01-01', array(null, 5), -1, float('Infinity')",
    f"{LEAST_INT}, -1, -9223372036854775808L, -1L, -128Y, double('Infinity'), -0.0D, '', '99999999999', "
    "-99999999999999999999999999999999999.99BD, -999.99BD, true, timestamp'2024-01-31 10:00:00.5', "
    "date'2024-12-31', null, 5, float('NaN')",
    "null, 0, null, 0L, null, null, 0.0D, null, null, null, 0.00BD, false, null, null, array(4), 3, null",
    "3, null, 0L, null, 1Y, 0.0D, null, '12.5', ' 42 ', 1.00BD, null, null, timestamp'2024-01-31', null, "
    "array(1, 2), -2, -1.5F",
]

# fmt: off
EXPRESSIONS = [
    # operators
    "a + b", "a - b", "a * b", "l + m", "l * 2", "t + t", "t * t", "d + e", "d * e", "n + n", "n * n",
    "k + k", "k * k",
    "a / b", "l / m", "d / e", "n / k", "k / k", "a / 2", "a % b", "l % m", "d % e", "a % 7", "k % k",
    "a div b", "l div m", "l div -1", "a div 2", "-a", "-l", "-t", "-d", "-n", "abs(a)", "abs(l)", "abs(d)",
    "mod(a, b)", "pmod(a, b)", "pmod(l, m)", "a + 1", "a + 1L", "a + d", "a + k",
    "a & b", "a | 1", "f + f", "f * 2", "t + a", "a + null",
    # guarding
    "a + l / m", "l / m + a", "(a + b) / (a - a)", "a / (b / 0)", "CASE WHEN b <> 0 THEN a / b END",
    "CASE WHEN a / b > 1 THEN 'x' ELSE 'y' END", "CASE WHEN b = 0 THEN 0 ELSE a % b END",
    "CASE WHEN p THEN a / b WHEN b > 0 THEN a % b ELSE l / m END", "CASE a WHEN 7 THEN a / b ELSE b END",
    "CASE a / b WHEN 0.5 THEN 1 ELSE 2 END", "IF(b <> 0, a / b, -1)", "IF(p, a / b, l / m)",
    "b <> 0 AND a / b > 1", "a / b > 1 AND b <> 0", "b = 0 OR a / b > 1", "a / b > 1 OR b = 0",
    "p AND a / b > 1",
    "NOT (a / b > 1)", "p OR a / b > 1", "COALESCE(a / b, l / m)", "COALESCE(a, a / b)", "COALESCE(a / b, 0)",
    "NVL(a, a / b)", "IFNULL(a / b, 1)", "NVL2(a, a / b, l / m)", "NULLIF(a, a / b)", "NULLIF(a / b, 0)",
    "a IN (1, 7, a / b)", "a / b IN (1, 2)", "a IN (3, 4)", "a BETWEEN 0 AND a / b", "a / b BETWEEN 0 AND 1",
    "a BETWEEN a / b AND 5", "a / b IS NULL", "a / b = l / m", "a = l / m", "a < b", "a <=> a / b",
    "COALESCE(s, 'none') = 'abc' AND a / b > 0", "a / b > 0 AND l / m > 0",
    # casts
    "CAST(s AS INT)", "CAST(s AS DOUBLE)", "CAST(s AS DATE)", "CAST(u AS BOOLEAN)", "CAST(u AS BIGINT)",
    "CAST(s AS TIMESTAMP)", "CAST(s AS DECIMAL(5, 2))", "CAST(a AS TINYINT)", "CAST(l AS INT)",
    "CAST(a AS BIGINT)",
    "CAST(d AS INT)", "CAST(d AS BIGINT)", "CAST(e AS DECIMAL(5, 2))", "CAST(d AS DECIMAL(10, 2))",
    "CAST(f AS DECIMAL(10, 2))", "CAST(d AS FLOAT)", "CAST(n AS INT)", "CAST(n AS DECIMAL(5, 2))",
    "CAST(k AS DECIMAL(38, 4))", "CAST(k AS DECIMAL(4, 2))", "CAST(k AS DECIMAL(5, 1))", "CAST(a AS STRING)",
    "CAST(a AS BOOLEAN)", "CAST(p AS INT)", "CAST(l AS TIMESTAMP)", "CAST(a AS TIMESTAMP)",
    "CAST(at AS BIGINT)",
    "CAST(at AS INT)", "CAST(at AS DATE)", "CAST(day AS TIMESTAMP)", "CAST(d AS TIMESTAMP)",
    "CAST(n AS DOUBLE)",
    "CAST(a AS DECIMAL(3, 0))", "CAST(l AS DECIMAL(20, 0))", "s::int + 1", "CAST(CAST(s AS INT) AS STRING)",
    "int(s)", "double(u)", "date(s)", "TRY_CAST(s AS INT)", "TRY_CAST(a / b AS INT)", "CAST('x' AS INT)",
    "CAST('2024-01-31' AS DATE)", "CAST('2024-02-31' AS DATE)", "CAST('12' AS INT)", "CAST(300 AS TINYINT)",
    # a text compared with something else
    "s > 5", "u = 1.5", "s = day", "u = true", "5 < s", "s = 'abc'", "s BETWEEN 1 AND 5",
    "s IN (1, 7)", "NOT s IN (1, 5)", "a IN (s, b)", "u IN (1, 2.5)", "u IN (2.5, 1)", "s IN (day, at)",
    "s IN ('abc', '7')", "a IN ('7', '12')", "u IN (true)", "a IN (1, null)",
    "s <=> 7", "a <=> s", "NOT s <=> day", "s IS DISTINCT FROM 7", "u IS NOT DISTINCT FROM true",
    "CASE s WHEN 7 THEN 'x' WHEN day THEN 'y' ELSE u END", "CASE a WHEN 7 THEN 'x' WHEN s THEN u END",
    "CASE WHEN p THEN s ELSE a END", "CASE WHEN a > 5 THEN 1 WHEN p THEN s END", "IF(a > 5, s, 1.5)",
    "NULLIF(s, 7)", "NULLIF(a, s)", "COALESCE(s, 1)", "COALESCE(a, s)", "COALESCE(a, s, l)", "NVL(s, d)",
    "IFNULL(s, day)", "NVL2(a, s, l)", "NVL2(s, a, l)",
    "COALESCE(CAST(s AS INT), u)", "s + 1", "2 * u", "s / 2", "-s", "s % 2", "abs(u)", "u div 2",
    "year(s)", "month(u)", "hour(s)", "minute(at)", "date_trunc('HOUR', s)", "date_format(s, 'yyyy')",
    "day(s)", "dayofyear(s)", "date_add(s, 1)", "datediff(s, day)", "datediff(day, u)", "last_day(s)",
    "trunc(s, 'MM')", "add_months(s, 1)", "months_between(s, at)", "to_utc_timestamp(s, 'Asia/Tokyo')",
    "next_day(s, 'MON')", "weekofyear(s)", "quarter(s)", "dayname(s)", "months_between(at, s)",
    # functions
    "to_timestamp(s)", "to_timestamp(s, 'yyyy-MM-dd')", "to_date(s)", "to_date(s, 'yyyy-MM-dd')",
    "make_date(2024, a, 1)", "make_timestamp(2024, 1, a, 0, 0, 0)", "split(u, ',')[2]", "xs[i]", "xs[0]",
    "dateadd(YEAR, a, at)", "dateadd(QUARTER, a, day)", "timestampadd(MONTH, i, at)", "dateadd(WEEK, b, s)",
    "dateadd(DAY, a, at)", "dateadd(HOUR, a, day)", "dateadd(MINUTE, a, at)", "dateadd(DAYOFYEAR, 3, s)",
    "dateadd(MONTH, -1, at)", "dateadd(YEAR, a div b, at)", "datediff(DAY, s, at)",
    "timestampdiff(MONTH, day, u)", "datediff(HOUR, at, day)",
    "element_at(xs, i)", "element_at(xs, 1)", "elt(i, 'x', 'y')", "timestamp_seconds(l)",
    "timestamp_millis(l)",
    "to_number(s, '999')", "try_divide(a, b)", "url_decode(u)", "upper(CAST(a / b AS STRING))", "sqrt(a / b)",
    "greatest(a / b, 1)", "concat(s, CAST(CAST(u AS INT) AS STRING))", "transform(xs, x -> x + 1)",
    "at + INTERVAL 1 DAY", "date_add(day, 1)", "hour(at)", "round(d, 2)", "s LIKE 'a%'", "xs[i] + a / b",
]
# fmt: on


def relation(numbers: Iterable[int]) -> str:
    """Rows of the table, as text; Spark evaluates over them without a job."""
    values = ", ".join(f"({ROWS[number]}, {number})" for number in numbers)
    typed = ", ".join(f"CAST({name} AS {type_}) AS {name}" for name, type_ in COLUMNS.items())
    return f"SELECT {typed}, _row FROM VALUES {values} AS t({', '.join(COLUMNS)}, _row)"


@pytest.fixture(scope="module")
def told(spark: SparkSession) -> dict[str, dict[int, tuple[bool, str | None]]]:
    """For every expression and row what `failing` and `safe` say; values as text."""
    columns = ["_row"]
    for number, text in enumerate(EXPRESSIONS):
        when, never = failing(parse_expression(text), COLUMNS), safe(parse_expression(text), COLUMNS)
        columns.append(f"coalesce({when.sql if when else 'false'}, false) AS f{number}")
        columns.append(f"CAST(({never.sql}) AS STRING) AS v{number}")
    made = spark.sql(relation(range(len(ROWS)))).selectExpr(*columns).collect()
    return {
        text: {row["_row"]: (row[f"f{number}"], row[f"v{number}"]) for row in made}
        for number, text in enumerate(EXPRESSIONS)
    }


@pytest.mark.spark
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_fails_exactly_where_spark_does(
    spark: SparkSession, told: dict[str, dict[int, tuple[bool, str | None]]], text: str
) -> None:
    from pyspark.errors import PySparkException  # noqa: PLC0415  tests without Spark must not load it

    value = f"CAST(({parse_expression(text).sql}) AS STRING) AS value"
    sound = [number for number, (fails, _) in told[text].items() if not fails]
    if sound:  # fails as a whole if one of them does
        made = spark.sql(relation(sound)).selectExpr("_row", value).collect()
        assert {row["_row"]: row["value"] for row in made} == {n: told[text][n][1] for n in sound}
    for number in set(told[text]) - set(sound):
        with pytest.raises(PySparkException):
            spark.sql(relation([number])).selectExpr(value).collect()


@pytest.mark.spark
def test_safe_forms_have_the_same_types(spark: SparkSession) -> None:
    parsed = [parse_expression(text) for text in EXPRESSIONS]
    empty = spark.sql(relation([0]))
    plain = empty.selectExpr(*(expression.sql for expression in parsed)).schema
    never = empty.selectExpr(*(safe(expression, COLUMNS).sql for expression in parsed)).schema
    types = zip(EXPRESSIONS, plain, never, strict=True)
    assert [text for text, one, other in types if one.dataType != other.dataType] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a / b", "NOT b IS NULL AND NOT a IS NULL AND TRY_DIVIDE(a, b) IS NULL"),
        ("a / 2", None),
        ("d + 1", None),
        ("CAST(a AS BIGINT)", None),
        ("a > 5 AND s = 'x'", None),
        ("at > TIMESTAMP '2024-01-01'", None),
        ("unknown_function(a)", None),
        ("unknown_function(a / 0)", "NOT a IS NULL AND TRY_DIVIDE(a, 0) IS NULL"),
    ],
)
def test_failing_as_text(text: str, expected: str | None) -> None:
    found = failing(parse_expression(text), COLUMNS)
    assert (found.sql if found else None) == expected


def test_what_cannot_fail_is_left_as_it_is() -> None:
    expression = parse_expression("upper(s) LIKE 'A%' AND d * 2 > 1 OR a % 10 = 3")
    assert safe(expression, COLUMNS) is expression
