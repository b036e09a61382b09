"""Which expressions are of one shape."""

from __future__ import annotations

import pytest

from weft.lang.parse import parse_expression
from weft.plan.shapes import shape_of


def are_alike(one: str, other: str) -> bool:
    return shape_of(parse_expression(one)) == shape_of(parse_expression(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("key = 1", "key = 22"),
        ("key > -1", "key > -5"),
        ("price <= 1.25", "price <= 9.75"),
        ("city = 'Oslo'", "city = 'Rome'"),
        ("key IN (1, 2)", "key IN (3)"),
        ("(key = 1 OR key = 2) AND city = 'Oslo'", "(key = 3 OR key = 4) AND city = ''"),
        ("key = 1 AND upper(city) = 'OSLO'", "key = 2 AND UPPER(city) = 'OSLO'"),
    ],
)
def test_what_differs_in_a_value_compared_with_is_alike(one: str, other: str) -> None:
    assert are_alike(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("key = 1", "key = 2147483648"),
        ("key = 1", "key > 1"),
        ("key = 1", "key = '1'"),
        ("key = 1", "other = 1"),
        ("key = 1", "key = 1.5"),
        ("price = 1.5", "price = 1.55"),
        ("key = 1L", "key = 2"),
        ("key IN (1)", "key IN ('1')"),
        ("key IN (1)", "key IN (1, a)"),
        ("city = 'a'", "city = 'a\\\\'"),
        ("upper(city) = 'OSLO'", "upper(city) = 'ROME'"),
        ("substring(city, 1) = 'a'", "substring(city, 2) = 'a'"),
        ("ts > DATE '2024-01-01'", "ts > DATE '2024-13-01'"),
        ("key = 1 AND city = 'a'", "key = 1 OR city = 'a'"),
    ],
)
def test_what_differs_in_more_is_not(one: str, other: str) -> None:
    assert not are_alike(one, other)
