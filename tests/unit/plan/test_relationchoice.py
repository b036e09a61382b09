"""How relations are kept, by update pattern; where absence stands: the thesis's labels and its Figure 3.5."""

from __future__ import annotations

import pytest

from weft.lang.bodies import Emission, JoinKind, SetKind
from weft.lang.parse import parse_expression
from weft.lang.statements import Expr
from weft.plan.nodes import Aggregation, Named
from weft.plan.relationchoice import Expected, Holding, Picked, Sieve, held_by_pattern, physical
from weft.plan.relationpatterns import Pattern, relation_pattern
from weft.plan.relationplacing import (
    Supposed,
    candidates,
    cost,
    flow,
    place,
    pull_absence_up,
    push_absence_down,
    push_filter_down,
)
from weft.plan.relations import (
    AsOf,
    Distinct,
    Emitted,
    Entries,
    Grouped,
    Kept,
    Lasting,
    Leading,
    Made,
    Merged,
    Paired,
    Relation,
    Rows,
    Whether,
)
from weft.times import SECOND

MON, WKS, WK, STR = Pattern


def said(text: str) -> Expr:
    return parse_expression(text)


def rows(number: int, seconds: int | None = 10, **more: bool) -> Rows:
    named = tuple(Named(f"_s{number}_{name}", said(name), "bigint") for name in ("a", "b"))
    return Rows(f"s{number}", named, None, None if seconds is None else seconds * SECOND, **more)


def entries(retroactive: bool) -> Entries:
    return Entries("companies", (Named("_s9_a", said("a"), "bigint"),), None, retroactive)


def pairs(left: Relation, right: Relation, on: str | None = None) -> Paired:
    return Paired(JoinKind.INNER, left, right, said(on) if on else None)


def absent(source: Relation, other: Relation, on: str = "_s1_a = _s3_a") -> Whether:
    return Whether(source, other, said(on), negated=True)


ONE, TWO, THREE = rows(1), rows(2), rows(3)
UP = absent(pairs(ONE, TWO, "_s1_a = _s2_a"), THREE)
DOWN = pairs(absent(ONE, THREE), TWO, "_s1_a = _s2_a")
FEW = Expected(rows=100, premature=0.01)
MANY = Expected(rows=100_000, premature=0.4)


def top(relation: Relation, expected: Expected | None = None) -> Picked:
    return physical(relation, expected)[0]


def inputs(relation: Relation, expected: Expected | None = None) -> list[Holding]:
    return [choice.holding for choice in top(relation, expected).inputs]


@pytest.mark.parametrize(
    ("relation", "pattern"),
    [
        (ONE, WKS),
        (rows(1, None), MON),
        (Kept(ONE, said("_s1_a > 1")), WKS),
        (Merged(SetKind.UNION, True, rows(1, 10), rows(2, 10)), WKS),
        (Merged(SetKind.UNION, True, rows(1, 5), rows(2, 10)), WK),
        (Distinct(ONE), WK),
        (Distinct(UP), STR),
        (pairs(ONE, entries(retroactive=False)), WKS),
        (pairs(ONE, entries(retroactive=True)), STR),
        (pairs(ONE, TWO), WK),
        (pairs(rows(1, None), rows(2, None)), MON),
        (pairs(ONE, rows(2, 10, internal=True)), WK),
        (Emitted(pairs(rows(1, internal=True), rows(2, internal=True)), Emission.LIVES), MON),
        (UP, STR),
        (UP.source, WK),
        (DOWN, STR),
        (DOWN.left, STR),
        (DOWN.right, WKS),
    ],
)
def test_the_labels_of_the_thesis(relation: Relation, pattern: Pattern) -> None:
    assert relation_pattern(relation) is pattern


@pytest.mark.parametrize(
    ("pattern", "expected", "holding"),
    [
        (MON, FEW, Holding.FIFO),
        (WKS, FEW, Holding.FIFO),
        (WK, FEW, Holding.CALENDAR),
        (STR, FEW, Holding.CALENDAR),
        (STR, MANY, Holding.HASH),
        (WK, MANY, Holding.CALENDAR),
    ],
)
def test_what_rows_are_kept_in(pattern: Pattern, expected: Expected, holding: Holding) -> None:
    choice = held_by_pattern(pattern, expected)
    assert choice.holding is holding
    assert choice.reason.startswith(str(pattern))


@pytest.mark.parametrize(
    ("relation", "kept"),
    [
        (pairs(ONE, TWO), [Holding.FIFO, Holding.FIFO]),
        (pairs(pairs(ONE, TWO), THREE), [Holding.CALENDAR, Holding.FIFO]),
        (pairs(ONE, entries(retroactive=False)), [Holding.NONE, Holding.HASH]),
        (pairs(entries(retroactive=False), ONE), [Holding.HASH, Holding.NONE]),
        (pairs(ONE, entries(retroactive=True)), [Holding.FIFO, Holding.HASH]),
        (UP, [Holding.CALENDAR, Holding.FIFO]),
        (Merged(SetKind.EXCEPT, True, ONE, TWO), [Holding.FIFO, Holding.FIFO]),
        (Merged(SetKind.UNION, True, ONE, TWO), [Holding.NONE, Holding.NONE]),
        (Kept(UP, said("_s1_a > 1")), [Holding.NONE]),
        (Made(ONE, ()), [Holding.NONE]),
        (Lasting(pairs(ONE, TWO), 5 * SECOND), [Holding.NONE]),
        (AsOf(pairs(ONE, TWO), SECOND, 0, SECOND), [Holding.CALENDAR]),
        (Leading(AsOf(ONE, SECOND, 0, SECOND), (), 1), [Holding.NONE]),
        (Emitted(pairs(ONE, TWO), Emission.LIVES), [Holding.NONE]),
        (Emitted(pairs(ONE, TWO), Emission.DSTREAM), [Holding.CALENDAR]),
        (Emitted(ONE, Emission.DSTREAM), [Holding.FIFO]),
        (Emitted(UP, Emission.DSTREAM), [Holding.NONE]),
        (ONE, []),
    ],
)
def test_what_an_operator_keeps_of_its_inputs(relation: Relation, kept: list[Holding]) -> None:
    assert inputs(relation, FEW) == kept


def test_absence_below_a_join_makes_its_side_strict() -> None:
    assert inputs(DOWN, FEW) == [Holding.CALENDAR, Holding.FIFO]
    assert inputs(DOWN, MANY) == [Holding.HASH, Holding.FIFO]
    assert inputs(UP, MANY) == [Holding.CALENDAR, Holding.FIFO]  # only what comes out of it is taken back


@pytest.mark.parametrize(
    ("source", "sieve", "own"),
    [
        (ONE, Sieve.LONGEST, Holding.CALENDAR),
        (pairs(ONE, TWO), Sieve.LONGEST, Holding.CALENDAR),
        (UP, Sieve.COUNTING, Holding.HASH),
        (rows(1, None), Sieve.LONGEST, Holding.HASH),
    ],
)
def test_how_rows_are_told_once(source: Relation, sieve: Sieve, own: Holding) -> None:
    for relation in (Distinct(source), Merged(SetKind.UNION, False, source, source)):
        picked = top(relation)
        assert picked.sieve is sieve
        assert picked.own is not None
        assert picked.own.holding is own
        assert {choice.holding for choice in picked.inputs} == {Holding.NONE}


def test_groups_are_replaced_one_by_one() -> None:
    count = (Aggregation("_a0", "count"),)
    picked = top(Grouped(pairs(ONE, TWO), (), count))
    assert picked.own is not None
    assert picked.own.holding is Holding.GROUPS
    assert [choice.holding for choice in picked.inputs] == [Holding.CALENDAR]
    windowed = top(Grouped(AsOf(pairs(ONE, TWO), SECOND, 0, SECOND), (), count))
    assert [choice.holding for choice in windowed.inputs] == [Holding.NONE]


def test_every_node_is_picked_with_its_pattern() -> None:
    found = [f"{type(each.node).__name__} {each.pattern}" for each in physical(UP)]
    assert found == ["Whether strict", "Paired weak", "Rows weakest", "Rows weakest", "Rows weakest"]


class TestAbsence:
    def test_up_and_down_are_each_other(self) -> None:
        assert push_absence_down(UP) == DOWN
        assert pull_absence_up(DOWN) == UP
        assert set(candidates(UP)) == set(candidates(DOWN)) == {UP, DOWN}

    def test_it_goes_to_the_side_it_speaks_of(self) -> None:
        of_two = absent(UP.source, THREE, "_s2_a = _s3_a")
        assert push_absence_down(of_two) == pairs(ONE, absent(TWO, THREE, "_s2_a = _s3_a"), "_s1_a = _s2_a")
        assert pull_absence_up(push_absence_down(of_two)) == of_two

    @pytest.mark.parametrize("on", ["_s1_a = _s3_a AND _s2_b = _s3_b", "_s3_a = 1", "_s3_a = 1 / _s1_a"])
    def test_it_stays_where_it_speaks_of_both_of_neither_or_can_fail(self, on: str) -> None:
        both = absent(UP.source, THREE, on)
        assert push_absence_down(both) is both

    def test_it_stays_above_and_below_outer_joins(self) -> None:
        outer = Paired(JoinKind.LEFT, ONE, TWO, said("_s1_a = _s2_a"))
        assert push_absence_down(absent(outer, THREE)) == absent(outer, THREE)
        kept = Paired(JoinKind.LEFT, absent(ONE, THREE), TWO, said("_s1_a = _s2_a"))
        assert pull_absence_up(kept) is kept

    def test_it_passes_several_joins(self) -> None:
        deep = pairs(pairs(absent(ONE, THREE), TWO), rows(4))
        assert absent(pairs(pairs(ONE, TWO), rows(4)), THREE) in candidates(deep)

    def test_no_table_that_does_not_reach_back_is_paired_with_what_is_taken_back(self) -> None:
        table = entries(retroactive=False)
        for below_it in (pairs(absent(ONE, THREE), table), pairs(table, absent(ONE, THREE))):
            assert [relation_pattern(way) for way in candidates(below_it)] == [STR]
            assert [type(way) for way in candidates(below_it)] == [Whether]
        back = pairs(absent(ONE, THREE), entries(retroactive=True))
        assert len(candidates(back)) == 2


class TestFilters:
    of_one, of_both = said("_s1_b > 1"), said("_s1_b > _s2_b")

    @pytest.mark.parametrize("wrap", [lambda x: absent(x, THREE), Distinct, lambda x: Lasting(x, SECOND)])
    def test_they_go_below_what_keeps_rows_as_they_are(self, wrap) -> None:
        assert push_filter_down(Kept(wrap(ONE), self.of_one)) == wrap(Kept(ONE, self.of_one))

    def test_they_go_to_their_side_of_a_join(self) -> None:
        below = push_filter_down(Kept(UP, self.of_one))
        assert below == absent(pairs(Kept(ONE, self.of_one), TWO, "_s1_a = _s2_a"), THREE)
        assert push_filter_down(Kept(UP, self.of_both)) == absent(Kept(UP.source, self.of_both), THREE)

    def test_they_pass_each_other_only_on_the_way_down(self) -> None:
        both = Kept(UP.source, self.of_both)
        assert push_filter_down(Kept(both, self.of_one)) == Kept(
            pairs(Kept(ONE, self.of_one), TWO, "_s1_a = _s2_a"), self.of_both
        )
        stays = Kept(Kept(ONE, self.of_one), said("_s1_a > 1"))
        assert push_filter_down(stays) is stays

    def test_they_stay_above_outer_joins_and_where_they_can_fail(self) -> None:
        outer = Kept(Paired(JoinKind.LEFT, ONE, TWO, None), said("_s2_a IS NULL"))
        assert push_filter_down(outer) is outer
        fails = Kept(UP.source, said("1 / _s1_a > 1"))
        assert push_filter_down(fails) is fails


class TestCosts:
    def test_rows_by_the_usual_guesses(self) -> None:
        supposed = Supposed({"s1": 10, "s2": 20}, values=50)
        assert (flow(ONE, supposed).rate, flow(ONE, supposed).rows) == (10, 100)
        paired = flow(pairs(ONE, TWO), supposed)
        assert (paired.rate, paired.rows) == ((10 * 200 + 20 * 100) / 50, 100 * 200 / 50)
        assert flow(UP, supposed).premature == pytest.approx(0.4)

    def test_many_pairs_of_few_rows_are_better_taken_back_before_they_are_made(self) -> None:
        unselective = Supposed(values=10, absent=0.01)
        assert [way.relation for way in place(UP, unselective)] == [DOWN, UP]

    def test_few_pairs_are_better_taken_back_than_the_rows_they_are_made_of(self) -> None:
        selective = Supposed(values=100_000, absent=0.9)
        assert [way.relation for way in place(DOWN, selective)] == [UP, DOWN]

    def test_the_cheapest_comes_first_with_its_cost(self) -> None:
        supposed = Supposed(values=10, absent=0.01)
        first, second = place(UP, supposed)
        assert first.cost == cost(first.relation, supposed) < second.cost == cost(UP, supposed)

    def test_filters_below_are_cheaper(self) -> None:
        above = Kept(UP, said("_s1_b > 1"))
        assert cost(push_filter_down(above), Supposed()) < cost(above, Supposed())
