"""parse(print(s)) == s for every statement."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from weft.lang.clauseprinter import print_duration
from weft.lang.cursor import RESERVED, RESERVED_PREFIX
from weft.lang.parse import parse_expression, parse_program
from weft.lang.printer import print_statement
from weft.lang.statements import (
    ColumnDef,
    CreateQuery,
    CreateStream,
    DropQuery,
    Explain,
    Expr,
    Item,
    OrderKey,
    Select,
    ShowQueries,
    ShowStreams,
    Sink,
    Source,
    Statement,
    WindowSpec,
)

EXPRESSIONS = [
    "a", "t.b", "a + b * c", "SUM(price * qty) / SUM(qty)", "COUNT(*)", "COUNT(DISTINCT x)", "window_end",
    "AVG(x) FILTER (WHERE y > 1)", "CASE WHEN a THEN b ELSE 'it''s' END", "x[0].y", "NOT a OR b AND c",
    "ts - INTERVAL 1 DAY",
    "`odd name` || '\\\\ \\n \"'", "transform(a, x -> x + 1)", "a LIKE '%\\%' ESCAPE '!'",
    "emit", "retain > 5", "(emit)", "range", "first(x) IGNORE NULLS", "date '2024-01-01'", "-128Y", "1.50BD",
]  # fmt: skip

plain_names = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True),
    st.sampled_from(["select", "from", "date", "emit", "into", "range", "order", "create", "left", "values"]),
).filter(lambda name: name.lower() not in (*RESERVED, "all") and not name.lower().startswith(RESERVED_PREFIX))
names = st.one_of(
    plain_names, st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=8)
).filter(lambda name: name.lower() not in RESERVED and not name.lower().startswith(RESERVED_PREFIX))
durations = st.integers(1, 10**15)
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00\x1a"), max_size=12)
formats = st.one_of(
    st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True), st.just("org.apache.Thing"), st.just("delta-x")
)
options = st.dictionaries(texts.filter(bool), texts, max_size=3).map(
    lambda found: tuple(sorted(found.items()))
)
expressions: st.SearchStrategy[Expr] = st.sampled_from(EXPRESSIONS).map(parse_expression)
types = st.sampled_from(
    [
        "int",
        "bigint",
        "decimal(10,2)",
        "string",
        "timestamp",
        "timestamp_ntz",
        "array<int>",
        "struct<a:int,`b c`:date>",
    ]
)


@st.composite
def windows(draw: st.DrawFn) -> WindowSpec:
    slide = draw(durations)
    return WindowSpec(draw(durations), slide, draw(st.integers(0, slide - 1)))


def _aggregated(select: Select) -> Select:
    """Over a window there is an aggregate; rows of a window as they are make another statement."""
    made = replace(select, items=(*select.items, Item(parse_expression("COUNT(*)"))))
    return made if select.source.window is not None else select


selects = st.builds(
    Select,
    items=st.lists(st.builds(Item, expressions, st.none() | names), min_size=1, max_size=3).map(tuple),
    source=st.builds(Source, plain_names, st.none() | windows(), st.none() | names),
    where=st.none() | expressions,
    group_by=st.lists(expressions, max_size=2).map(tuple),
    having=st.none() | expressions,
    order_by=st.lists(st.builds(OrderKey, expressions, st.booleans(), st.booleans()), max_size=2).map(tuple),
    limit=st.none() | st.integers(0, 10**9),
).map(_aggregated)
queries = st.builds(
    CreateQuery,
    name=plain_names,
    select=selects,
    sink=st.none() | st.builds(Sink, formats, options),
    emit_empty=st.booleans(),
    fail_on_error=st.booleans(),
    retain=st.none() | durations,
)
columns = st.one_of(st.builds(ColumnDef, names, types), st.builds(ColumnDef, names, st.none(), expressions))
streams = st.builds(
    CreateStream,
    name=plain_names,
    columns=st.lists(columns, min_size=1, max_size=4, unique_by=lambda column: column.name.lower()).map(
        tuple
    ),
    time_column=names,
    delay=st.integers(0, 10**15),
    format=formats,
    options=options,
    idle_after=st.none() | durations,
    max_ahead=st.none() | st.integers(0, 10**15),
    keep_late=st.booleans(),
)
statements: st.SearchStrategy[Statement] = st.one_of(
    queries,
    streams,
    st.builds(DropQuery, plain_names),
    st.builds(Explain, st.none() | plain_names, st.booleans()),
    st.just(ShowStreams()),
    st.just(ShowQueries()),
)


@given(statements)
def test_printed_statements_read_as_themselves(statement: Statement) -> None:
    assert parse_program(print_statement(statement)) == (statement,)


@given(st.lists(statements, max_size=4))
def test_a_program_is_its_statements_one_after_the_other(program: list[Statement]) -> None:
    text = ";\n".join(print_statement(statement) for statement in program)
    assert parse_program(text) == tuple(program)


def test_lengths_are_printed_in_the_units_that_say_them_shortest() -> None:
    assert print_duration(90_000_000) == "1 MINUTE 30 SECONDS"
    assert print_duration(0) == "0 SECONDS"
    assert print_duration(86_400_000_000 * 14 + 1) == "14 DAYS 1 MICROSECOND"


def test_a_query_prints_a_line_for_each_clause() -> None:
    (query,) = parse_program(
        "create query q as select sym, sum(x) s from t [range 1 minute slide 10 seconds] where x>1"
        " group by sym having count(*)>2 order by s desc limit 3 emit empty into json options (b='2', a='1')"
    )
    assert print_statement(query) == (
        "CREATE QUERY q AS\n"
        "SELECT sym, SUM(x) AS s\n"
        "FROM t [RANGE 1 MINUTE SLIDE 10 SECONDS]\n"
        "WHERE x > 1\n"
        "GROUP BY sym\n"
        "HAVING COUNT(*) > 2\n"
        "ORDER BY s DESC\n"
        "LIMIT 3\n"
        "EMIT EMPTY\n"
        "INTO json OPTIONS ('a' = '1', 'b' = '2')"
    )


def test_a_filter_is_printed_before_ignore_nulls_however_that_was_written():
    written = "FIRST(x, true) FILTER (WHERE y > 1)"
    canonical = "FIRST(x) FILTER(WHERE y > 1) IGNORE NULLS"
    assert parse_expression(written).sql == canonical
    assert parse_expression(canonical).sql == canonical
