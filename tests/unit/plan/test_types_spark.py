"""Types told without Spark are those that Spark tells."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException, PySparkException

from weft.errors import QueryError
from weft.lang.parse import parse_expression
from weft.plan.aggregates import bind_aggregation
from weft.plan.mismatch import type_problems
from weft.plan.nodes import Column
from weft.plan.rows import Rows
from weft.plan.scope import Scope
from weft.plan.types import infer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

COLUMNS = {
    "ti": "tinyint", "si": "smallint", "i": "int", "b": "bigint", "f": "float", "d": "double",
    "n1": "decimal(5,2)", "n2": "decimal(38,10)", "n3": "decimal(20,0)", "n4": "decimal(38,37)",
    "s": "string", "o": "boolean", "dt": "date", "ts": "timestamp", "nt": "timestamp_ntz", "x": "binary",
}  # fmt: skip
NUMBERS = (
    "ti", "si", "i", "b", "f", "d", "n1", "n2", "n3", "n4",
)  # fmt: skip
LITERALS = (
    "1", "-1", "0", "00100", "3000000000",
    "-9223372036854775808", "1.5", "0.05", ".5", "100.", "1e3", "1L", "2S", "3Y", "1.5BD", "2D", "2F",
    "'a'", "NULL", "TRUE", "0.00", "99999999999999999999",
)  # fmt: skip
OPERATORS = (
    "+", "-", "*", "/", "%", "DIV",
)  # fmt: skip
COMPARISONS = ("=", "<", "<=>")
FUNCTIONS = (
    "abs({0})", "-{0}", "round({0})", "round({0}, 1)",
    "round({0}, -2)", "bround({0}, 40)", "ceil({0})", "floor({0})", "sqrt({0})", "exp({0})", "signum({0})",
    "power({0}, 2)", "coalesce({0}, NULL)", "nullif({0}, {0})", "positive({0})", "negative({0})",
    "log10({0})", "~{0}",
)  # fmt: skip
PAIRS = (
    "coalesce({0}, {1})", "CASE WHEN o THEN {0} ELSE {1} END", "{0} & {1}", "{0} BETWEEN {1} AND {1}",
    "{0} IN ({1})", "nullif({0}, {1})",
)  # fmt: skip
NUMBER_PAIRS = (
    "if(o, {0}, {1})", "greatest({0}, {1})", "nvl2(s, {0}, {1})", "mod({0}, {1})", "pmod({0}, {1})",
    "try_add({0}, {1})", "try_subtract({0}, {1})", "try_multiply({0}, {1})", "try_divide({0}, {1})",
    "try_mod({0}, {1})",
)  # fmt: skip
OTHERS = (
    "upper(s)", "lower(s)", "exists(array(i), v -> v > 1)", "array_contains(array(i), 1)", "size(array(i))",
    "length(s)", "concat(s, s)", "s || s", "concat_ws('-', s, s)", "substring(s, 1, 2)", "trim(s)",
    "replace(s, 'a', 'b')", "s LIKE 'a%'", "s RLIKE 'a'", "NOT o", "o AND o", "s IS NULL", "year(ts)",
    "month(dt)", "day(ts)", "hour(ts)", "minute(ts)", "second(ts)", "dayofweek(ts)", "quarter(dt)",
    "date(ts)", "to_date(s)", "date_trunc('HOUR', ts)", "date_format(ts, 'yyyy')", "unix_timestamp(ts)",
    "timestamp_millis(b)", "timestamp_seconds(b)", "to_timestamp(s)", "ts + INTERVAL 1 HOUR",
    "ts - INTERVAL 1 DAY", "nt + INTERVAL '1' SECOND", "datediff(dt, dt)", "date_add(dt, 1)",
    "last_day(dt)", "current_timestamp()", "now()", "current_date()", "hash(s)", "xxhash64(s, i)", "md5(s)",
    "sha2(s, 256)", "crc32(s)", "isnan(d)", "contains(s, 'a')", "startswith(s, 'a')", "instr(s, 'a')",
    "regexp_extract(s, 'a', 0)", "split_part(s, ',', 1)", "from_unixtime(b)", "get_json_object(s, '$.a')",
    "bigint(s)", "double(i)", "string(i)", "int(s)", "date(s)", "timestamp(s)", "CAST(s AS DECIMAL(10, 2))",
    "CAST(i AS STRING)", "CAST(s AS DECIMAL)", "s::int", "try_cast(s AS BIGINT)", "DATE '2026-01-01'",
    "TIMESTAMP '2026-01-01 00:00:00'", "CASE WHEN o THEN 1 WHEN NOT o THEN 2.5 END", "ascii(s)",
    "levenshtein(s, s)", "weekofyear(dt)", "unix_micros(ts)", "months_between(dt, dt)", "trunc(dt, 'MM')",
    "make_date(2026, 1, 1)", "hex(i)", "base64(x)", "repeat(s, 2)", "initcap(s)", "bit_length(s)",
    "format_number(d, 2)", "localtimestamp()", "add_months(dt, 1)", "from_utc_timestamp(ts, 'UTC')",
    "make_timestamp(2026, 1, 1, 0, 0, 0)", "regexp_replace(s, 'a', 'b')", "translate(s, 'a', 'b')",
    "dayname(dt)", "factorial(i)", "hypot(d, d)", "conv(s, 10, 2)", "typeof(s)", "chr(i)", "locate('a', s)",
    "lcase(s)", "char_length(s)", "octet_length(s)", "find_in_set(s, s)", "to_utc_timestamp(ts, 'UTC')",
    "next_day(dt, 'MO')", "unix_date(dt)", "date_from_unix_date(i)", "sha1(s)", "space(i)", "pi()", "e()",
    "atan2(d, d)", "to_json(named_struct('a', 1))", "regexp_substr(s, 'a')", "dateadd(dt, 1)",
    "to_unix_timestamp(s)", "date_diff(dt, dt)", "curdate()", "bin(b)", "soundex(s)", "ltrim(s)",
    "btrim(s)", "printf('%d', i)", "to_timestamp_ntz(s)", "to_timestamp_ltz(s)",
    "substring_index(s, 'a', 1)", "like(s, 'a')", "ilike(s, 'a')",
    "dateadd(HOUR, 1, ts)", "date_add(DAY, i, dt)", "timestampadd(MINUTE, i, nt)", "datediff(HOUR, ts, ts)",
    "timestampdiff(DAY, dt, dt)",
)  # fmt: skip


def expressions() -> Iterator[str]:
    yield from LITERALS
    for left, right in product(COLUMNS, COLUMNS):
        yield from (pattern.format(left, right) for pattern in PAIRS)
        yield from (f"{left} {operator} {right}" for operator in (*OPERATORS, *COMPARISONS))
    for left, right in product(NUMBERS, NUMBERS):
        yield from (pattern.format(left, right) for pattern in NUMBER_PAIRS)
    for column, literal in product(COLUMNS, LITERALS):
        yield from (f"{column} {operator} {literal}" for operator in ("+", "/", "%", "="))
        yield f"{literal} * {column}"
    for column in COLUMNS:
        yield from (pattern.format(column) for pattern in FUNCTIONS)
    yield from OTHERS


def told(text: str) -> str | None:
    """The type that is told without Spark; None also where an error is told instead."""
    source = parse_expression(text)
    return None if any(type_problems(source, COLUMNS)) else infer(source.tree, COLUMNS)


def spark_types(spark: SparkSession, texts: Sequence[str]) -> dict[str, str]:
    """What Spark says of each, a hundred at a time; the start of its message where it refuses one."""
    declared = ", ".join(f"{name} {type}" for name, type in COLUMNS.items())
    frame = spark.createDataFrame([], declared)
    found: dict[str, str] = {}
    waiting = [list(texts[at : at + 100]) for at in range(0, len(texts), 100)]
    while waiting:
        batch = waiting.pop()
        try:
            fields = frame.selectExpr(*(f"{text} AS c{at}" for at, text in enumerate(batch))).schema.fields
            found |= {text: field.dataType.simpleString() for text, field in zip(batch, fields)}
        except AnalysisException as error:
            if len(batch) == 1:
                found[batch[0]] = f"refused {error.getCondition()}"
            else:
                middle = len(batch) // 2
                waiting += [batch[:middle], batch[middle:]]
    return found


def test_types_are_sparks(spark: SparkSession) -> None:
    ours = {text: type for text in expressions() if (type := told(text)) is not None}
    assert len(ours) > 2000
    canonical = {text: parse_expression(text).sql for text in ours}
    theirs = spark_types(spark, list(canonical.values()))
    assert {text: theirs[canonical[text]] for text in ours} == ours


def test_spark_refuses_what_we_refuse(spark: SparkSession) -> None:
    refused = [text for text in expressions() if any(type_problems(parse_expression(text), COLUMNS))]
    some = random.Random(1).sample(refused, 60)
    theirs = spark_types(spark, [parse_expression(text).sql for text in some])
    accepted = [text for text, type in theirs.items() if not type.startswith("refused")]
    assert [text for text in accepted if not fails_on_every_row(spark, text)] == []


def fails_on_every_row(spark: SparkSession, text: str) -> bool:
    """Spark takes `i = 'a'` for right, and then cannot read 'a' as a number."""
    ones = [f"CAST({1 if name in NUMBERS else 'NULL'} AS {type}) AS {name}" for name, type in COLUMNS.items()]
    try:
        spark.range(1).selectExpr(*ones).selectExpr(text).collect()
    except PySparkException:
        return True
    return False


AGGREGATES = (
    "count({0})", "sum({0})", "avg({0})", "min({0})", "max({0})", "var_pop({0})", "var_samp({0})",
    "stddev({0})", "first({0})", "last({0})", "approx_count_distinct({0})", "approx_percentile({0}, 0.5)",
    "min_by({0}, i)", "approx_percentile({0}, array(0.5, 0.9))", "bool_and({0})", "count(DISTINCT {0})",
    "max_by({0}, s)",
)  # fmt: skip


def test_types_of_aggregates_are_sparks(spark: SparkSession) -> None:
    rows = Rows(Scope("t", tuple(Column(*column) for column in COLUMNS.items()), "t"))
    ours: dict[str, str | None] = {}
    for pattern, column in product(AGGREGATES, COLUMNS):
        source = parse_expression(pattern.format(column))
        with suppress(QueryError):
            ours[source.sql] = bind_aggregation(source.tree, "_a0", rows, None).type
    assert len(ours) > 150
    assert spark_types(spark, list(ours)) == ours
