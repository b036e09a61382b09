"""Queries over several sources: what their text means."""

from __future__ import annotations

import pytest

from weft.lang.bodies import Emission
from weft.lang.parse import parse_program
from weft.plan.bind import bind_program
from weft.plan.nodes import Column, Program, Project, Query, Related
from weft.plan.opens import open_expressions
from weft.plan.relations import AsOf, Distinct, Emitted, Entries, Kept, Lasting, Made, Paired, Rows, Whether
from weft.plan.relationtree import columns, streams, tables, walk
from weft.plan.rows import type_key
from weft.plan.tree import schema
from weft.times import MINUTE, SECOND

HEAD = """
CREATE STREAM s (k STRING, v INT, tags ARRAY<STRING>, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND FROM rate;
CREATE STREAM t (k STRING, w DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND FROM rate;
CREATE TABLE names (k STRING, name STRING) FROM csv;
CREATE VIEW small AS SELECT k, v FROM s [RANGE 1 MINUTE] WHERE v < 10;
"""


def program(text: str, types: dict[str, str] | None = None) -> Program:
    return bind_program(parse_program(HEAD + text), types)


def query(text: str, types: dict[str, str] | None = None) -> Query:
    return program(f"CREATE QUERY q AS {text}", types).queries[0]


def relation(text: str) -> Emitted:
    plan = query(text).plan
    assert isinstance(plan, Related)
    assert isinstance(plan.relation, Emitted)
    return plan.relation


@pytest.mark.parametrize(
    ("text", "emission", "names"),
    [
        ("SELECT v FROM s [RANGE 1 MINUTE]", Emission.LIVES, "valid_from valid_to v"),
        ("SELECT ISTREAM(v) FROM s [RANGE 1 MINUTE]", Emission.ISTREAM, "valid_from v"),
        ("SELECT DSTREAM(v) FROM s [RANGE 1 MINUTE]", Emission.DSTREAM, "valid_to v"),
        ("SELECT v FROM s [RANGE 1 MINUTE] EMIT CHANGES", Emission.CHANGES, "change changed_at v"),
        ("SELECT v FROM s [RANGE 1 MINUTE SLIDE 1 SECOND]", Emission.RSTREAM, "window_start window_end v"),
        (
            "SELECT window_end, v FROM s [RANGE 1 MINUTE SLIDE 1 SECOND]",
            Emission.RSTREAM,
            "window_start window_end v",
        ),
    ],
)
def test_what_is_told_has_columns_of_its_own(text: str, emission: Emission, names: str) -> None:
    found = query(text).plan
    assert isinstance(found, Related)
    assert isinstance(found.relation, Emitted)
    assert found.relation.emission is emission
    assert [column.name for column in schema(found)] == names.split()


def test_equal_queries_are_equal_whatever_their_sources_are_called() -> None:
    one = relation("SELECT a.v, b.w FROM s [RANGE 1 MINUTE] a JOIN t [RANGE 1 MINUTE] b ON a.k = b.k")
    other = relation("SELECT v, w FROM s [RANGE 60 SECONDS] JOIN t [RANGE 1 MINUTE] ON s.k = t.k")
    assert one == other


def test_star_shows_what_using_joins_once_and_first() -> None:
    found = relation("SELECT * FROM s [RANGE 1 MINUTE] RIGHT JOIN t [RANGE 1 MINUTE] USING (ts, k)")
    made = found.source
    assert isinstance(made, Made)
    assert [(item.name, item.expr.sql) for item in made.items] == [
        ("ts", "_s1_ts"), ("k", "_s1_k"), ("v", "_s0_v"), ("tags", "_s0_tags"), ("w", "_s1_w"),
    ]  # fmt: skip


def test_star_of_one_source() -> None:
    found = relation("SELECT y.*, x.v FROM s [RANGE 1 MINUTE] x JOIN t [RANGE 1 MINUTE] y ON x.k = y.k")
    assert [column.name for column in columns(found.source)] == ["k", "w", "ts", "v"]


def test_a_full_join_shows_the_key_of_either_side() -> None:
    found = relation("SELECT k FROM s [RANGE 1 MINUTE] FULL JOIN t [RANGE 1 MINUTE] USING (k)")
    assert isinstance(found.source, Made)
    assert found.source.items[0].expr.sql == "COALESCE(_s0_k, _s1_k)"


def test_conditions_inside_exists_are_told_apart() -> None:
    found = relation(
        "SELECT v FROM s [RANGE 1 MINUTE]"
        " WHERE NOT EXISTS (SELECT 1 FROM t [RANGE 1 MINUTE] WHERE k = s.k AND w > 1)"
    )
    whether = next(node for node in walk(found) if isinstance(node, Whether))
    assert whether.on is not None
    assert (whether.on.sql, whether.negated) == ("_s1_k = _s0_k", True)
    assert isinstance(whether.other, Kept)
    assert whether.other.predicate.sql == "_s1_w > 1"


def test_inside_exists_a_name_is_looked_for_inside_first() -> None:
    found = relation(
        "SELECT v FROM s [RANGE 1 MINUTE] WHERE EXISTS (SELECT 1 FROM t [RANGE 1 MINUTE] WHERE ts = s.ts)"
    )
    whether = next(node for node in walk(found) if isinstance(node, Whether))
    assert whether.on is not None
    assert whether.on.sql == "_s1_ts = _s0_ts"


@pytest.mark.parametrize(
    ("word", "on"),
    [("IN", "_s0_k = _s1_k"), ("NOT IN", "_s0_k = _s1_k OR _s0_k IS NULL OR _s1_k IS NULL")],
)
def test_in_follows_the_rule_for_nulls(word: str, on: str) -> None:
    found = relation(f"SELECT v FROM s [RANGE 1 MINUTE] WHERE k {word} (SELECT k FROM t [RANGE 1 MINUTE])")
    whether = next(node for node in walk(found) if isinstance(node, Whether))
    assert whether.on is not None
    assert whether.on.sql == on


def test_a_subquery_that_groups_is_a_source_of_its_own_inside_in() -> None:
    found = relation(
        "SELECT v FROM s [RANGE 1 MINUTE]"
        " WHERE k IN (SELECT k FROM t [RANGE 1 MINUTE] GROUP BY k HAVING COUNT(*) > 1)"
    )
    whether = next(node for node in walk(found) if isinstance(node, Whether))
    assert isinstance(whether.other, Made)
    assert [item.name for item in whether.other.items] == ["_s1_k"]


def test_the_slide_is_that_of_all_windows_and_the_range_the_longest() -> None:
    found = relation(
        "SELECT k FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS OFFSET 3 SECONDS]"
        " EXCEPT SELECT k FROM t [RANGE 5 MINUTES SLIDE 10 SECONDS OFFSET 3 SECONDS]"
    )
    sampled = [node for node in walk(found) if isinstance(node, AsOf)]
    assert [(one.slide, one.offset, one.range) for one in sampled] == [
        (10 * SECOND, 3 * SECOND, 5 * MINUTE)
    ] * 2


def test_a_subquery_is_sampled_where_it_is_used() -> None:
    found = relation(
        "SELECT COUNT(*) AS n FROM (SELECT DISTINCT k FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS]) x"
    )
    kinds = [type(node) for node in walk(found)]
    assert kinds.count(AsOf) == 1
    assert kinds.index(AsOf) < kinds.index(Distinct)


def test_a_window_behind_a_subquery_is_answered_by_itself() -> None:
    found = relation(
        "SELECT SUM(n) AS n"
        " FROM (SELECT COUNT(*) AS n FROM s [RANGE 1 SECOND SLIDE 1 SECOND]) [RANGE 1 MINUTE] x"
    )
    nodes = list(walk(found))
    lasting = next(node for node in nodes if isinstance(node, Lasting))
    assert lasting.range == MINUTE
    assert [nodes.index(node) > nodes.index(lasting) for node in nodes if isinstance(node, AsOf)] == [True]


def test_rows_look_up_a_table_without_being_kept() -> None:
    found = relation("SELECT name FROM s JOIN names n ON s.k = n.k")
    assert (streams(found), tables(found)) == (("s",), ("names",))
    paired = next(node for node in walk(found) if isinstance(node, Paired))
    assert isinstance(paired.left, Rows)
    assert isinstance(paired.right, Entries)
    assert (paired.left.range, paired.right.retroactive) == (None, False)


def test_a_view_is_what_it_says() -> None:
    by_name = relation("SELECT a.k FROM small a JOIN t [RANGE 1 MINUTE] b ON a.k = b.k")
    written = relation(
        "SELECT a.k FROM (SELECT k, v FROM s [RANGE 1 MINUTE] WHERE v < 10) a"
        " JOIN t [RANGE 1 MINUTE] b ON a.k = b.k"
    )
    assert by_name == written


def test_one_view_alone_is_read_as_a_relation() -> None:
    rows, windows = query("SELECT v FROM small"), query("SELECT COUNT(*) AS n FROM small [RANGE 1 MINUTE]")
    assert isinstance(rows.plan, Related)
    assert isinstance(windows.plan, Related)
    assert [column.name for column in schema(windows.plan)] == ["window_start", "window_end", "n"]
    assert isinstance(query("SELECT v FROM s").plan, Project)


def test_a_program_has_tables_and_views_and_goes_on_from_them() -> None:
    first = program("CREATE QUERY a AS SELECT v FROM small")
    more = "CREATE QUERY b AS SELECT name FROM small JOIN names USING (k); DROP QUERY a; DROP VIEW small"
    with pytest.raises(Exception, match="reads view"):
        bind_program(parse_program(more), onto=first)
    second = bind_program(parse_program(more.removesuffix("; DROP VIEW small")), onto=first)
    assert [table.name for table in second.tables] == ["names"]
    assert [view.name for view in second.views] == ["small"]
    assert [one.name for one in second.queries] == ["b"]


def test_sides_of_a_union_get_a_common_type() -> None:
    found = relation("SELECT v FROM s [RANGE 1 MINUTE] UNION ALL SELECT w FROM t [RANGE 1 MINUTE]")
    assert columns(found.source) == (Column("v", "double"),)


def test_spark_is_asked_for_types_over_rows_of_one_stream() -> None:
    text = (
        "SELECT element_at(x.tags, 1) AS a, MAX(element_at(x.tags, 1)) AS m"
        " FROM s [RANGE 1 MINUTE] x JOIN t [RANGE 1 MINUTE] y ON x.k = y.k GROUP BY element_at(x.tags, 1)"
    )
    bound = program(f"CREATE QUERY q AS {text}")
    opened = open_expressions(bound)
    assert {name: [one.sql for one in found] for name, found in opened.items()} == {
        "s": ["ELEMENT_AT(tags, 1)"]
    }
    types = {type_key("s", opened["s"][0]): "string"}
    again = program(f"CREATE QUERY q AS {text}", types)
    assert open_expressions(again, types) == {}
    assert [column.type for column in schema(again.queries[0].plan)][2:] == ["string", "string"]


def test_in_a_self_join_the_type_is_that_of_one_row() -> None:
    text = (
        "CREATE QUERY q AS SELECT array(x.v, y.v) AS a"
        " FROM s [RANGE 1 MINUTE] x JOIN s [RANGE 1 MINUTE] y ON x.k = y.k"
    )
    opened = open_expressions(program(text))
    assert [one.sql for one in opened["s"]] == ["ARRAY(v, v)"]
