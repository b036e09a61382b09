"""Ranges that become intervals: which do, where a column is cut, what queries pick, and who joins later."""

from __future__ import annotations

import pytest

from tests.unit.share.test_build import WINDOW, picks_by, plan_of, program
from weft.kernels.picks import Within
from weft.lang.parse import parse_expression
from weft.share.build import build
from weft.share.explain import explain_program
from weft.share.intervals import Range, cut_at, cuts_of, range_of
from weft.share.predicates import MANY, READ, split

TYPES = {
    "k": "string", "j": "int", "n": "bigint", "b": "boolean", "x": "double", "f": "float", "day": "date",
    "at": "timestamp", "d": "decimal(10,2)", "wide": "decimal(38,30)",
}  # fmt: skip


def shown(range_: Range | None) -> str | None:
    """The bounds of a range: which cut must hold, and which must not."""
    if range_ is None:
        return None
    low = range_.low.condition.sql if range_.low else ""
    high = f"NOT {range_.high.condition.sql}" if range_.high else ""
    return " ".join(part for part in (low, high) if part)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("x > 10", "x > 10"),
        ("x >= 10", "x >= 10"),
        ("x < 10", "NOT x >= 10"),
        ("x <= 10", "NOT x > 10"),
        ("10 < x", "x > 10"),
        ("-1.5 >= x", "NOT x > -1.5"),
        ("(x) > (10)", "x > 10"),
        ("x BETWEEN 1 AND 2.5", "x >= 1 NOT x > 2.5"),
        ("x > 1e300", "x > 1e300"),
        ("f > 0.1", "f > 0.1"),
        ("j > 3000000000", "j > 3000000000"),
        ("j > 1.5", "j > 1.5"),
        ("n <= -9223372036854775808", "NOT n > -9223372036854775808"),
        ("d > 1", "d > 1"),
        ("d > 1.005", "d > 1.005"),
        ("k >= 'b'", "k >= 'b'"),
        ("day > DATE '2026-01-31'", "day > CAST('2026-01-31' AS DATE)"),
        ("at < TIMESTAMP '2026-01-31 12:00:00'", "NOT at >= CAST('2026-01-31 12:00:00' AS TIMESTAMP)"),
        ("n > 1e3", None),  # comparing makes the column a double, which loses digits
        ("d > 1e3", None),
        ("wide > 3000000000", None),  # no decimal holds both
        ("j > '3'", None),
        ("k > 3", None),
        ("b > FALSE", None),
        ("day > '2026-01-31'", None),
        ("day > TIMESTAMP '2026-01-31 12:00:00'", None),
        ("day > DATE '2026-02-31'", None),
        ("x > j", None),
        ("x > NULL", None),
        ("x + 1 > 10", None),
        ("x = 10", None),
        ("x <> 10", None),
        ("NOT x > 10", None),
        ("x > 10 OR x < 5", None),
        ("x NOT BETWEEN 1 AND 2", None),
        ("x BETWEEN 1 AND j", None),
    ],
)
def test_what_is_a_range(where: str, found: str | None) -> None:
    assert shown(range_of(parse_expression(where).tree, TYPES)) == found


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("x > 10 AND x < 20", ["x > 10 NOT x >= 20"]),
        ("x > 10 AND x >= 10 AND x > 9", ["x > 10"]),
        ("x < 10 AND x <= 10 AND x < 11", ["NOT x >= 10"]),
        ("x BETWEEN 1 AND 5 AND x > 2", ["x > 2 NOT x > 5"]),
        ("x > 10 AND j > 1", ["x > 10", "j > 1"]),
        ("x > 20 AND x < 10", ["x > 20 NOT x >= 10"]),
    ],
)
def test_conditions_on_one_column_are_one_range(where: str, found: list[str]) -> None:
    assert [shown(each) for each in split(parse_expression(where), TYPES).conditions] == found  # type: ignore[arg-type]


def ranges(*wheres: str) -> list[Range]:
    found = [range_of(parse_expression(where).tree, TYPES) for where in wheres]
    return [each for each in found if each is not None]


@pytest.mark.parametrize(
    ("wheres", "key"),
    [
        (["x > 10", "x < 10", "x <= 5"], "WEFT_INTERVAL(x > 5, x >= 10, x > 10)"),
        (["x > 10", "x > 10.0", "x > 1e1"], "WEFT_INTERVAL(x > 10)"),
        (["x > 9", "x > 10", "x > -1"], "WEFT_INTERVAL(x > -1, x > 9, x > 10)"),
        (["x >= 0", "x >= -0.0"], "WEFT_INTERVAL(x >= -0.0)"),
        (["j > 1.5", "j > 1", "j > 2"], "WEFT_INTERVAL(j > 1, j > 1.5, j > 2)"),
        (["k >= 'z'", "k >= 'é'", "k > ''"], "WEFT_INTERVAL(k > '', k >= 'z', k >= 'é')"),
        (
            ["at > TIMESTAMP '2026-01-31 00:00:00.5'", "at > TIMESTAMP '2026-01-31 00:00:00.50'"],
            "WEFT_INTERVAL(at > CAST('2026-01-31 00:00:00.5' AS TIMESTAMP))",
        ),
    ],
)
def test_where_a_column_is_cut(wheres: list[str], key: str) -> None:
    cuts = cut_at(ranges(*wheres))
    assert cuts.key.sql == key
    assert cuts_of(key, TYPES) == cuts


@pytest.mark.parametrize(
    ("where", "first", "last"),
    [
        ("x > 10", 2, 4),
        ("x >= 10", 1, 4),
        ("x < 10", 0, 0),
        ("x <= 10", 0, 1),
        ("x BETWEEN 10 AND 10", 1, 1),
        ("x > 10 AND x < 20", 2, 2),
        ("x > 20 AND x < 10", 4, 0),
        ("x < 20.0", 0, 2),
    ],
)
def test_the_intervals_of_a_range(where: str, first: int, last: int) -> None:
    key = "WEFT_INTERVAL(x >= 10, x > 10, x >= 20, x > 20)"
    apart = split(parse_expression(f"{where} AND j = 1"), TYPES).apart([key], TYPES)
    assert [each.pick(0) for each in apart.picked] == [Within(0, first, last)]
    assert apart.rest == parse_expression("j = 1")


def above(bounds: range, more: str = "") -> list[str]:
    query = "SELECT venue, SUM(qty) FROM trades {} WHERE price > {}{} GROUP BY venue"
    return [query.format(WINDOW, bound, more) for bound in bounds]


def test_many_ranges_are_one_feed_with_as_many_partials_as_one_query() -> None:
    plan = plan_of(*above(range(MANY)))
    (feed,) = plan.feeds
    assert feed.keys[0].sql == "venue"
    assert len(feed.keys[1].tree.expressions) == MANY
    assert feed.inner == 1
    assert feed.key_types[1] == "int"
    assert len(feed.partials) == 2
    assert [tap.picks for tap in plan.taps] == [(Within(1, at + 1, MANY),) for at in range(MANY)]
    assert plan.wanted is None
    assert "price" in plan.columns


def test_few_ranges_are_asked_of_the_rows() -> None:
    plan = plan_of(*above(range(MANY - 1)), above(range(1), " AND qty > 5")[0])
    assert all(tap.choice is None for tap in plan.taps)


def test_a_later_range_whose_bounds_are_there_joins_the_others() -> None:
    first = program(*above(range(MANY)))
    known = picks_by(build(first))
    between = f"SELECT MAX(qty) FROM trades {WINDOW} WHERE price > 2 AND price <= 5"
    outside = f"SELECT MAX(qty) FROM trades {WINDOW} WHERE price > 2 AND price < 5"
    plan = build(program(*above(range(MANY)), between, outside), known).stream("trades")
    assert plan.taps[MANY].picks == (Within(0, 3, 5),)
    assert plan.taps[MANY + 1].picks == ()
    assert [tap.picks for tap in plan.taps[:MANY]] == [(Within(1, at + 1, MANY),) for at in range(MANY)]


def test_many_later_ranges_are_cut_anew() -> None:
    old, new = above(range(MANY)), above(range(4, 4 + 2 * MANY))
    known = picks_by(build(program(*old)))
    plan = build(program(*old, *new), known)
    later = {f"q{at}": picks_by(plan)[f"q{at}"] for at in range(MANY, 3 * MANY)}
    joined, cut = [known["q0"]] * (MANY - 4), [later["q20"]] * (MANY + 4)
    assert list(later.values()) == joined + cut
    assert later["q20"][0].startswith(f"WEFT_INTERVAL(price > {MANY}, ")
    assert picks_by(build(program(*old, *new), picks_by(plan))) == picks_by(plan)


def test_the_column_with_the_most_conditions_is_picked_by() -> None:
    rules = [
        f"SELECT COUNT(*) FROM trades {WINDOW} WHERE symbol = 's{at}' AND price > {at % MANY}"
        for at in range(12)
    ]
    plan = plan_of(*rules)
    assert [key.sql for key in plan.feeds[0].keys] == ["symbol"]
    assert len({tap.present for tap in plan.taps}) == MANY


def test_a_column_whose_name_must_be_quoted() -> None:
    made = "WEFT_INTERVAL(`the price` > 1, `the price` >= 2)"
    types = {"the price": "double"}
    apart = split(parse_expression("`the price` < 2"), types).apart([made], types)
    assert [each.pick(0) for each in apart.picked] == [Within(0, 0, 1)]


def test_explain_tells_the_intervals() -> None:
    one = f"SELECT COUNT(*) FROM trades {WINDOW} WHERE price > 3 AND price <= 4"
    none = f"SELECT COUNT(*) FROM trades {WINDOW} WHERE price > 4 AND price <= 3"
    text = explain_program(program(*above(range(MANY)), one, none))
    assert f"interval of price ({MANY} cuts)" in text
    assert f"picks price > 2: intervals 4 to {MANY + 1} of {MANY + 1}" in text
    assert f"picks price > 3 AND price <= 4: interval 5 of {MANY + 1}" in text
    assert f"picks price > 4 AND price <= 3: no interval of {MANY + 1}" in text
    assert "WEFT_INTERVAL" not in text


def test_ranges_are_asked_of_the_rows_where_every_query_would_read_all_intervals() -> None:
    def queries(windows: int) -> list[str]:
        window = "[RANGE {} SECONDS SLIDE 5 SECONDS]"
        return [
            f"SELECT COUNT(*) AS n FROM trades {window.format(10 + at % windows)} WHERE price > {at}"
            for at in range(2 * READ)
        ]

    assert all(tap.picks for tap in plan_of(*queries(READ)).taps)
    assert not any(tap.picks for tap in plan_of(*queries(2 * READ)).taps)
