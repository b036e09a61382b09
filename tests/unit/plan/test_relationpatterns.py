"""Update patterns of relations, and where absence may stand: the thesis's labels and its Figure 3.5."""

from __future__ import annotations

import pytest

from weft.lang.bodies import Emission, JoinKind, SetKind
from weft.lang.parse import parse_expression
from weft.lang.statements import Expr
from weft.plan.nodes import Named
from weft.plan.relationpatterns import Pattern, relation_pattern
from weft.plan.relationplacing import MOST, joins_below, places, pull_absence_up, push_absence_down
from weft.plan.relations import Distinct, Emitted, Entries, Kept, Merged, Paired, Relation, Rows, Whether
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


class TestAbsence:
    def test_up_and_down_are_each_other(self) -> None:
        assert list(push_absence_down(UP)) == [DOWN]
        assert list(pull_absence_up(DOWN)) == [UP]
        assert places(UP) == (UP, DOWN)
        assert places(DOWN) == (DOWN, UP)

    def test_it_is_found_below_other_nodes(self) -> None:
        assert places(Emitted(Distinct(UP), Emission.LIVES)) == tuple(
            Emitted(Distinct(way), Emission.LIVES) for way in (UP, DOWN)
        )

    def test_it_goes_to_the_side_it_speaks_of(self) -> None:
        of_two = absent(UP.source, THREE, "_s2_a = _s3_a")
        (down,) = push_absence_down(of_two)
        assert down == pairs(ONE, absent(TWO, THREE, "_s2_a = _s3_a"), "_s1_a = _s2_a")
        assert list(pull_absence_up(down)) == [of_two]

    def test_it_goes_to_either_side_where_it_speaks_of_none(self) -> None:
        alone = absent(UP.source, THREE, "_s3_a = 1")
        assert len(list(push_absence_down(alone))) == 2

    @pytest.mark.parametrize("on", ["_s1_a = _s3_a AND _s2_b = _s3_b", "_s3_a = 1 / _s1_a"])
    def test_it_stays_where_it_speaks_of_both_or_can_fail(self, on: str) -> None:
        both = absent(UP.source, THREE, on)
        assert places(both) == (both,)

    def test_it_stays_where_the_join_can_fail(self) -> None:
        """Below, the join would not see the rows that have a match, and not fail on them."""
        fails = absent(pairs(ONE, TWO, "_s1_a = _s2_a AND 1 / _s1_b > _s2_b"), THREE)
        assert places(fails) == (fails,)
        below = pairs(absent(ONE, THREE), TWO, "_s1_a = 1 / _s2_a")
        assert places(below) == (below,)

    def test_of_an_outer_join_it_passes_the_side_whose_rows_are_all_kept(self) -> None:
        outer = Paired(JoinKind.LEFT, ONE, TWO, said("_s1_a = _s2_a"))
        below = Paired(JoinKind.LEFT, absent(ONE, THREE), TWO, said("_s1_a = _s2_a"))
        assert places(absent(outer, THREE)) == (absent(outer, THREE), below)
        nulls = absent(outer, THREE, "_s2_a = _s3_a")
        assert places(nulls) == (nulls,)
        full = Paired(JoinKind.FULL, ONE, TWO, said("_s1_a = _s2_a"))
        assert places(absent(full, THREE)) == (absent(full, THREE),)

    def test_it_passes_several_joins(self) -> None:
        deep = pairs(pairs(absent(ONE, THREE), TWO), rows(4))
        assert absent(pairs(pairs(ONE, TWO), rows(4)), THREE) in places(deep)
        assert sorted(map(joins_below, places(deep))) == [(0,), (1,), (2,)]

    def test_there_are_not_too_many_ways(self) -> None:
        many = pairs(ONE, TWO)
        for number in range(4, 12):
            many = pairs(absent(many, rows(10 * number), f"_s1_a = _s{10 * number}_a"), rows(number))
        assert len(places(many)) == MOST

    @pytest.mark.parametrize("retroactive", [False, True])
    def test_it_passes_no_table(self, retroactive: bool) -> None:
        """A pair begins with its later row: it would see another version than its row does."""
        table = entries(retroactive)
        of_table = absent(UP.source, table, "_s1_a = _s9_a")
        for stays in (pairs(absent(ONE, THREE), table), absent(pairs(ONE, table), THREE), of_table):
            assert places(stays) == (stays,)

    def test_it_stays_where_names_would_mean_two_things(self) -> None:
        same = pairs(absent(ONE, TWO, "_s1_a = _s2_a"), TWO, "_s1_a = _s2_a")
        assert places(same) == (same,)
