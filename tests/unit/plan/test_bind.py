from __future__ import annotations

import pytest

from tests.unit.plan.programs import STREAM, WINDOW, aggregate_of, program, query
from weft.errors import Errors
from weft.lang.parse import parse_program
from weft.plan.bind import bind_program
from weft.plan.nodes import Aggregation, Column
from weft.plan.tree import schema


def aggregations(items: str) -> tuple[Aggregation, ...]:
    return aggregate_of(query(f"SELECT {items} FROM trades {WINDOW}").plan).aggregations


@pytest.mark.parametrize(
    ("item", "type"),
    [
        ("COUNT(*)", "bigint"),
        ("SUM(qty)", "bigint"),
        ("SUM(price)", "double"),
        ("SUM(fee)", "decimal(20,2)"),
        ("AVG(fee)", "decimal(14,6)"),
        ("AVG(qty)", "double"),
        ("MAX(symbol)", "string"),
        ("STDDEV(fee)", "double"),
        ("BOOL_OR(live)", "boolean"),
        ("MAX_BY(ts, price)", "timestamp"),
        ("APPROX_COUNT_DISTINCT(symbol)", "bigint"),
        ("APPROX_PERCENTILE(fee, 0.5)", "decimal(10,2)"),
        ("APPROX_PERCENTILE(qty, array(0.5))", "array<bigint>"),
        ("SUM(fee) / COUNT(*)", "decimal(38,20)"),
        ("SUM(qty) / COUNT(*)", "double"),
        ("MAX(ts) - INTERVAL 1 DAY", "timestamp"),
    ],
)
def test_types_of_answers(item: str, type: str) -> None:
    assert schema(query(f"SELECT {item} AS x FROM trades {WINDOW}").plan)[2] == Column("x", type)


def test_columns_take_their_declared_spelling() -> None:
    (made,) = aggregations("SUM(PRICE * trades.Qty) AS x")
    assert made.args[0].sql == "price * qty"


def test_constant_arguments_are_kept_apart() -> None:
    percentile, many, distinct = aggregations(
        "APPROX_PERCENTILE(price, 0.5) AS a, APPROX_PERCENTILE(price, array(0.1, 0.9), 50) AS b,"
        "APPROX_COUNT_DISTINCT(symbol, 0.02) AS c"
    )
    assert (percentile.params, many.params, distinct.params) == ((0.5, 10_000), ((0.1, 0.9), 50), (0.02,))
    assert [len(made.args) for made in (percentile, many, distinct)] == [1, 1, 1]


def test_arguments_that_cannot_be_null_count_rows() -> None:
    made = aggregations("COUNT(*) AS a, COUNT(1) AS b, COUNT('x') AS c, COUNT(-1, TRUE) AS d")
    assert [(one.function, one.args, one.filter) for one in made] == [("count_star", (), None)]


def test_values_of_every_type_can_be_counted() -> None:
    (made,) = aggregations("COUNT(tags) AS n")
    assert (made.function, made.arg_types, made.type) == ("count", ("array<string>",), "bigint")


def test_a_quoted_name_is_found() -> None:
    stream = (
        "CREATE STREAM t (`group` INT, `a b` INT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND FROM rate;"
    )
    bound = bind_program(parse_program(stream + "CREATE QUERY q AS SELECT `GROUP` + 1 AS x, `a b` FROM t"))
    items = bound.queries[0].plan.items  # type: ignore[union-attr]
    assert [item.expr.sql for item in items] == ["`group` + 1", "`a b`"]
    assert items[1].name == "a b"


def test_fields_of_structs() -> None:
    stream = """CREATE STREAM t (s STRUCT<a: INT, b: STRUCT<c: INT>>, ts TIMESTAMP)
                TIMESTAMP BY ts DELAY 1 SECOND FROM rate;"""
    bound = bind_program(parse_program(stream + "CREATE QUERY q AS SELECT S.a AS x, t.s.b.c AS y FROM t"))
    assert [item.expr.sql for item in bound.queries[0].plan.items] == ["s.a", "s.b.c"]  # type: ignore[union-attr]


def test_variables_of_lambdas_are_no_columns() -> None:
    bound = query("SELECT filter(tags, t -> t <> Symbol) AS x FROM trades")
    assert bound.plan.items[0].expr.sql == "FILTER(tags, t -> t <> symbol)"  # type: ignore[union-attr]


def test_a_dropped_query_is_gone_and_its_name_free() -> None:
    bound = program(
        "CREATE QUERY a AS SELECT price FROM trades; DROP QUERY A;"
        "CREATE QUERY b AS SELECT price FROM trades; CREATE QUERY a AS SELECT qty FROM trades"
    )
    assert [one.name for one in bound.queries] == ["b", "a"]
    assert [column.name for column in schema(bound.queries[1].plan)] == ["qty"]


def test_streams_may_be_declared_after_their_queries() -> None:
    bound = bind_program(parse_program(f"CREATE QUERY a AS SELECT price FROM Trades; {STREAM}"))
    assert bound.stream("trades").statement.time_column == "ts"


def test_a_computed_column_is_in_terms_of_columns_that_are_read() -> None:
    stream = """CREATE STREAM t (ms BIGINT, At AS timestamp_millis(MS), day AS date(at),
                                 next AS date_add(day, 1)) TIMESTAMP BY at DELAY 1 SECOND FROM rate"""
    bound = bind_program(parse_program(stream)).streams[0]
    at, day, after = (made.expr.sql for made in bound.statement.columns if made.expr)
    assert (at, day, after) == ("TIMESTAMP_MILLIS(ms)", f"DATE({at})", f"DATE_ADD({day}, 1)")
    assert bound.statement.time_column == "At"
    assert [column.type for column in bound.columns] == ["bigint", "timestamp", "date", "date"]


def test_equal_text_gives_equal_plans_wherever_it_stands() -> None:
    text = f"SELECT symbol, COUNT(*) AS n FROM trades {WINDOW} WHERE price > 5 GROUP BY symbol"
    one, other = query(text), query("\n\n  " + text.replace(" ", "  "))
    assert one.plan == other.plan


@pytest.mark.parametrize("items", ["nothing", "nothing, nowhere"])
def test_all_errors_are_raised_together(items: str) -> None:
    with pytest.raises(Errors) as caught:
        query(f"SELECT {items} FROM trades")
    assert [error.code for error in caught.value.errors] == ["unknown-column"] * len(items.split(","))


def test_queries_that_differ_in_their_windows_alone() -> None:
    select = "SELECT symbol, COUNT(*) AS n FROM trades {} WHERE price > 5 GROUP BY symbol HAVING n > 1"
    windows = ("[RANGE 5 SECONDS]", "[RANGE 7 SECONDS SLIDE 1 SECOND]", "[RANGE 5 SECONDS]")
    texts = [f"CREATE QUERY q{at} AS {select.format(window)};" for at, window in enumerate(windows)]
    together = program("\n".join(texts)).queries
    assert [one.plan for one in together] == [query(select.format(window)).plan for window in windows]


def test_what_is_wrong_with_many_queries_is_told_of_each_where_it_stands() -> None:
    wrong = "SELECT nothing, COUNT(*) AS n FROM trades {} GROUP BY nothing"
    windows = ("[RANGE 5 SECONDS]", "[RANGE 7 SECONDS]", "")
    text = ";\n".join(f"CREATE QUERY q{at} AS {wrong.format(w)}" for at, w in enumerate(windows))
    with pytest.raises(Errors) as caught:
        bind_program(parse_program(f"{STREAM}{text}"))
    lines = [error.at.line - STREAM.count("\n") for error in caught.value.errors if error.at]
    assert sorted(set(lines)) == [1, 2, 3]


ONE = "CREATE QUERY one AS SELECT symbol FROM trades WHERE price > 5;"
TWO = f"CREATE QUERY two AS SELECT COUNT(*) AS n FROM trades {WINDOW};"


def test_a_program_that_is_told_in_pieces() -> None:
    first = program(ONE)
    both = bind_program(parse_program(TWO), onto=first)
    assert both == program(ONE + TWO)
    assert both.queries[0] is first.queries[0]
    assert both.streams[0] is first.streams[0]


def test_later_pieces_drop_and_replace() -> None:
    both = program(ONE + TWO)
    assert bind_program(parse_program("DROP QUERY ONE;"), onto=both).queries == both.queries[1:]
    again = bind_program(parse_program(f"DROP QUERY one; {ONE.replace('5', '6')}"), onto=both)
    assert [query.name for query in again.queries] == ["two", "one"]
    assert again.queries[1] != both.queries[0]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ONE, "duplicate-name"),
        (ONE.replace("QUERY one", "QUERY Trades"), "duplicate-name"),
        (STREAM, "duplicate-name"),
        ("DROP QUERY three;", "unknown-query"),
        ("EXPLAIN three;", "unknown-query"),
        ("CREATE QUERY three AS SELECT a FROM nowhere;", "unknown-stream"),
    ],
)
def test_later_pieces_are_checked_against_what_is_there(text: str, code: str) -> None:
    with pytest.raises(Errors) as caught:
        bind_program(parse_program(text), onto=program(ONE + TWO))
    assert [error.code for error in caught.value.errors] == [code]
