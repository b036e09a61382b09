"""Conditions that become keys: which do, which queries then share a feed, and what is left for rows."""

from __future__ import annotations

import pytest

from tests.unit.share.test_build import STREAM, WINDOW, picks_by, plan_of, program
from weft.kernels.picks import OneOf
from weft.lang.parse import parse_expression, parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.share.build import build
from weft.share.explain import explain_program
from weft.share.predicates import MANY, Equals, split


def equals(column: str, *values: object) -> Equals:
    return Equals(parse_expression(column), values)


TYPES = {"k": "string", "j": "int", "n": "bigint", "b": "boolean", "x": "double", "day": "date"}


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("k = 'a'", [equals("k", "a")]),
        ("'a' = k", [equals("k", "a")]),
        ("(k) = ('a')", [equals("k", "a")]),
        ("k IN ('a', 'b', 'a')", [equals("k", "a", "b")]),
        ("j = 3 AND k = 'a'", [equals("j", 3), equals("k", "a")]),
        ("j = -3", [equals("j", -3)]),
        ("b = TRUE", [equals("b", True)]),
        ("j = 2147483648", []),  # no such INT: comparing converts the column
        ("j = 1.5", []),
        ("j = '3'", []),
        ("k = 3", []),
        ("x = 1", []),  # 0.0 and -0.0, NaN
        ("day = '2026-01-01'", []),
        ("k <> 'a'", []),
        ("k NOT IN ('a')", []),
        ("k = 'a' OR j = 1", []),
        ("k IN ('a', NULL)", []),
        ("upper(k) = 'A'", []),
        ("k = NULL", []),
        ("k IS NULL", []),
        ("j = n", []),
    ],
)
def test_what_groups_can_be_picked_by(where: str, found: list[Equals]) -> None:
    assert list(split(parse_expression(where), TYPES).conditions) == found


def test_what_is_not_picked_by_is_left() -> None:
    apart = split(parse_expression("k = 'a' AND j = 1 AND x > 2"), TYPES).apart(["k"], TYPES)
    assert apart.picked == (equals("k", "a"),)
    assert apart.rest == parse_expression("j = 1 AND x > 2")
    assert split(parse_expression("k = 'a'"), TYPES).apart(["k"], TYPES).rest is None
    assert split(None, TYPES).apart(["k"], TYPES).rest is None


def rules(
    count: int, template: str = "SELECT SUM(qty) FROM trades {window} WHERE symbol = 's{at}'"
) -> list[str]:
    return [template.format(at=at, window=WINDOW) for at in range(count)]


def test_many_rules_are_one_feed_with_as_many_partials_as_one_query() -> None:
    plan = plan_of(*rules(MANY))
    (feed,) = plan.feeds
    assert [key.sql for key in feed.keys] == ["symbol"]
    assert len(feed.partials) == 2  # the rows, and the sum
    assert [tap.picks for tap in plan.taps] == [(OneOf(0, (f"s{at}",)),) for at in range(MANY)]
    assert plan.wanted is None


def test_one_rule_many_times_is_one_condition() -> None:
    plan = plan_of(*["SELECT SUM(qty) FROM trades [RANGE 5 SECONDS] WHERE symbol = 'a'"] * MANY)
    assert plan.feeds[0].keys == ()


def test_few_rules_are_asked_of_the_rows() -> None:
    plan = plan_of(*rules(MANY - 1))
    assert plan.feeds[0].keys == ()
    assert all(tap.choice is None for tap in plan.taps)


def test_a_feed_by_the_same_column_serves_those_who_group_by_it() -> None:
    by_symbol = f"SELECT symbol, SUM(qty) FROM trades {WINDOW} GROUP BY symbol"
    plan = plan_of(*rules(MANY), by_symbol)
    assert len(plan.feeds) == 1
    assert plan.taps[-1].choice is None


def test_several_values_of_a_key_nobody_sees_are_kept_together() -> None:
    lists = rules(
        MANY, "SELECT venue, SUM(qty) FROM trades {window} WHERE symbol IN ('s{at}', 'x') GROUP BY venue"
    )
    (feed,) = plan_of(*lists).feeds
    assert [key.sql for key in feed.keys] == ["venue", "symbol"]
    assert feed.inner == 1


def test_who_picks_by_a_key_it_groups_by_needs_no_other() -> None:
    lists = rules(
        MANY, "SELECT symbol, SUM(qty) FROM trades {window} WHERE symbol IN ('s{at}', 'x') GROUP BY symbol"
    )
    (feed,) = plan_of(*lists).feeds
    assert feed.inner == 0
    assert [key.sql for key in feed.keys] == ["symbol"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(DISTINCT venue) FROM trades {window} WHERE symbol = 's{at}'",
        "SELECT SUM(qty) FROM trades {window} WHERE symbol = 's{at}' EMIT EMPTY",
    ],
)
def test_who_may_not_pick(query: str) -> None:
    assert all(tap.choice is None for tap in plan_of(*rules(MANY, query)).taps)


def test_what_was_decided_stays() -> None:
    few, many = program(*rules(2)), program(*rules(MANY))
    before = picks_by(build(few))
    assert before == {"q0": (), "q1": ()}
    after = build(many, before)
    assert picks_by(after) == before | {f"q{at}": ("symbol",) for at in range(2, MANY)}
    plan = build(many, picks_by(after)).stream("trades")
    assert [tap.choice is None for tap in plan.taps] == [True] * 2 + [False] * (MANY - 2)


def test_a_column_whose_name_must_be_quoted() -> None:
    stream = STREAM.replace("venue STRING", "`the venue` STRING, `order` STRING")
    lists = "SELECT {by}COUNT(*) AS n FROM trades {window} WHERE `{column}` IN ('v{at}', 'x'){group}"
    for column in ("the venue", "order"):
        for by, group in (
            ("", ""),
            ("symbol, ", " GROUP BY symbol"),
            (f"`{column}`, ", f" GROUP BY `{column}`"),
        ):
            queries = [
                lists.format(by=by, window=WINDOW, column=column, at=at, group=group) for at in range(MANY)
            ]
            text = stream + "".join(f"CREATE QUERY q{at} AS {query};\n" for at, query in enumerate(queries))
            made = optimize_program(bind_program(parse_program(text)))
            (feed,) = build(made).stream("trades").feeds
            assert [key.tree.name for key in feed.keys][-1] == column
            assert build(made, picks_by(build(made))) == build(made)


def test_explain_tells_what_is_picked() -> None:
    made = program(*rules(MANY))
    assert "picks symbol = 's3'" in explain_program(made)
    assert "picks symbol = 's3': by keys of the feed" in explain_program(made, "q3")
