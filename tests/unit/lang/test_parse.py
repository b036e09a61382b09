"""Programs that are right."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.lang.parse import parse_expression, parse_program, parse_select
from weft.lang.statements import (
    CreateQuery,
    CreateRelation,
    CreateStream,
    DropQuery,
    Explain,
    ShowQueries,
    ShowStreams,
    Sink,
    WindowSpec,
)
from weft.times import DAY, HOUR, MILLISECOND, MINUTE, SECOND, WEEK

STREAM = "CREATE STREAM t (a INT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 5 SECONDS FROM rate"


def stream(text: str) -> CreateStream:
    (statement,) = parse_program(text)
    assert isinstance(statement, CreateStream)
    return statement


def query(text: str) -> CreateQuery:
    (statement,) = parse_program(text)
    assert isinstance(statement, CreateQuery)
    return statement


def test_a_stream_with_every_clause() -> None:
    found = stream("""
        create stream Trades (  -- what happened
          symbol STRING NOT NULL COMMENT 'ticker', price DOUBLE, `odd name` DECIMAL(12, 3),
          ts TIMESTAMP, day AS date(ts), half AS (price / 2)
        )
        FROM kafka
          OPTIONS ('value.format' = 'json', subscribe = "trades", maxOffsetsPerTrigger = 1000, x = TRUE)
        KEEP LATE MAX AHEAD 2 HOURS IDLE AFTER '1 minute' DELAY INTERVAL 5 SECONDS TIMESTAMP BY ts
    """)
    assert found.name == "Trades"
    assert [(column.name, column.type) for column in found.columns] == [
        ("symbol", "string"),
        ("price", "double"),
        ("odd name", "decimal(12,3)"),
        ("ts", "timestamp"),
        ("day", None),
        ("half", None),
    ]
    assert [column.expr.sql for column in found.columns if column.expr] == ["DATE(ts)", "price / 2"]
    assert (found.time_column, found.delay, found.format) == ("ts", 5 * SECOND, "kafka")
    assert (found.idle_after, found.max_ahead, found.keep_late) == (MINUTE, 2 * HOUR, True)
    assert found.options == (
        ("maxOffsetsPerTrigger", "1000"),
        ("subscribe", "trades"),
        ("value.format", "json"),
        ("x", "true"),
    )


def test_options_as_spark_writes_them() -> None:
    found = stream(f"{STREAM} OPTIONS (path 'in', 'file.name' 'x', header = TRUE)")
    assert found.options == (("file.name", "x"), ("header", "true"), ("path", "in"))


def test_what_a_stream_leaves_out() -> None:
    found = stream(STREAM)
    assert (found.idle_after, found.max_ahead, found.keep_late, found.options) == (None, DAY, False, ())
    assert stream(STREAM + " MAX AHEAD OFF").max_ahead is None


@pytest.mark.parametrize(
    ("written", "type"),
    [
        ("TINYINT", "tinyint"), ("byte", "tinyint"), ("SMALLINT", "smallint"), ("SHORT", "smallint"),
        ("int", "int"), ("INTEGER", "int"), ("BIGINT", "bigint"), ("LONG", "bigint"), ("FLOAT", "float"),
        ("REAL", "float"), ("DOUBLE", "double"), ("DECIMAL", "decimal(10,0)"), ("DEC(5)", "decimal(5,0)"),
        ("NUMERIC(38,18)", "decimal(38,18)"), ("STRING", "string"), ("BOOLEAN", "boolean"),
        ("BINARY", "binary"), ("DATE", "date"), ("TIMESTAMP", "timestamp"), ("TIMESTAMP_LTZ", "timestamp"),
        ("TIMESTAMP_NTZ", "timestamp_ntz"), ("ARRAY<INT>", "array<int>"),
        ("MAP<STRING, ARRAY<DOUBLE>>", "map<string,array<double>>"),
        ("STRUCT<a: INT, B STRING, `c d`: ARRAY<STRUCT<x: DATE>>>",
         "struct<a:int,B:string,`c d`:array<struct<x:date>>>"),
    ],
)  # fmt: skip
def test_types_have_sparks_simple_names(written: str, type: str) -> None:
    assert stream(STREAM.replace("INT", written, 1)).columns[0].type == type


def test_a_query_with_every_clause() -> None:
    found = query("""
        CREATE QUERY vwap AS
        SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap, COUNT(*) n, window_end
        FROM trades [RANGE 5 MINUTES SLIDE 10 SECONDS OFFSET 3 SECONDS] AS t
        WHERE t.qty > 100 AND venue = 'X'
        GROUP BY symbol, venue
        HAVING COUNT(*) >= 3
        ORDER BY n DESC, symbol NULLS LAST, venue
        LIMIT 10
        INTO Parquet OPTIONS ('path' = 'out/vwap')
        RETAIN 7 DAYS ON ERROR FAIL EMIT EMPTY
    """)
    select = found.select
    assert [(item.expr.sql, item.alias) for item in select.items] == [
        ("symbol", None),
        ("SUM(price * qty) / SUM(qty)", "vwap"),
        ("COUNT(*)", "n"),
        ("window_end", None),
    ]
    assert (select.source.stream, select.source.alias) == ("trades", "t")
    assert select.source.window == WindowSpec(5 * MINUTE, 10 * SECOND, 3 * SECOND)
    assert select.where is not None
    assert select.where.sql == "t.qty > 100 AND venue = 'X'"
    assert [key.sql for key in select.group_by] == ["symbol", "venue"]
    assert select.having is not None
    assert select.having.sql == "COUNT(*) >= 3"
    assert [(key.expr.sql, key.descending, key.nulls_first) for key in select.order_by] == [
        ("n", True, False),
        ("symbol", False, False),
        ("venue", False, True),
    ]
    assert select.limit == 10
    assert found.sink == Sink("parquet", (("path", "out/vwap"),))
    assert (found.emit_empty, found.fail_on_error, found.retain) == (True, True, 7 * DAY)


def test_what_a_query_leaves_out() -> None:
    found = query("CREATE QUERY q AS SELECT * FROM trades")
    assert (found.sink, found.emit_empty, found.fail_on_error, found.retain) == (None, False, False, None)
    assert (found.select.source.window, found.select.limit, found.select.group_by) == (None, None, ())


@pytest.mark.parametrize(
    ("written", "window"),
    [
        ("RANGE 1 HOUR", WindowSpec(HOUR, HOUR)),
        ("RANGE 7 SECONDS SLIDE 3 SECONDS", WindowSpec(7 * SECOND, 3 * SECOND)),
        ("RANGE 1 SECOND SLIDE 1 MINUTE", WindowSpec(SECOND, MINUTE)),
        ("RANGE 1 MICROSECOND", WindowSpec(1, 1)),
        ("RANGE 1 HOUR 30 MINUTES, SLIDE 0.5 SECONDS", WindowSpec(90 * MINUTE, 500 * MILLISECOND)),
        ("range INTERVAL '1' week slide '1 day 2 hours'", WindowSpec(WEEK, DAY + 2 * HOUR)),
        ("RANGE 10 SECONDS OFFSET 25 SECONDS", WindowSpec(10 * SECOND, 10 * SECOND, 5 * SECOND)),
        ("RANGE 10 SECONDS OFFSET -1 SECOND", WindowSpec(10 * SECOND, 10 * SECOND, 9 * SECOND)),
        ("RANGE 1 MINUTE SLIDE 10 SECONDS OFFSET 10 SECONDS", WindowSpec(MINUTE, 10 * SECOND)),
    ],
)
def test_windows(written: str, window: WindowSpec) -> None:
    assert parse_select(f"SELECT COUNT(*) FROM t [{written}]").source.window == window


def test_the_small_statements() -> None:
    text = "DROP QUERY vwap;; show queries; SHOW STREAMS; EXPLAIN vwap; explain all;"
    measured = "EXPLAIN ANALYZE; explain analyze all; EXPLAIN ANALYZE vwap; /* the end */"
    assert parse_program(text + measured) == (
        DropQuery("vwap"), ShowQueries(), ShowStreams(), Explain("vwap"), Explain(None),
        Explain(None, True), Explain(None, True), Explain("vwap", True),
    )  # fmt: skip


def test_nothing_is_a_program() -> None:
    assert parse_program("") == parse_program("\ufeff -- only a comment\n;;") == ()


def test_equality_does_not_depend_on_where_and_how_it_was_written() -> None:
    one = parse_program("CREATE QUERY q AS SELECT sum((a)) AS x FROM t [RANGE 60 SECONDS] WHERE (`b` > 1)")
    other = parse_program(
        "-- moved\n\ncreate query q as\n select SUM(a) x from t [range 1 minute slide 1 minute] where b > 1;"
    )
    assert one == other


@pytest.mark.parametrize("word", ["emit", "retain", "error", "slide", "range", "empty", "options", "delay"])
def test_words_of_the_language_are_good_column_names(word: str) -> None:
    found = query(
        f"CREATE QUERY q AS SELECT {word}, {word} + 1 AS {word} FROM t WHERE {word} > 5 AND x = {word}"
        f" GROUP BY {word}, {word} ORDER BY {word} RETAIN 1 DAY"
    )
    assert found.retain == DAY
    assert found.select.group_by[0].sql == word


def test_places_are_exact() -> None:
    text = "CREATE QUERY q AS\n\tSELECT a + b AS c,\n  SUM(x)\n  FROM trades [RANGE 1 MINUTE] WHERE x > 1"
    select = query(text).select
    place = select.items[0].expr.place
    assert place is not None
    assert (place.line, place.column, place.length) == (2, 9, 5)
    assert place.source == "\tSELECT a + b AS c,"
    assert select.items[1].expr.place is not None
    assert (select.items[1].expr.place.line, select.items[1].expr.place.column) == (3, 3)
    assert select.source.window is not None
    assert select.source.window.place is not None
    assert select.source.window.place.length == len("[RANGE 1 MINUTE]")
    assert select.source.place is not None
    assert select.source.place.column == 8
    assert select.where is not None
    assert select.where.place is not None
    assert select.where.place.length == len("x > 1")


def test_windows_line_ends_do_not_reach_the_source_line() -> None:
    place = query("CREATE QUERY q AS\r\nSELECT a\r\nFROM t").select.items[0].expr.place
    assert place is not None
    assert place.source == "SELECT a"


def test_an_expression_alone() -> None:
    assert parse_expression("a+1").sql == "a + 1"


def test_the_demo_program_reads() -> None:
    demo = Path(__file__).parents[3] / "src" / "weft" / "demo" / "market.sql"
    assert len(parse_program(demo.read_text(), "market.sql")) > 50


@pytest.mark.parametrize(
    "select",
    [
        "COUNT(*) AS n FROM s [RANGE 1 MINUTE] WHERE a IS DISTINCT FROM (1)",
        "COUNT(*) AS n FROM s [RANGE 1 MINUTE] WHERE EXTRACT(HOUR FROM (at)) >= 0",
        "SUM(a) AS n FROM s [RANGE 1 MINUTE] WHERE trim(BOTH 'x' FROM (k)) = 'a'",
        "a IS DISTINCT FROM 1 AS z, COUNT(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY a IS DISTINCT FROM 1",
        "a IS NOT DISTINCT FROM 1 AS z, a FROM s",
        "tags[unbounded] AS tag, COUNT(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY tags[unbounded]",
    ],
)
def test_what_stands_in_expressions_makes_no_query_one_over_relations(select: str) -> None:
    (made,) = parse_program(f"CREATE QUERY q AS SELECT {select};")
    assert isinstance(made, CreateQuery)
    assert made.select.source.stream == "s"


@pytest.mark.parametrize(
    "select",
    [
        "a FROM (SELECT a FROM s [RANGE 1 MINUTE])",
        "COUNT(*) AS n FROM s [RANGE UNBOUNDED]",
        "s.a FROM s [RANGE 1 MINUTE], t [RANGE 1 MINUTE]",
        "a FROM s [RANGE 1 MINUTE] WHERE a IS DISTINCT FROM 1",
        "DISTINCT a FROM s [RANGE 1 MINUTE]",
    ],
)
def test_queries_over_relations(select: str) -> None:
    (made,) = parse_program(f"CREATE QUERY q AS SELECT {select};")
    assert isinstance(made, CreateRelation)
