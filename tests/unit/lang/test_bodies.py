"""Queries over several sources: what they say, and parse(print(s)) == s."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.lang.bodies import (
    Body,
    Combining,
    Emission,
    Exists,
    From,
    FromBody,
    FromJoin,
    FromName,
    JoinKind,
    Output,
    Picking,
    SetKind,
    Span,
)
from weft.lang.parse import parse_expression, parse_program
from weft.lang.printer import print_statement
from weft.lang.statements import (
    ColumnDef,
    CreateQuery,
    CreateRelation,
    CreateTable,
    CreateView,
    DropTable,
    DropView,
    Item,
    OrderKey,
    Statement,
)
from weft.times import MINUTE, SECOND

names = st.sampled_from(["a", "b", "trades", "select", "odd name", "emit", "date"])
plain_names = st.sampled_from(["a", "b", "trades", "emit", "v1"])
scalars = st.sampled_from(
    ["a", "x.b + 1", "a > 1", "a OR b", "CASE WHEN a THEN b END", "COUNT(*)", "`select`"]
)
conditions = st.sampled_from(
    ["x.k = y.k", "a OR b", "a AND b", "NOT a", "a IN (1, 2)", "exists(c, d -> d > 1)"]
)
expressions = scalars.map(parse_expression)
lengths = st.integers(1, 10**12)


@st.composite
def spans(draw: st.DrawFn) -> Span:
    slide = draw(st.none() | lengths)
    offset = draw(st.integers(0, slide - 1)) if slide else 0
    return Span(draw(st.none() | lengths), slide, offset, draw(st.booleans()))


def _froms(bodies: st.SearchStrategy[Body]) -> st.SearchStrategy[From]:
    sources: st.SearchStrategy[From] = st.one_of(
        st.builds(FromName, plain_names, st.none() | spans(), st.none() | names, st.none() | st.booleans()),
        st.builds(FromBody, bodies, st.none() | spans(), st.none() | names),
    )
    return st.recursive(sources, _joins, max_leaves=3)


def _joins(sources: st.SearchStrategy[From]) -> st.SearchStrategy[From]:
    on = conditions.map(parse_expression)
    using = st.lists(names, min_size=1, max_size=2, unique=True).map(tuple)
    kinds = st.sampled_from(JoinKind)
    return st.one_of(
        st.builds(FromJoin, kinds, sources, sources, on),
        st.builds(FromJoin, kinds, sources, sources, st.none(), using),
        st.builds(FromJoin, st.just(JoinKind.INNER), sources, sources),
    )


def _pickings(bodies: st.SearchStrategy[Body]) -> st.SearchStrategy[Picking]:
    return st.builds(
        Picking,
        items=st.lists(st.builds(Item, expressions, st.none() | names), min_size=1, max_size=2).map(tuple),
        source=_froms(bodies),
        where=st.none() | conditions.map(parse_expression),
        exists=st.lists(st.builds(Exists, bodies, st.booleans(), st.none() | expressions), max_size=2).map(
            tuple
        ),
        group_by=st.lists(expressions, max_size=1).map(tuple),
        having=st.none() | expressions,
        order_by=st.lists(st.builds(OrderKey, expressions, st.booleans(), st.booleans()), max_size=1).map(
            tuple
        ),
        limit=st.none() | st.integers(0, 100),
        distinct=st.booleans(),
    )


def _more(bodies: st.SearchStrategy[Body]) -> st.SearchStrategy[Body]:
    return st.one_of(
        _pickings(bodies), st.builds(Combining, st.sampled_from(SetKind), st.booleans(), bodies, bodies)
    )


simple: st.SearchStrategy[Body] = st.builds(
    Picking,
    st.builds(Item, expressions).map(lambda item: (item,)),
    st.builds(FromName, plain_names, st.none() | spans()),
)
bodies = st.recursive(simple, _more, max_leaves=4)
views = st.builds(CreateView, plain_names, bodies)
tables = st.builds(
    CreateTable,
    name=plain_names,
    columns=st.just((ColumnDef("a", "int"), ColumnDef("odd name", "string"))),
    format=st.sampled_from(["csv", "parquet"]),
    options=st.sampled_from([(), (("path", "in"),)]),
    key=st.sampled_from([(), ("a",), ("odd name", "a")]),
    refresh=st.none() | lengths,
    retroactive=st.booleans(),
)
statements: st.SearchStrategy[Statement] = st.one_of(
    views, tables, st.builds(DropView, plain_names), st.builds(DropTable, plain_names)
)


@given(statements)
def test_printed_statements_read_as_themselves(statement: Statement) -> None:
    assert parse_program(print_statement(statement)) == (statement,)


def read(text: str) -> Statement:
    (statement,) = parse_program(f"CREATE QUERY q AS {text}")
    assert parse_program(print_statement(statement)) == (statement,)
    return statement


def body(text: str) -> Picking:
    statement = read(text)
    assert isinstance(statement, CreateRelation)
    assert isinstance(statement.body, Picking)
    return statement.body


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM s",
        "SELECT COUNT(*) FROM s [RANGE 1 MINUTE]",
        "SELECT k FROM s [RANGE 1 MINUTE] GROUP BY k",
        "SELECT concat(a, b) FROM s WHERE a IN (1, 2)",
        "SELECT sum(a, b) FROM s [RANGE 1 MINUTE]",
        "SELECT MAX(tags[0]), EXTRACT(HOUR FROM ts) FROM s [RANGE 1 MINUTE] WHERE unbounded > 1",
    ],
)
def test_a_query_over_one_stream_stays_what_it_is(text: str) -> None:
    assert isinstance(read(text), CreateQuery)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM s [RANGE 1 MINUTE]",
        "SELECT DISTINCT a FROM s [RANGE 1 MINUTE]",
        "SELECT COUNT(*) FROM s [RANGE UNBOUNDED]",
        "SELECT COUNT(*) FROM s [RANGE 1 MINUTE INTERNAL]",
        "SELECT COUNT(*) FROM s [RANGE 1 MINUTE] EMIT CHANGES",
        "SELECT RSTREAM(a) FROM s [RANGE 1 MINUTE]",
        "SELECT a FROM s, t",
        "SELECT a FROM (SELECT a FROM s)",
        "(SELECT a FROM s) UNION ALL (SELECT a FROM t) RETAIN 1 DAY",
        "SELECT a FROM s WHERE a IN (SELECT b FROM t)",
    ],
)
def test_all_else_is_a_relation(text: str) -> None:
    assert isinstance(read(text), CreateRelation)


def test_a_join_says_which_rows_belong_together() -> None:
    found = body(
        "SELECT * FROM s [RANGE 5 MINUTES] x JOIN t [RANGE 1 MINUTE] AS y ON x.k = y.k AND x.v > y.v"
    )
    on = parse_expression("x.k = y.k AND x.v > y.v")
    left, right = FromName("s", Span(5 * MINUTE), "x"), FromName("t", Span(MINUTE), "y")
    assert found.source == FromJoin(JoinKind.INNER, left, right, on)


def test_a_comma_binds_less_than_a_join() -> None:
    found = body("SELECT 1 AS a FROM s, t FULL OUTER JOIN u USING (k, l), v")
    joined = FromJoin(JoinKind.FULL, FromName("t"), FromName("u"), None, ("k", "l"))
    first = FromJoin(JoinKind.INNER, FromName("s"), joined)
    assert found.source == FromJoin(JoinKind.INNER, first, FromName("v"))


def test_parentheses_and_late_conditions_group_joins() -> None:
    in_parentheses = body("SELECT 1 AS a FROM s JOIN (t JOIN u ON t.a = u.a) ON s.a = t.a")
    with_late_condition = body("SELECT 1 AS a FROM s JOIN t JOIN u ON t.a = u.a ON s.a = t.a")
    assert in_parentheses == with_late_condition
    assert isinstance(in_parentheses.source, FromJoin)
    assert isinstance(in_parentheses.source.right, FromJoin)


def test_conditions_on_other_rows_are_told_apart() -> None:
    found = body(
        "SELECT a FROM s"
        " WHERE a > 1 AND NOT EXISTS (SELECT 1 FROM t) AND (b OR c) AND a NOT IN (SELECT b FROM u)"
    )
    assert found.where == parse_expression("a > 1 AND (b OR c)")
    first, second = found.exists
    assert (first.negated, first.operand) == (True, None)
    assert (second.negated, second.operand) == (True, parse_expression("a"))


def test_intersect_binds_tighter_than_union() -> None:
    found = read("SELECT a FROM s UNION ALL SELECT a FROM t INTERSECT SELECT a FROM u MINUS SELECT a FROM v")
    assert isinstance(found, CreateRelation)
    assert isinstance(found.body, Combining)
    assert (found.body.kind, found.body.all) == (SetKind.EXCEPT, False)
    left = found.body.left
    assert isinstance(left, Combining)
    assert isinstance(left.right, Combining)
    assert (left.kind, left.all, left.right.kind) == (SetKind.UNION, True, SetKind.INTERSECT)


def test_what_is_told_stands_around_the_list() -> None:
    found = body("SELECT WSTREAM(DISTINCT a, b AS c) [RANGE 4 SECONDS] FROM s [RANGE 1 MINUTE INTERNAL]")
    assert found.output == Output(Emission.WSTREAM, Span(4 * SECOND))
    assert (found.distinct, [item.alias for item in found.items]) == (True, [None, "c"])
    assert found.source == FromName("s", Span(MINUTE, internal=True))


def test_a_table_may_be_read_as_it_was() -> None:
    found = body("SELECT 1 AS a FROM s JOIN t NONRETROACTIVE AS p ON s.a = p.a JOIN u RETROACTIVE USING (a)")
    assert isinstance(found.source, FromJoin)
    assert found.source.right == FromName("u", nonretroactive=False)
    assert isinstance(found.source.left, FromJoin)
    assert found.source.left.right == FromName("t", alias="p", nonretroactive=True)
