"""Conditions that become the bits of a signature: which do, what queries pick, which rows are cells."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import pytest

from tests.unit.share.test_build import WINDOW, picks_by, plan_of, program
from weft.kernels.picks import HasAll, OneOf
from weft.lang.parse import parse_expression
from weft.share.build import Planner, build
from weft.share.explain import explain_program
from weft.share.model import treatment
from weft.share.model.constants import SHIPPED
from weft.share.model.cost import Level
from weft.share.model.forecast import Basis
from weft.share.model.load import Load, Loads
from weft.share.model.price import Priced
from weft.share.nodes import StreamPlan
from weft.share.predicates import MANY, split
from weft.share.signatures import MOST, by_columns, covering, read_signature, signature_of, signatures_in

MANY_ROWS = Basis(Loads({"trades": Load(rows=1e6, rows_by="measured")}))
CONDITIONS = ("price > 50", "venue <> 'X'", "qty % 2 = 0", "symbol LIKE 'A%'", "NOT size IS NULL")


def conjunctions(*sizes: int, by: str = "", items: str = "SUM(qty) AS s") -> list[str]:
    """A query for each way to take so many of the conditions."""
    group, shown = (f" GROUP BY {by}", f"{by}, ") if by else ("", "")
    taken = [" AND ".join(each) for size in sizes for each in combinations(CONDITIONS, size)]
    return [f"SELECT {shown}{items} FROM trades {WINDOW} WHERE {where}{group}" for where in taken]


def masks(plan: StreamPlan) -> list[int]:
    found = [pick.mask for tap in plan.taps for pick in tap.picks if isinstance(pick, HasAll)]
    assert len(found) == len(plan.taps)
    return found


def test_many_conjunctions_are_one_feed_with_as_many_partials_as_one_query() -> None:
    plan = plan_of(*conjunctions(2, 3))
    (feed,) = plan.feeds
    assert [key.sql for key in feed.keys] == [
        "WEFT_SIGNATURE(NOT size IS NULL, price > 50, qty % 2 = 0, symbol LIKE 'A%', venue <> 'X')"
    ]
    assert feed.inner == 1
    assert feed.key_types == ("bigint",)
    assert len(feed.partials) == 2
    assert masks(plan)[:3] == [0b10010, 0b00110, 0b01010]
    assert set(plan.columns) == {"symbol", "venue", "price", "qty", "size", "ts"}


def test_few_conjunctions_are_asked_of_the_rows() -> None:
    plan = plan_of(*conjunctions(2)[:3])
    assert all(tap.choice is None for tap in plan.taps)


def test_conditions_of_their_own_are_asked_of_the_rows() -> None:
    plan = plan_of(*(f"SELECT SUM(qty) FROM trades {WINDOW} WHERE qty % {at} = 0" for at in range(2, 30)))
    assert all(tap.choice is None for tap in plan.taps)


def test_rows_without_the_bits_of_any_query_are_no_cells() -> None:
    plan = plan_of(*conjunctions(2, 3))
    assert plan.wanted is not None
    assert plan.wanted.sql.startswith("WEFT_COVERS(WEFT_SIGNATURE(")
    assert plan.wanted.sql.endswith("), 3, 5, 6, 9, 10, 12, 17, 18, 20, 24)")  # those of three imply these
    assert plan_of(*conjunctions(2, 3), f"SELECT SUM(qty) FROM trades {WINDOW}").wanted is None


def test_rows_are_wanted_by_a_signature_until_a_plan_is_made_anew() -> None:
    """The last that read a feed may go before the rows that they wanted are wanted no more."""
    plain = f"SELECT COUNT(*) AS n FROM trades {WINDOW} WHERE qty > 0 EMIT EMPTY"
    both, planner = program(plain, *conjunctions(2, 3)), Planner()
    planner.plan(both)
    (plan,) = planner.plan(replace(both, queries=both.queries[:1])).streams
    assert [feed.keys for feed in plan.feeds] == [()]
    assert plan.wanted is not None
    assert "WEFT_SIGNATURE" in plan.wanted.sql
    assert "WEFT_SIGNATURE" not in by_columns(plan.wanted, signatures_in(plan)).sql


def test_a_feed_by_a_signature_serves_only_feeds_by_the_same() -> None:
    plain = f"SELECT venue, SUM(qty) FROM trades {WINDOW} GROUP BY venue"
    made = program(*conjunctions(2, 3), *conjunctions(2, 3, by="size"), plain)
    plan = build(made, basis=MANY_ROWS).stream("trades")
    assert [feed.parent for feed in plan.feeds] == [1, None, None]
    assert [len(feed.keys) for feed in plan.feeds] == [1, 2, 1]


def test_a_later_query_whose_conditions_have_bits_joins_the_others() -> None:
    first = program(*conjunctions(2, 3))
    known = picks_by(build(first))
    joins = f"SELECT MAX(qty) FROM trades {WINDOW} WHERE price > 50"
    other = f"SELECT MAX(qty) FROM trades {WINDOW} WHERE price > 50 AND price > size"
    plan = build(program(*conjunctions(2, 3), joins, other), known).stream("trades")
    assert [tap.picks for tap in plan.taps[-2:]] == [(HasAll(0, 0b00010),), ()]


def test_what_was_decided_stays() -> None:
    few = conjunctions(2)[:2]
    before = picks_by(build(program(*few)))
    after = build(program(*few, *conjunctions(3, 4, 2)[:-2]), before)
    assert [tap.choice is None for tap in after.stream("trades").taps[:3]] == [True, True, False]
    again = build(program(*few, *conjunctions(3, 4, 2)[:-2]), picks_by(after))
    assert again == after


def test_a_key_and_a_signature() -> None:
    rules = [
        f"SELECT SUM(qty) FROM trades {WINDOW} WHERE symbol = 's{at}' AND {' AND '.join(each)}"
        for at in range(MANY)
        for each in combinations([*CONDITIONS[:3], CONDITIONS[4]], 2)
    ]
    plan = build(program(*rules), basis=MANY_ROWS).stream("trades")
    (feed,) = plan.feeds
    assert [key.sql[:14] for key in feed.keys] == ["symbol", "WEFT_SIGNATURE"]
    assert plan.taps[0].picks == (OneOf(0, ("s0",)), HasAll(1, 0b1010))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(DISTINCT venue) FROM trades {window} WHERE {where}",
        "SELECT SUM(qty) FROM trades {window} WHERE {where} EMIT EMPTY",
        "SELECT MAX(conv(symbol, 36, 10)) FROM trades {window} WHERE {where}",
        "SELECT SUM(qty) FILTER (WHERE symbol RLIKE venue) FROM trades {window} WHERE {where}",
        "SELECT COUNT(*) FROM trades {window} WHERE {where} AND to_char(price, venue) = '1'",
    ],
)
def test_who_may_not_pick(query: str) -> None:
    """Others may fail on rows that the conditions would have kept from them."""
    wheres = [" AND ".join(each) for each in combinations(CONDITIONS, 2)]
    assert all(
        tap.choice is None for tap in plan_of(*(query.format(window=WINDOW, where=w) for w in wheres)).taps
    )


def test_what_has_no_bit_is_left() -> None:
    key = "WEFT_SIGNATURE(a > 1 OR b, c LIKE '%x')"
    apart = split(parse_expression("(a > 1 OR b) AND d = 1"), {}).apart([key], {})
    assert [each.pick(2) for each in apart.picked] == [HasAll(2, 1)]
    assert apart.rest == parse_expression("d = 1")


def test_a_signature_is_read_as_it_was_made() -> None:
    wheres = [
        "a = 'it''s' OR NOT b",
        "`the c` > 1",
        "CASE WHEN a = 'x' THEN b ELSE FALSE END",
        "f(a) <=> NULL",
    ]
    made = signature_of(parse_expression(where) for where in wheres)
    assert made is not None
    assert read_signature(made.key.sql) == made
    assert sorted(made.bits.values()) == [0, 1, 2, 3]
    assert covering(made.key, [3, 1, 4]).sql == f"WEFT_COVERS({made.key.sql}, 1, 4)"


def test_at_most_as_many_bits_as_a_number_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(treatment, "_saved", lambda rests, facts: float(len(rests)))
    monkeypatch.setattr(treatment.Facts, "room", math.inf)
    plan = plan_of(
        *(f"SELECT SUM(qty) FROM trades {WINDOW} WHERE qty % {at} = 1" for at in range(2, MOST + 12))
    )
    assert sum(bool(tap.picks) for tap in plan.taps) == MOST
    assert max(pick.mask for tap in plan.taps for pick in tap.picks if isinstance(pick, HasAll)) < 1 << 62


def test_explain_tells_the_bits() -> None:
    made = program(*conjunctions(2, 3))
    said = explain_program(made)
    assert "by signature (5 bits)" in said
    assert "picks price > 50 AND venue <> 'X': 2 bits of 5" in said
    assert "2 bits of 5: by keys of the feed" in explain_program(made, "q0")


def test_queries_that_fail_on_the_same_rows_have_a_bit_in_common() -> None:
    plan = plan_of(*conjunctions(2, 3, items="SUM(qty * qty) AS s"))
    (feed,) = plan.feeds
    bits = read_signature(feed.keys[0].sql).bits
    assert len(bits) == 6
    (guard,) = (bit for text, bit in bits.items() if text.startswith("NOT COALESCE("))
    assert all(mask >> guard & 1 for mask in masks(plan))
    assert len(feed.partials) == 2
    assert len(plan.guards) == len(plan.taps)
    assert "picks price > 50 AND venue <> 'X': 3 bits of 6" in explain_program(
        program(*conjunctions(2, 3, items="SUM(qty * qty) AS s"))
    )


def test_each_condition_of_a_signature_costs_once() -> None:
    plan = plan_of(*conjunctions(2, 3))
    asked = [c.seconds for c in Priced.of(plan, SHIPPED, Load(rows=1000)).level1() if c.level is Level.READ]
    row, conditions = (1000 * SHIPPED.by_columns * each for each in (SHIPPED.row, 5 * SHIPPED.predicate))
    assert asked == pytest.approx([row, conditions])
