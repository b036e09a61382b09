from __future__ import annotations

from tests.unit.plan.programs import STREAM, WINDOW, aggregate_of, program, query
from weft.lang.parse import parse_program
from weft.plan.bind import bind_program
from weft.plan.nodes import Program
from weft.plan.opens import open_expressions
from weft.plan.tree import schema


def texts(bound: Program, types: dict[str, str] | None = None) -> list[str]:
    return [source.sql for source in open_expressions(bound, types).get("trades", ())]


def test_nothing_is_open_where_all_is_told() -> None:
    assert open_expressions(program(f"CREATE QUERY q AS SELECT SUM(qty) AS s FROM trades {WINDOW}")) == {}


def test_what_only_spark_can_tell() -> None:
    bound = program(
        f"""CREATE QUERY q AS SELECT element_at(tags, 1) AS tag, MAX(element_at(tags, 2)) AS m
            FROM trades {WINDOW} WHERE exists(tags, t -> t = 'a') GROUP BY element_at(tags, 1)"""
    )
    assert texts(bound) == ["ELEMENT_AT(tags, 1)", "ELEMENT_AT(tags, 2)"]


def test_types_that_spark_told_are_taken() -> None:
    select = f"SELECT tags[0] AS tag, MAX(tags[1]) AS m FROM trades {WINDOW} GROUP BY tags[0]"
    types = {"trades: tags[0]": "string", "trades: tags[1]": "string"}
    bound = query(select, types)
    assert [column.type for column in schema(bound.plan)] == ["timestamp", "timestamp", "string", "string"]
    assert aggregate_of(bound.plan).aggregations[0].arg_types == ("string",)


def test_what_stands_above_aggregates_is_told_in_terms_of_rows() -> None:
    text = f"""CREATE QUERY q AS SELECT split(MAX(symbol), ',') AS parts, array(SUM(qty)) AS sums
               FROM trades {WINDOW}"""
    bound = program(text)
    assert texts(bound) == ["SPLIT(symbol, ',')", "ARRAY(CAST(NULL AS BIGINT))"]
    types = {
        "trades: SPLIT(symbol, ',')": "array<string>",
        "trades: ARRAY(CAST(NULL AS BIGINT))": "array<bigint>",
    }
    again = program(text, types)
    assert [column.type for column in schema(again.queries[0].plan)][2:] == ["array<string>", "array<bigint>"]
    assert texts(again, types) == []


def test_what_depends_on_an_unknown_sum_waits() -> None:
    text = f"CREATE QUERY q AS SELECT array(SUM(element_at(map('a', 1), symbol))) AS s FROM trades {WINDOW}"
    first = texts(program(text))
    assert first == ["ELEMENT_AT(MAP('a', 1), symbol)"]
    types = {f"trades: {first[0]}": "int"}
    assert texts(program(text, types), types) == ["ARRAY(CAST(NULL AS BIGINT))"]


def test_conditions_are_open_too_and_must_be_conditions() -> None:
    assert texts(program("CREATE QUERY q AS SELECT price FROM trades WHERE element_at(map(1, TRUE), 1)")) == [
        "ELEMENT_AT(MAP(1, TRUE), 1)"
    ]


def test_computed_columns_are_told_in_terms_of_columns_that_are_read() -> None:
    stream = """CREATE STREAM t (tags ARRAY<STRING>, ts TIMESTAMP, a AS tags[0], b AS concat(a, '!'))
                TIMESTAMP BY ts DELAY 1 SECOND FROM rate"""
    bound = bind_program(parse_program(stream))
    assert [source.sql for source in open_expressions(bound)["t"]] == ["tags[0]", "CONCAT(tags[0], '!')"]
    types = {"t: tags[0]": "string", "t: CONCAT(tags[0], '!')": "string"}
    told = bind_program(parse_program(stream), types)
    assert [column.type for column in told.streams[0].columns] == [
        "array<string>",
        "timestamp",
        "string",
        "string",
    ]


def test_one_text_may_have_a_type_for_each_stream() -> None:
    other = STREAM.replace("trades", "orders").replace("ARRAY<STRING>", "ARRAY<INT>")
    text = f"""{other} CREATE QUERY a AS SELECT tags[0] AS t FROM orders;
               CREATE QUERY b AS SELECT tags[0] AS t FROM trades"""
    opened = open_expressions(program(text))
    assert {stream: [one.sql for one in sources] for stream, sources in opened.items()} == {
        "trades": ["tags[0]"], "orders": ["tags[0]"],
    }  # fmt: skip
    bound = program(text, {"trades: tags[0]": "string", "orders: tags[0]": "int"})
    assert [schema(one.plan)[0].type for one in bound.queries] == ["int", "string"]
