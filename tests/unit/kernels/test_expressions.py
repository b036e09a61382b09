"""The closed set of expressions against Spark, value by value: what it gives, its type, where it fails."""

import math

import numpy as np
import pyarrow as pa
import pytest

from weft.kernels.expressions import compile
from weft.lang.parse import parse_expression
from weft.plan.failures import failing, safe

TYPES = {
    "a": "bigint", "b": "bigint", "i": "int", "j": "int", "t": "tinyint",
    "x": "double", "y": "double", "s": "string", "u": "string", "p": "boolean", "q": "boolean",
    "d": "date", "w": "timestamp", "m": "decimal(10,2)",
}  # fmt: skip

LONG = [0, 1, -1, 7, -7, 2**63 - 1, -(2**63), 10**12, None]
INT = [0, 1, -1, 5, -5, 2**31 - 1, -(2**31), None]
DOUBLE = [
    0.0, -0.0, 1.0, -1.5, 2.5, 0.125, 1.005, 2.675, 1e300, -1e300, math.inf, -math.inf, math.nan, 1e15,
    123456.785, 9.2e18, -0.001, -0.4, None,
]  # fmt: skip
TEXT = ["", "a", "b", "ä", "Z", "abc", None]

EXPRESSIONS = """
a + b; a - b; a * b; a / b; a % b; a div b; -a; abs(a); i + j; i * j; i - j; i / j; i % j; i div j; i + a
t + t; t * t; -t; x + y; x - y; x * y; x / y; x % y; -x; abs(x); x + a; x / a; a / x; i * x; x * 2
x * 1.5; x / 1e3; a + 1; a * 1000000; i + 1; a = b; a <> b; a < b; a <= b; a > b; a >= b; x = y; x < y
x <= y; x > y; x >= y; x <> y; a < x; i = a; s = u; s < u; s >= 'b'; p = q; a > 100; x > 0.5; x <= 1
p AND q; p OR q; NOT p; p AND a / b > 1; p OR a / b > 1; b <> 0 AND a / b > 1; b = 0 OR a / b > 1
a IS NULL; a IS NOT NULL; x IS NULL; a BETWEEN 0 AND b; x BETWEEN -1.5 AND 2; a IN (1, 7)
s IN ('a', 'abc'); x IN (1, 2.5); a IN (1, NULL); CASE WHEN b <> 0 THEN a / b END
CASE WHEN a > 0 THEN 1 WHEN a < 0 THEN -1 ELSE 0 END
CASE i WHEN 1 THEN 'one' WHEN 5 THEN 'five' ELSE s END; if(p, a, b); if(b = 0, 0, a div b)
coalesce(a, b, 0); coalesce(x, 0.5); coalesce(a, a / b); ifnull(a, 0); nvl(a, b); nullif(a, b)
nullif(x, 0); nullif(a, 0); a / nullif(b, 0); sqrt(x); sqrt(a); floor(x); ceil(x); floor(a); ceiling(x)
round(x, 2); round(x); round(x, 1); round(x / 3, 2); CAST(a AS INT); CAST(x AS BIGINT); CAST(x AS INT)
CAST(a AS DOUBLE); CAST(i AS BIGINT); CAST(i AS TINYINT); CAST(x AS SMALLINT); least(a, b)
greatest(a, b, 0); least(x, y); greatest(x, y); least(a, i); (a + b) * 2 - 1; x * 100 / (y + 1); d; w; m
s; a; x
"""


def listed():
    return [
        text.strip() for line in EXPRESSIONS.strip().splitlines() for text in line.split(";") if text.strip()
    ]


def rows(count=400, seed=3):
    draw = np.random.default_rng(seed)

    def some(values, type_):
        return pa.array([values[i] for i in draw.integers(0, len(values), count)], type_)

    days = pa.array([None if v is None else 20000 + v % 30 for v in draw.integers(0, 99, count)], pa.int32())
    return pa.table(
        {
            "a": some(LONG, pa.int64()), "b": some(LONG, pa.int64()),
            "i": some(INT, pa.int32()), "j": some(INT, pa.int32()),
            "t": some([0, 1, -1, 100, 127, -128, None], pa.int8()),
            "x": some(DOUBLE, pa.float64()), "y": some(DOUBLE, pa.float64()),
            "s": some(TEXT, pa.string()), "u": some(TEXT, pa.string()),
            "p": some([True, False, None], pa.bool_()), "q": some([True, False, None], pa.bool_()),
            "d": days.cast(pa.date32()), "w": some([0, 10**15, None], pa.timestamp("us", "UTC")),
            "m": some([None, 1, 2], pa.int64()).cast(pa.decimal128(21, 2)).cast(pa.decimal128(10, 2)),
        }
    )  # fmt: skip


def compiled(text):
    made = compile(parse_expression(text).tree, TYPES)
    assert made is not None, f"{text} is outside the closed set"
    return made


@pytest.mark.spark
def test_every_value_type_and_failure_is_sparks_own(spark):
    table = rows()
    frame = spark.createDataFrame(table).coalesce(1)
    types = dict(frame.dtypes)
    parsed = [parse_expression(text) for text in listed()]
    columns = []
    for at, expression in enumerate(parsed):
        fails = failing(expression, types)
        columns.append(f"{safe(expression, types).sql} AS v{at}")
        columns.append(f"coalesce({fails.sql if fails else 'false'}, false) AS f{at}")
    chosen = frame.selectExpr(*columns)
    given = dict(chosen.dtypes)
    answers = chosen.toArrow()
    inputs = {name: table.column(name).combine_chunks() for name in table.column_names}
    wrong = []
    for at, text in enumerate(listed()):
        made = compiled(text)
        values, failed = made.run(inputs)
        expected = answers.column(f"f{at}").to_pylist()
        if made.type != given[f"v{at}"]:
            wrong.append(f"{text}: {made.type}, Spark says {given[f'v{at}']}")
        found = [False] * len(expected) if failed is None else failed.tolist()
        for row in range(table.num_rows):
            one, other = values[row].as_py(), answers.column(f"v{at}")[row].as_py()
            if found[row] != expected[row] or (not found[row] and not same(one, other)):
                at_row = {name: column[row].as_py() for name, column in inputs.items()}
                wrong.append(f"{text}: {one} {found[row]}, Spark says {other} {expected[row]} on {at_row}")
                break
    assert not wrong, "\n".join(wrong)


def same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return repr(one) == repr(other)  # so NaN is itself, and -0.0 not 0.0
    return one == other


@pytest.mark.parametrize(
    "text", ["upper(s)", "m + 1", "a + 1.5", "x * m", "rand()", "s || u", "CAST(s AS INT)"]
)
def test_what_is_outside_the_set_is_left_to_spark(text):
    assert compile(parse_expression(text).tree, TYPES) is None


def test_a_column_is_passed_on_as_it_is():
    column = pa.array([1, None])
    values, failed = compiled("a").run({"a": column})
    assert values is column
    assert failed is None


def test_a_branch_not_taken_does_not_fail():
    inputs = {"a": pa.array([6, 6]), "b": pa.array([0, 3])}
    _, failed = compiled("CASE WHEN b <> 0 THEN a / b END").run(inputs)
    assert failed is None
    _, failed = compiled("a / b").run(inputs)
    assert failed.tolist() == [True, False]
