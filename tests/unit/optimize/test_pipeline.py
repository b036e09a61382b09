from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.plan.programs import WINDOW, aggregate_of, program, query
from weft.errors import Bug
from weft.lang.parse import parse_expression
from weft.optimize.conditions import cannot_fail
from weft.optimize.pipeline import RULES, optimize, optimize_plan, optimize_program
from weft.optimize.rules.push_filter_below_window import push_filter_below_window
from weft.plan.nodes import Filter, Plan, Project, Scan, Window
from weft.plan.tree import walk

SELECT = f"SELECT symbol, COUNT(*) AS n FROM trades {WINDOW} WHERE price > 5 GROUP BY symbol"


def test_optimizing_twice_changes_nothing() -> None:
    once = optimize(query(SELECT))
    assert optimize(once).plan is once.plan


def test_the_whole_program() -> None:
    select, other = SELECT, SELECT.replace(WINDOW, "[RANGE 9 MINUTES SLIDE 7 SECONDS]")
    texts = (select, "SELECT price FROM trades WHERE TRUE", other, other.replace("5", "6"), select, other)
    bound = program("; ".join(f"CREATE QUERY q{at} AS {text}" for at, text in enumerate(texts)))
    plans = [one.plan for one in optimize_program(bound).queries]
    assert plans == [optimize(one).plan for one in bound.queries]
    assert len(set(plans)) == 4


def test_queries_that_ask_the_same_get_the_same_plan() -> None:
    texts = (
        "live AND 5 < price AND symbol = 'A'",
        "symbol = 'A' AND live AND price > 5",
        "'A' = symbol AND live AND price > 5 AND live",
    )
    plans = [
        optimize(query(f"SELECT COUNT(*) AS n FROM trades {WINDOW} WHERE {text}")).plan for text in texts
    ]
    assert plans[0] == plans[1] == plans[2]


def test_a_rule_that_breaks_a_plan_is_named() -> None:
    def lose_the_window(plan: Plan) -> Plan:
        return plan.source if isinstance(plan, Window) else plan

    with pytest.raises(Bug, match="lose_the_window"):
        optimize_plan(query(SELECT).plan, (lose_the_window,))


def test_a_rule_that_changes_the_answer_s_columns_is_named() -> None:
    def lose_a_column(plan: Plan) -> Plan:
        return replace(plan, items=plan.items[:-1]) if isinstance(plan, Project) else plan

    with pytest.raises(Bug, match="lose_a_column changed the columns"):
        optimize_plan(query(SELECT).plan, (lose_a_column,))


def test_rules_that_undo_each_other_are_stopped() -> None:
    def lift(plan: Plan) -> Plan:
        match plan:
            case Window(source=Filter(source=source) as below):
                return replace(below, source=replace(plan, source=source))
            case _:
                return plan

    with pytest.raises(Bug, match="did not come to rest"):
        optimize_plan(query(SELECT).plan, (push_filter_below_window, lift))


def test_every_rule_leaves_alone_what_it_has_nothing_to_do_with() -> None:
    plan = optimize(query(SELECT)).plan
    for rule in RULES:
        for node in walk(plan):
            assert rule(node) is node, rule.__name__


def test_a_scan_is_narrowed_to_what_is_used() -> None:
    scan = list(walk(optimize(query(SELECT)).plan))[-1]
    assert isinstance(scan, Scan)
    assert [column.name for column in scan.columns] == ["symbol", "price"]


TYPES = {
    "i": "int",
    "b": "bigint",
    "d": "double",
    "n": "decimal(10,2)",
    "s": "string",
    "ts": "timestamp",
    "o": "boolean",
}


@pytest.mark.parametrize(
    "text",
    ["i > 5", "d * i > 2.5", "s = 'a'", "s IN ('a', 'b')", "i BETWEEN 1 AND 3000000000", "s IS NULL",
     "NOT o OR o", "ts > TIMESTAMP '2026-01-31 12:00:00'", "d = n", "-d < 0",
     "upper(s) = 'A'", "hour(ts) = 12", "s LIKE 'a%'", "NOT isnan(d)"],
)  # fmt: skip
def test_what_cannot_fail(text: str) -> None:
    assert cannot_fail(parse_expression(text).tree, TYPES)


@pytest.mark.parametrize(
    "text",
    ["1 / i > 0", "i + 1 > 0", "CAST(s AS INT) > 0", "s = 5", "ts > '2026-01-31'", "n > i", "abs(i) > 1",
     "-i > 0", "d / d > 1", "ts > TIMESTAMP '2026-02-31 12:00:00'", "unknown > 5", "i IN (1, 1 / i)",
     "upper(i) = '1'", "length(CAST(i AS STRING)) > 1", "i LIKE '1%'", "s LIKE s", "my_own(s) = 'A'"],
)  # fmt: skip
def test_what_could_fail(text: str) -> None:
    assert not cannot_fail(parse_expression(text).tree, TYPES)


@pytest.mark.parametrize(
    ("one", "other"),
    [("WHERE qty BETWEEN 1 AND 5", "WHERE 5 >= qty AND NOT qty < 1"),
     ("WHERE NOT (qty BETWEEN 1 AND 5)", "WHERE qty > 5 OR 1 > qty"),
     ("WHERE symbol IN ('B', 'A', 'B')", "WHERE (symbol IN ('A', 'B'))"),
     ("WHERE symbol IN ('A')", "WHERE NOT 'A' <> symbol"),
     ("WHERE symbol = 'B' OR 'A' = symbol", "WHERE symbol IN ('A', 'B')"),
     ("WHERE qty = 3 OR live OR (qty IN (2, 1) OR qty = 3)", "WHERE live OR qty IN (1, 2, 3)"),
     ("WHERE (symbol = 'A' OR symbol = 'B') AND live", "WHERE live AND symbol IN ('A', 'B')"),
     ("WHERE NOT (symbol <> 'A' AND symbol <> 'B')", "WHERE symbol IN ('B', 'A')"),
     ("WHERE live OR qty > 1 OR price < 2", "WHERE price < 2 OR (1 < qty OR live)"),
     ("WHERE (live OR qty > 1) AND price < 2", "WHERE 2 > price AND (qty > 1 OR live)"),
     ("WHERE price < qty", "WHERE qty > price"),
     ("HAVING SUM(qty) > 1 AND MIN(price) < 2", "HAVING MIN(price) < 2 AND 1 < SUM(qty)")],
)  # fmt: skip
def test_conditions_that_ask_the_same_are_the_same(one: str, other: str) -> None:
    plans = [
        optimize(query(f"SELECT COUNT(*) AS n FROM trades {WINDOW} {text}")).plan for text in (one, other)
    ]
    assert plans[0] == plans[1]


@pytest.mark.parametrize(
    "text", ["qty = 1 OR qty = 1.5", "symbol = 'A' OR symbol = 'B' AND live", "qty = 1 OR qty > 1",
             "symbol = 'A' OR qty = 1", "1 / qty > 0 OR qty = 1 OR qty = 2"],
)  # fmt: skip
def test_other_alternatives_are_no_lists(text: str) -> None:
    plan = optimize(query(f"SELECT COUNT(*) AS n FROM trades {WINDOW} WHERE {text}")).plan
    (predicate,) = [node.predicate for node in walk(plan) if isinstance(node, Filter)]
    assert " IN " not in predicate.sql


def test_filters_of_aggregates_that_ask_the_same_make_one_aggregate() -> None:
    calls = "SUM(qty) FILTER (WHERE 1 < qty) AS a, SUM(qty) FILTER (WHERE NOT qty <= 1) AS b"
    made = aggregate_of(optimize(query(f"SELECT {calls} FROM trades {WINDOW}")).plan)
    assert [call.name for call in made.aggregations] == ["_a0"]
