"""Which queries are told to be the same, and how EXPLAIN tells it."""

from __future__ import annotations

import json

import pytest

from tests.unit.share.test_build import STREAM, WINDOW, plan_of
from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.share import predicates
from weft.share.explain import explain_program
from weft.share.same import same_as

ONE = f"SELECT venue, SUM(qty) AS q FROM trades {WINDOW} WHERE qty BETWEEN 1 AND 5 GROUP BY venue"


@pytest.mark.parametrize(
    "other",
    [
        ONE,
        f"SELECT venue AS v, SUM(qty) FROM trades {WINDOW} WHERE 5 >= qty AND NOT qty < 1 GROUP BY v",
        ONE.replace("qty BETWEEN 1 AND 5", "(qty >= 1 AND (qty <= 5 AND 1 = 1))"),
    ],
)
def test_those_that_ask_the_same(other):
    assert same_as(plan_of(ONE, other)) == {"q1": "q0"}


@pytest.mark.parametrize(
    "other",
    [
        ONE.replace("5", "6"),
        ONE.replace("SUM", "MAX"),
        ONE.replace("venue,", "venue, window_end,"),
        ONE.replace(WINDOW, "[RANGE 7 MINUTES SLIDE 1 SECOND]"),
        ONE + " HAVING SUM(qty) > 1",
        ONE + " ORDER BY q LIMIT 1",
        ONE.replace("GROUP BY venue", "GROUP BY venue, symbol"),
        ONE.replace("SUM(qty) AS q", "CAST(SUM(qty) AS DOUBLE) AS q"),
    ],
)
def test_those_that_do_not(other):
    assert other != ONE
    assert same_as(plan_of(ONE, other)) == {}


def test_keys_in_another_order_matter_only_to_ties():
    select = f"SELECT symbol, venue, COUNT(*) AS n FROM trades {WINDOW} GROUP BY"
    assert same_as(plan_of(f"{select} symbol, venue", f"{select} venue, symbol")) == {"q1": "q0"}
    tied = [f"{select} {keys} ORDER BY n LIMIT 1" for keys in ("symbol, venue", "venue, symbol")]
    assert same_as(plan_of(*tied)) == {}


def test_groups_that_are_picked_tell_queries_apart(monkeypatch):
    monkeypatch.setattr(predicates, "MANY", 2)
    select = f"SELECT COUNT(*) AS n FROM trades {WINDOW} WHERE symbol"
    plan = plan_of(f"{select} = 'a'", f"{select} = 'b'", f"{select} IN ('b')", f"{select} IN ('b', 'a')")
    assert all(tap.picks for tap in plan.taps)
    assert same_as(plan) == {"q2": "q1"}


def test_explain_tells():
    text = f"{STREAM} CREATE QUERY one AS {ONE}; CREATE QUERY other AS {ONE.replace('AS q', 'AS total')};"
    program = optimize_program(bind_program(parse_program(text)))
    assert "same as one" in explain_program(program)
    assert "same as one: answered once for both" in explain_program(program, "other")
    assert "same as" not in explain_program(program, "one")
    queries = json.loads(explain_program(program, format="json"))["shared"]["streams"][0]["queries"]
    assert [query["same_as"] for query in queries] == [None, "one"]
