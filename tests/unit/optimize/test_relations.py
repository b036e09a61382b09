"""Relations with their conditions and columns where rows are read; what must stay where it is stays."""

from __future__ import annotations

import pytest

from weft.errors import Bug
from weft.lang.expressions import expr
from weft.lang.parse import parse_expression, parse_program
from weft.optimize.relations import normalise
from weft.plan.bind import bind_program
from weft.plan.nodes import Named, Related
from weft.plan.relationcheck import check_relation
from weft.plan.relations import Grouped, Kept, Lasting, Made, Paired, Relation, Rows, Whether
from weft.plan.relationtree import columns, walk
from weft.plan.scope import column

HEAD = """
CREATE STREAM s (k STRING, v INT, x DOUBLE, tags ARRAY<STRING>, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 1 SECOND FROM rate;
CREATE STREAM t (k STRING, w INT, y DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND FROM rate;
"""
PAIR = "FROM s [RANGE 1 MINUTE] a {} t [RANGE 1 MINUTE] b ON a.k = b.k"


def made(text: str) -> Relation:
    plan = bind_program(parse_program(f"{HEAD}CREATE QUERY q AS {text}")).queries[0].plan
    assert isinstance(plan, Related)
    after = normalise(plan.relation)
    assert columns(after) == columns(plan.relation)
    assert normalise(after) == after
    return after


def leaves(relation: Relation) -> list[Rows]:
    return [node for node in walk(relation) if isinstance(node, Rows)]


def wheres(relation: Relation) -> list[str]:
    return [leaf.where.sql if leaf.where is not None else "" for leaf in leaves(relation)]


def kept(relation: Relation) -> list[str]:
    return [node.predicate.sql for node in walk(relation) if isinstance(node, Kept)]


@pytest.mark.parametrize(
    ("join", "left", "right", "above"),
    [
        ("JOIN", "x > 1", "y > 2", []),
        ("LEFT JOIN", "x > 1", "", ["_s1_y > 2"]),
        ("RIGHT JOIN", "", "y > 2", ["_s0_x > 1"]),
        ("FULL JOIN", "", "", ["_s0_x > 1 AND _s1_y > 2"]),
    ],
)
def test_a_condition_goes_to_its_side_but_not_where_nulls_are_made(
    join: str, left: str, right: str, above: list[str]
) -> None:
    found = made(f"SELECT x, y {PAIR.format(join)} WHERE a.x > 1 AND b.y > 2")
    assert (wheres(found), kept(found)) == ([left, right], above)


@pytest.mark.parametrize(
    ("join", "left", "right"),
    [
        ("JOIN", "x > 1", "y > 2"),
        ("LEFT JOIN", "", "y > 2"),
        ("RIGHT JOIN", "x > 1", ""),
        ("FULL JOIN", "", ""),
    ],
)
def test_a_condition_of_on_goes_where_rows_without_it_are_not_kept(join: str, left: str, right: str) -> None:
    found = made(f"SELECT x, y {PAIR.format(join)} AND a.x > 1 AND b.y > 2")
    assert wheres(found) == [left, right]


@pytest.mark.parametrize(("word", "left"), [("", "x > 1"), ("NOT ", "")])
def test_without_a_match_a_row_stays_that_does_not_ask_for_one(word: str, left: str) -> None:
    found = made(
        f"SELECT x FROM s [RANGE 1 MINUTE] a WHERE {word}EXISTS"
        " (SELECT 1 FROM t [RANGE 1 MINUTE] b WHERE a.k = b.k AND a.x > 1 AND b.y > 2)"
    )
    assert wheres(found) == [left, "y > 2"]


def test_what_can_fail_meets_the_rows_it_met_before_and_no_others() -> None:
    found = made(
        f"SELECT 10 / a.v AS q, upper(a.k) AS u {PAIR.format('JOIN')} WHERE 10 / b.w > 1 AND b.w > 3"
    )
    assert (wheres(found), kept(found)) == (["", "w > 3"], ["10 / _s1_w > 1"])
    items = {item.expr.sql for leaf in leaves(found) for item in leaf.items}
    assert "UPPER(k)" in items
    assert not any("/" in item for item in items)


def test_over_one_stream_a_condition_that_can_fail_keeps_its_place_behind_its_guard() -> None:
    found = made("SELECT x FROM s [RANGE 1 MINUTE] WHERE v <> 0 AND 10 / v > 1")
    assert wheres(found) == ["v <> 0 AND 10 / v > 1"]


def test_what_would_make_something_of_nulls_is_not_made_before_them() -> None:
    found = made(f"SELECT COALESCE(y, 0) AS y, x * 2 AS z {PAIR.format('LEFT JOIN')}")
    top = next(node for node in walk(found) if isinstance(node, Made))
    assert [item.expr.sql for item in top.items] == ["COALESCE(_s1_y, 0)", "_s0__0"]


def test_a_lambda_is_not_torn_apart() -> None:
    found = made(f"SELECT transform(a.tags, i -> concat(i, upper(a.k))) AS t, y {PAIR.format('JOIN')}")
    assert not any(item.expr.sql == "UPPER(k)" for leaf in leaves(found) for item in leaf.items)


def test_equal_expressions_are_made_once() -> None:
    found = made(f"SELECT x * 2 AS p, x * 2 + y AS q, y {PAIR.format('JOIN')} WHERE x * 2 > y")
    assert [item.expr.sql for item in leaves(found)[0].items].count("x * 2") == 1


def test_subqueries_that_pick_rows_become_leaves() -> None:
    found = made(
        "SELECT n, y FROM (SELECT k, x + 1 AS n FROM (SELECT * FROM s [RANGE 1 MINUTE] WHERE v > 1) p) a"
        " JOIN t [RANGE 1 MINUTE] b ON a.k = b.k WHERE n > 5"
    )
    assert wheres(found)[0] == "v > 1 AND x + 1 > 5"
    assert [item.expr.sql for item in leaves(found)[0].items] == ["k", "x + 1"]


def test_a_condition_on_a_key_is_asked_of_rows() -> None:
    found = made(f"SELECT a.k, COUNT(*) AS n {PAIR.format('JOIN')} GROUP BY a.k HAVING a.k > 'A' AND n > 1")
    assert (wheres(found)[0], kept(found)) == ("k > 'A'", ["_a0 > 1"])


def test_nothing_is_asked_of_rows_where_there_is_one_group() -> None:
    found = made(f"SELECT COUNT(*) AS n {PAIR.format('JOIN')} HAVING 1 = 2")
    assert (wheres(found), kept(found)) == (["", ""], ["1 = 2"])


def test_below_a_window_over_a_result_all_columns_stay() -> None:
    found = made(
        "SELECT n FROM (SELECT k, v AS n FROM s [RANGE 1 MINUTE] EXCEPT SELECT k, w FROM t [RANGE 1 MINUTE])"
        " [RANGE 5 MINUTES] e"
    )
    lasting = next(node for node in walk(found) if isinstance(node, Lasting))
    assert [one.name for one in columns(lasting)] == ["k", "n"]


def test_rows_that_are_only_counted_have_a_column() -> None:
    found = made(f"SELECT COUNT(*) AS n {PAIR.format('CROSS JOIN').replace(' ON a.k = b.k', '')}")
    assert [len(leaf.items) for leaf in leaves(found)] == [1, 1]
    assert next(node for node in walk(found) if isinstance(node, Grouped)).keys == ()


def test_a_comma_gets_the_condition() -> None:
    found = made("SELECT x, y FROM s [RANGE 1 MINUTE] a, t [RANGE 1 MINUTE] b WHERE a.k = b.k AND b.w < a.v")
    paired = next(node for node in walk(found) if isinstance(node, Paired))
    assert paired.on == parse_expression("_s0_k = _s1_k AND _s1_w < _s0_v")


def test_the_rule_for_nulls_stays_to_be_seen() -> None:
    found = made("SELECT k FROM s [RANGE 1 MINUTE] WHERE k NOT IN (SELECT k FROM t [RANGE 1 MINUTE])")
    whether = next(node for node in walk(found) if isinstance(node, Whether))
    assert whether.on == parse_expression("_s0_k = _s1_k OR _s0_k IS NULL OR _s1_k IS NULL")


def test_a_relation_that_speaks_of_what_is_not_there_is_a_bug() -> None:
    leaf = Rows("s", (Named("_s0_k", expr(column("k")), "string"),), None, None)
    with pytest.raises(Bug, match="not below it"):
        check_relation(Kept(leaf, parse_expression("_s0_v > 1")))
