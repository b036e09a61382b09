"""Canonical text of expressions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from weft.errors import Place
from weft.lang.expressions import expr, place_of
from weft.lang.functions import BUILDERS, TYPED
from weft.lang.parse import parse_expression, parse_select
from weft.plan.functions import known_functions

OPERATORS = ["+", "-", "*", "/", "%", "DIV", "||", "&", "|", "^", "=", "<>", "<", "<=>", "AND", "OR"]


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("a+b", "a + b"),
        ("((a + b))", "a + b"),
        ("(a + b) * c", "(a + b) * c"),
        ("(a * b) + c", "a * b + c"),
        ("a - (b - c)", "a - (b - c)"),
        ("(a - b) - c", "a - b - c"),
        ("(a AND b) OR c", "a AND b OR c"),
        ("a AND (b OR c)", "a AND (b OR c)"),
        ("NOT (a = b)", "NOT a = b"),
        ("(NOT a) = b", "(NOT a) = b"),
        ("(a = b) IS NULL", "a = b IS NULL"),
        ("a = (b IS NULL)", "a = (b IS NULL)"),
        ("(a | b) & c", "(a | b) & c"),
        ("a | (b & c)", "a | b & c"),
        ("-(a)", "-a"),
        ("-(-a)", "- -a"),
        ("-(a + b)", "-(a + b)"),
        ("a <=> b", "a <=> b"),
        ("a IS NOT DISTINCT FROM b", "a <=> b"),
        ("a IS DISTINCT FROM b = c", "a IS DISTINCT FROM (b = c)"),
        ("sum((a))", "SUM(a)"),
        ("count( distinct  (a) )", "COUNT(DISTINCT a)"),
        ("case when (a) then (b) end", "CASE WHEN a THEN b END"),
        ("x between (1) and (2 + 3)", "x BETWEEN 1 AND 2 + 3"),
        ("x in ((1), (2))", "x IN (1, 2)"),
        ("(a + b)[0]", "(a + b)[0]"),
        ("(st).a", "st.a"),
        ("a /* why */ + b -- so", "a + b"),
        ("a::int", "CAST(a AS INT)"),
        ("1L", "CAST(1 AS BIGINT)"),
        ("-128Y", "CAST(-128 AS TINYINT)"),
        ("+a", "POSITIVE(a)"),
        ("+1", "1"),
        ("'it''s'", "'it\\'s'"),
        ("`price` + `odd name` + `date` + `select`", "price + `odd name` + `date` + `select`"),
        ("log10(x)", "LOG10(x)"),
        ("date_trunc('hour', ts)", "DATE_TRUNC('hour', ts)"),
        ("dateadd(day, 1, ts)", "DATEADD(DAY, 1, ts)"),
        ("MEAN(x)", "AVG(x)"),
        ("nvl(a, b)", "COALESCE(a, b)"),
        ("first(x, true)", "FIRST(x) IGNORE NULLS"),
        ("first(x, false)", "FIRST(x)"),
        ("any(b)", "BOOL_OR(b)"),
        ("variance(x)", "VAR_SAMP(x)"),
        ("percentile_approx(x, 0.5)", "APPROX_PERCENTILE(x, 0.5)"),
        ("ts - INTERVAL 1 HOUR 30 MINUTES", "ts - (INTERVAL '1' HOUR + INTERVAL '30' MINUTES)"),
        ("transform(arr, x -> (x + y))", "TRANSFORM(arr, x -> x + y)"),
    ],
)
def test_canonical(written: str, canonical: str) -> None:
    found = parse_expression(written)
    assert found.sql == canonical
    assert parse_expression(canonical) == found


def test_case_of_names_is_kept() -> None:
    assert parse_expression("Price + t.QTY").sql == "Price + t.QTY"


def test_units_and_lambda_variables_are_no_columns() -> None:
    for text in ("dateadd(DAY, 1, ts)", "transform(ts, x -> x + 1)", "extract(day FROM ts)"):
        assert [column.name for column in parse_expression(text).tree.find_all(exp.Column)] == ["ts"]


def test_expr_copies_and_puts_parentheses_where_a_built_tree_needs_them() -> None:
    tree = exp.Mul(this=exp.Add(this=exp.column("a"), expression=exp.column("b")), expression=exp.column("c"))
    assert expr(tree).sql == "(a + b) * c"
    assert not tree.find(exp.Paren)
    negated = exp.Not(this=exp.Or(this=exp.column("a"), expression=exp.column("b")))
    assert expr(negated).sql == "NOT (a OR b)"


def test_names_a_program_builds_are_quoted_where_they_must_be() -> None:
    assert expr(exp.column("select")).sql == "`select`"
    assert expr(exp.column("odd name")).sql == "`odd name`"
    assert expr(exp.column("a`b")).sql == "`a``b`"
    assert expr(exp.column("date")).sql == "date"


def test_the_place_of_a_part_is_found_inside_the_whole() -> None:
    where = parse_select("SELECT a FROM t WHERE x > 1 AND\n lenght(name) = 2").where
    assert where is not None
    call = where.tree.find(exp.Anonymous)
    assert call is not None
    assert place_of(call) == Place("<text>", 2, 2, 12, " lenght(name) = 2")
    assert place_of(call.expressions[0]) == Place("<text>", 2, 9, 4, " lenght(name) = 2")
    assert place_of(exp.column("new")) is None


def test_a_place_that_is_given_is_taken() -> None:
    place = Place("f", 1, 1, 1, "x")
    assert expr(exp.column("a"), place).place == place


OWN_SYNTAX = {"between", "case", "cast", "try_cast", "extract", "in", "not", "when"}
CALLED = sorted(name for name in known_functions() if name.isidentifier() and name not in OWN_SYNTAX)


@pytest.mark.parametrize("name", CALLED)
def test_every_function_of_spark_keeps_its_name_and_arguments(name: str) -> None:
    function = known_functions()[name]
    least = max(function.least, 3 if name == "if" else 0)
    most = max(least, min(function.most if function.most is not None else 6, 6))
    for count in range(least, most + 1):
        args = ", ".join("abcdef"[:count])
        written = f"{name.upper()}({args})"
        found = parse_expression(written)
        expected = TYPED.get(name.upper())
        if expected is None and name.upper() not in BUILDERS:
            assert found.sql == written
        else:
            assert found.sql.lower().endswith(f"({args})")
        assert parse_expression(found.sql) == found


def test_a_call_with_a_wrong_number_of_arguments_loses_none() -> None:
    for written in (
        "SUM(a, b)",
        "SUM()",
        "COUNT()",
        "MIN_BY(a)",
        "ROUND(a, b, c)",
        "FIRST(a, b)",
        "TRIM(a, b)",
    ):
        assert parse_expression(written).sql == written


def _expressions() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(
        [
            "a",
            "t.b",
            "`odd name`",
            "1",
            "1.5",
            "2L",
            "'x'",
            "'it''s'",
            "NULL",
            "TRUE",
            "DATE '2024-01-01'",
            "-3",
        ]
    )

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        binary = st.tuples(inner, st.sampled_from(OPERATORS), inner)
        return st.one_of(
            binary.map(lambda parts: f"{parts[0]} {parts[1]} {parts[2]}"),
            binary.map(lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"),
            inner.map("({})".format),
            inner.map("-({})".format),
            inner.map("(NOT {})".format),
            inner.map("(({}) IS NOT NULL)".format),
            inner.map("CAST({} AS DECIMAL(10, 2))".format),
            st.tuples(inner, inner).map(lambda parts: f"coalesce({parts[0]}, {parts[1]})"),
            st.tuples(inner, inner).map(lambda parts: f"nonsense({parts[0]}, {parts[1]})"),
            st.tuples(inner, inner).map(lambda parts: f"CASE WHEN {parts[0]} THEN {parts[1]} END"),
            st.tuples(inner, inner).map(lambda parts: f"(({parts[0]}) IN ({parts[1]}, 1))"),
            st.tuples(inner, inner).map(lambda parts: f"(({parts[0]}) LIKE ({parts[1]}))"),
            st.tuples(inner, inner).map(lambda parts: f"(({parts[0]}) NOT BETWEEN 1 AND ({parts[1]}))"),
        )

    return st.recursive(leaves, extend, max_leaves=12)


@given(_expressions())
def test_canonical_text_reads_as_itself(written: str) -> None:
    found = parse_expression(written)
    again = parse_expression(found.sql)
    assert again == found
    assert again.tree == found.tree


@given(_expressions())
def test_parentheses_around_everything_change_nothing(written: str) -> None:
    """The canonical tree says the same as the one with a parenthesis around every node."""
    found = parse_expression(written)
    wrapped = found.tree.copy()
    for node in list(wrapped.walk()):
        if isinstance(node, exp.Binary) and node is not wrapped and not isinstance(node.parent, exp.Paren):
            node.replace(exp.Paren(this=node.copy()))
    assert expr(wrapped) == found
