"""Queries that are known from another one are what they would be if they were read."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import Errors
from weft.lang import parse
from weft.lang.alike import Alike
from weft.lang.parse import parse_program
from weft.lang.patterns import Filled
from weft.lang.queries import create_query
from weft.lang.statements import CreateQuery, CreateRelation, Expr, LaterExpr
from weft.plan.bind import bind_program

SELECTS = (
    "SELECT symbol, SUM(price * qty) / SUM(qty) AS vwap FROM trades {} WHERE qty > 0 GROUP BY symbol",
    "SELECT symbol, window_end, COUNT(*) FILTER (WHERE qty > 5) AS n FROM trades {} t\n"
    "  WHERE t.price > 1 AND symbol IN ('A', 'B') GROUP BY symbol HAVING n > 1 ORDER BY n DESC LIMIT 3",
    "SELECT EXTRACT(HOUR FROM ts) AS h, MAX(tags[0]) AS m FROM trades {} GROUP BY EXTRACT(HOUR FROM ts)",
    "SELECT COUNT(*) AS n FROM trades {}",
)
WINDOWS = ("[RANGE 1 MINUTE]", "[RANGE 5 MINUTES SLIDE 10 SECONDS]", "", "[RANGE 1 MINUTE]")
QUOTED = "[RANGE INTERVAL '7' MINUTE]"
TEXT = "\n".join(
    f"CREATE QUERY q{at}_{number} AS {text.format(window)};"
    for at, window in enumerate(WINDOWS)
    for number, text in enumerate(SELECTS)
)


def test_they_are_what_they_would_be_if_they_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    known = parse_program(TEXT)
    monkeypatch.setattr(Alike, "query", lambda *_: None)
    read = parse_program(TEXT)
    assert known == read
    assert sum(isinstance(found, LaterExpr | Filled) for one in known for found in expressions(one)) == 30
    for one, other in zip(known, read, strict=True):
        assert [told(found) for found in expressions(one)] == [told(found) for found in expressions(other)]
        assert places(one) == places(other)


def expressions(statement: Any) -> Iterator[Expr]:
    assert isinstance(statement, CreateQuery)
    chosen = statement.select
    yield from (item.expr for item in chosen.items)
    yield from chosen.group_by
    yield from (key.expr for key in chosen.order_by)
    yield from (found for found in (chosen.where, chosen.having) if found is not None)


def told(found: Expr) -> list[object]:
    """All that an expression says, and where."""
    return [found.sql, found.place, *((type(node), node.meta) for node in found.tree.walk())]


def places(statement: Any) -> list[object]:
    source, sink = statement.select.source, statement.sink
    of_source = [source.place, source.window and source.window.place]
    return [statement.place, statement.select.place, *of_source, sink and sink.place]


STRINGS = ("A", "b c", "1", "x;y", "it''s", "a -- b", "/* c", "AND", "[1]", "\\n", "", "two\nlines")
NUMBERS = ("0", "7", "12", "5.25", "10.5", "20.5", "3000000000", "1e3", "2L", ".5", "007")
INDENTED = "    -- a comment\n" * 40 + " " * 400
LEADS = ("", "\n", "\n-- a comment; with a semicolon\n", " /* another */ ", "\n-- old\r", "\r\n", INDENTED)
NAMES = ("a", "b1", "second_one", "c", "longer_than_others", "`quoted`", "all", "window_end", "with")
ASKED = (
    "symbol = {text}", "qty > {number}", "qty > {number} AND venue <> {text}", "qty > 2 * {number}",
    "venue IN ({text}, {other})", "{other} = 5 AND t.price <= {number}", "qty BETWEEN 1 AND {number}",
)  # fmt: skip
WHATS = (
    "SUM(qty + {number}) AS x",
    "COUNT(*) FILTER (WHERE venue = {text}) AS x, MAX(tags[1]) AS y",
    "MIN(tags[{number}])",
    "MAX(named[{text}]) AS x",
    "MAX(symbol IS DISTINCT FROM {text}) AS x",
)
TAILS = (
    "",
    " INTO noop",
    " RETAIN 7 DAYS\n  INTO json OPTIONS ('path' = {text})",
    " RETAIN {number} DAYS",
    " INTO csv OPTIONS (path = {text})",
)


def mostly(these: tuple[str, ...], others: tuple[str, ...]) -> st.SearchStrategy[str]:
    """One of the first, four times out of five."""
    return st.sampled_from(these * (4 * len(others)) + others * len(these))


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Some queries of each of some forms."""
    values = st.fixed_dictionaries(
        {
            "lead": mostly(("", "\n"), LEADS),
            "name": mostly(("a", "longer_than_others"), NAMES),
            "window": mostly(WINDOWS, (QUOTED, "[RANGE UNBOUNDED]", "[ROWS 1]")),
            "text": mostly(("A", "b c"), STRINGS).map("'{}'".format),
            "other": mostly(("A", "x;y"), STRINGS).map("'{}'".format),
            "number": mostly(("7", "12"), NUMBERS),
        }
    )
    found = []
    for _ in range(draw(st.integers(1, 2))):
        what, asked, tail = (draw(st.sampled_from(each)) for each in (WHATS, ASKED, TAILS))
        form = f"{{lead}}CREATE QUERY {{name}} AS SELECT symbol, {what} FROM trades {{window}} t"
        form += f" WHERE {asked} GROUP BY symbol{tail};"
        found += [form.format(**one) for one in draw(st.lists(values, min_size=2, max_size=6))]
    return "".join(found)


@given(programs())
def test_random_ones_are_what_they_would_be_if_they_were_read(text: str) -> None:
    known = parse.read_program(text)
    with patch.object(Alike, "query", lambda *_: None):
        read = parse.read_program(text)
    for one, other in zip(known, read, strict=True):
        if isinstance(one, CreateQuery) and isinstance(other, CreateQuery):
            assert one == other
            assert [*map(told, expressions(one))] == [*map(told, expressions(other))]
            assert places(one) == places(other)
        elif isinstance(one, parse.Unread) and isinstance(other, parse.Unread):
            assert str(one.error) == str(other.error)
        else:
            assert one == other


@pytest.mark.parametrize("statement", ["DROP QUERY a", "SHOW QUERIES", "EXPLAIN ALL"])
def test_what_is_no_query_is_known_behind_many_blanks(statement: str) -> None:
    """To tell that it is none once took twice as long with each blank."""
    assert parse.read_program(f"{INDENTED}{statement};") == parse.read_program(f"{statement};")


@pytest.mark.parametrize("window", ["[RANGE {} MINUTES]", "[RANGE INTERVAL '{}' MINUTES]"])
@pytest.mark.parametrize(
    "behind",
    ["INTO json OPTIONS ('path' = 'out/{}')", "INTO json OPTIONS (path = 'out/{}')", "RETAIN {} DAYS", ""],
)
def test_of_many_alike_one_is_read(monkeypatch: pytest.MonkeyPatch, window: str, behind: str) -> None:
    read: list[str] = []
    monkeypatch.setattr(
        parse, "create_query", lambda cursor: read.append(cursor.word()) or create_query(cursor)
    )
    text = "".join(
        f"-- rule {at}\nCREATE QUERY q{at} AS SELECT symbol, SUM(qty) AS s FROM trades {window.format(at)} "
        f"WHERE venue = 'v{at}' AND qty > {at} GROUP BY symbol {behind.format(at)};\n"
        for at in range(1, 50)
    )
    assert len(parse_program(text)) == 49
    assert read == ["Q1"]


def test_they_are_sent_as_if_they_were_read() -> None:
    known = [found for one in parse_program(TEXT) for found in expressions(one)]
    sent = pickle.loads(pickle.dumps(known))
    assert sent == known
    assert {type(found) for found in sent} == {Expr}


def test_what_is_wrong_with_each_is_told_where_it_stands() -> None:
    wrong = "SELECT nothing, COUNT(*) AS n FROM trades {} GROUP BY nothing"
    stream = "CREATE STREAM trades (a INT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND FROM rate;\n"
    queries = [f"CREATE QUERY q{at} AS {wrong.format(window)};" for at, window in enumerate(WINDOWS)]
    with pytest.raises(Errors) as caught:
        bind_program(parse_program(stream + "\n".join(queries)))
    assert sorted({error.at.line for error in caught.value.errors if error.at}) == [2, 3, 4, 5]


def test_a_window_that_is_wrong_is_told() -> None:
    good, bad = (f"CREATE QUERY {name} AS {SELECTS[0]};\n" for name in ("good", "bad"))
    text = good.format("[RANGE 1 MINUTE]") + bad.format("[RANGE 1 MINUT]") + bad.format("[SLIDE 1 MINUTE]")
    errors = [one.error for one in parse.read_program(text) if isinstance(one, parse.Unread)]
    assert [(error.at.line if error.at else 0) for error in errors] == [2, 3]


@pytest.mark.parametrize("window", ["[RANGE UNBOUNDED]", "[RANGE 1 MINUTE INTERNAL]"])
def test_one_whose_window_makes_it_a_relation_is_not_like_a_plain_one(window: str) -> None:
    text = "".join(
        f"CREATE QUERY q{at} AS {SELECTS[3].format(each)};" for at, each in enumerate((*WINDOWS, window))
    )
    *plain, other = parse_program(text)
    assert {type(one) for one in plain} == {CreateQuery}
    assert isinstance(other, CreateRelation)


def test_what_is_read_later_keeps_no_tokens():
    """Of five thousand queries the tokens were more than all else that is held of them."""
    text = "".join(
        f"CREATE QUERY q{at} AS SELECT symbol, SUM(qty) FROM trades [RANGE {at + 1} SECONDS] "
        "GROUP BY symbol;\n"
        for at in range(300)
    )
    tracemalloc.start()
    try:
        statements = parse_program(text)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 5000 * len(statements)
