"""Equalities that follow from others."""

from __future__ import annotations

from weft.lang.parse import parse_expression
from weft.plan.nodes import Named
from weft.plan.relations import Rows
from weft.share.relations.equalities import closed, equal


def source(at: int, type_: str = "bigint") -> Rows:
    items = tuple(Named(f"_s{at}_{name}", parse_expression(name), type_) for name in ("k", "v"))
    return Rows(f"s{at}", items, None, 1_000_000)


def test_what_two_columns_are_equal_to_they_are_to_each_other() -> None:
    said = [parse_expression("_s0_k = _s1_k"), parse_expression("_s2_k = _s0_k")]
    made = closed(said, [source(0), source(1), source(2)])
    assert [each.sql for each in made] == ["_s0_k = _s1_k", "_s2_k = _s0_k", "_s1_k = _s2_k"]


def test_columns_of_one_source_or_of_another_type_follow_from_nothing() -> None:
    said = [
        parse_expression("_s0_k = _s1_k"),
        parse_expression("_s0_k = _s1_v"),
        parse_expression("_s1_k = _s2_k"),
    ]
    made = closed(said, [source(0), source(1), source(2, "string")])
    assert [each.sql for each in made] == [each.sql for each in said]


def test_where_two_are_known_to_be_equal_one_comparison_will_do() -> None:
    sources = [source(0), source(1), source(2)]
    said = closed([parse_expression("_s0_k = _s1_k"), parse_expression("_s0_k = _s2_k")], sources)
    needed = equal(said, sources).needed(said[1:], {"_s2_k", "_s2_v"})
    assert [each.sql for each in needed] == ["_s0_k = _s2_k"]


def test_a_comparison_with_a_column_of_another_type_is_always_made() -> None:
    sources = [source(0), source(1), source(2, "int")]
    said = closed([parse_expression("_s0_k = _s1_k"), parse_expression("_s1_k = _s2_k")], sources)
    needed = equal(said, sources).needed(said, {"_s1_k", "_s1_v"})
    assert [each.sql for each in needed] == ["_s0_k = _s1_k", "_s1_k = _s2_k"]
