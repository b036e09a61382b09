from __future__ import annotations

import pytest

from weft.lang.parse import parse_expression
from weft.plan.functions import AGGREGATES, CLOCK, call_of, kind_of, known_functions


def test_every_aggregate_of_ours_is_one_of_sparks() -> None:
    assert {known_functions()[name].kind for name in AGGREGATES} == {"aggregate"}


def test_the_clock_functions_are_known() -> None:
    assert known_functions().keys() >= CLOCK


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("upper", "scalar"),
        ("sum", "aggregate"),
        ("collect_list", "aggregate"),
        ("row_number", "window"),
        ("explode", "generator"),
        ("uuid", "nondeterministic"),
        ("timestampadd", "scalar"),
        ("no_such_function", None),
    ],
)
def test_kinds(name: str, kind: str | None) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize(
    ("name", "counts"),
    [("upper", {1}), ("substring", {2, 3}), ("pi", {0}), ("coalesce", {1, 2, 3, 4, 5}), ("nullif", {2})],
)
def test_numbers_of_arguments(name: str, counts: set[int]) -> None:
    assert {count for count in range(6) if known_functions()[name].takes(count)} == counts


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [
        ("sum(x)", "sum", ["x"]),
        ("DATEADD(HOUR, 1, x)", "timestampadd", ["HOUR", "1", "x"]),
        ("TIMEDIFF(DAY, x, y)", "timestampdiff", ["DAY", "x", "y"]),
        ("DATEDIFF(x, y)", "datediff", ["x", "y"]),
        ("SUM(x) FILTER (WHERE y > 0)", "sum", ["x"]),
        ("count(*)", "count", ["*"]),
        ("count(DISTINCT x)", "count", ["x"]),
        ("first(x) IGNORE NULLS", "first", ["x"]),
        ("coalesce(a, b, c)", "coalesce", ["a", "b", "c"]),
        ("my_own(a, 1)", "my_own", ["a", "1"]),
        ("current_timestamp()", "current_timestamp", []),
        ("least(a, b)", "least", ["a", "b"]),
    ],
)
def test_calls(text: str, name: str, args: list[str]) -> None:
    call = call_of(parse_expression(text).tree)
    assert call is not None
    assert (call.name, [arg.sql("spark") for arg in call.args]) == (name, args)


@pytest.mark.parametrize(
    "text", ["a + b", "a", "1", "a AND b", "CASE WHEN a THEN b END", "CAST(a AS INT)", "a[0]"]
)
def test_operators_are_no_calls(text: str) -> None:
    assert call_of(parse_expression(text).tree) is None


def test_what_stands_around_a_call() -> None:
    call = call_of(parse_expression("last(DISTINCT x) FILTER (WHERE y > 0)").tree)
    assert call is not None
    assert call.distinct
    assert call.filter is not None
    assert call.filter.sql("spark") == "y > 0"
    ignoring = call_of(parse_expression("last(x) IGNORE NULLS").tree)
    assert ignoring is not None
    assert ignoring.ignore_nulls
