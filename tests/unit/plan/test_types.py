from __future__ import annotations

import pytest

from weft.lang.parse import parse_expression
from weft.plan.types import infer

COLUMNS = {
    "i": "int", "b": "bigint", "d": "double", "f": "float", "n": "decimal(10,2)", "s": "string", "u": None,
    "ts": "timestamp", "dt": "date", "o": "boolean",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("2147483647", "int"),
        ("2147483648", "bigint"),
        ("-2147483648", "int"),
        ("-9223372036854775808", "bigint"),
        ("9223372036854775808", "decimal(19,0)"),
        ("1.5", "decimal(2,1)"),
        ("0.05", "decimal(2,2)"),
        ("1e3", "double"),
        ("'a'", "string"),
        ("NULL", "void"),
        ("TRUE", "boolean"),
        ("i + b", "bigint"),
        ("i / i", "double"),
        ("i DIV i", "bigint"),
        ("f + f", "float"),
        ("f + i", "double"),
        ("f / f", "double"),
        ("n + n", "decimal(11,2)"),
        ("n * n", "decimal(21,4)"),
        ("n / n", "decimal(23,13)"),
        ("n % i", "decimal(10,2)"),
        ("n * 2", "decimal(12,2)"),  # a literal takes only the digits it has
        ("n * i", "decimal(21,2)"),
        ("n + d", "double"),
        ("coalesce(n, i)", "decimal(12,2)"),
        ("CASE WHEN o THEN i ELSE 2.5 END", "decimal(11,1)"),
        ("CASE WHEN o THEN i END", "int"),
        ("coalesce(NULL, NULL)", "void"),
        ("i > 5 AND s LIKE 'a%'", "boolean"),
        ("CAST(s AS DECIMAL(10, 2))", "decimal(10,2)"),
        ("round(n, 1)", "decimal(10,1)"),
        ("round(d, 1)", "double"),
        ("ts + INTERVAL 1 HOUR", "timestamp"),
        ("upper(s)", "string"),
    ],
)
def test_types(text: str, type: str) -> None:
    assert infer(parse_expression(text).tree, COLUMNS) == type


@pytest.mark.parametrize(
    "text",
    ["u", "u + i", "coalesce(i, u)", "s + i", "split(s, ',')", "round(n, i)", "coalesce(s, i)", "no_such(i)",
     "x", "CASE WHEN o THEN u ELSE i END", "dt - dt", "d DIV d", "concat(s, i)", "round(n, 1.5)"],
)  # fmt: skip
def test_nothing_is_told_where_it_is_not_sure(text: str) -> None:
    assert infer(parse_expression(text).tree, COLUMNS) is None


def test_precision_gives_way_before_38_digits_are_passed() -> None:
    columns = {"a": "decimal(38,10)", "b": "decimal(38,20)"}
    assert infer(parse_expression("a * b").tree, columns) == "decimal(38,6)"
    assert infer(parse_expression("a + b").tree, columns) == "decimal(38,9)"
    assert infer(parse_expression("coalesce(a, b)").tree, columns) == "decimal(38,10)"
