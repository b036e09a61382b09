"""SELECTs that are known from another one are what they would be if they were read."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from weft.errors import Errors
from weft.lang import parse
from weft.lang.alike import Alike
from weft.lang.parse import parse_program
from weft.lang.patterns import Filled
from weft.lang.select import select
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
TEXT = "\n".join(
    f"CREATE QUERY q{at}_{number} AS {text.format(window)};"
    for at, window in enumerate(WINDOWS)
    for number, text in enumerate(SELECTS)
)


def test_they_are_what_they_would_be_if_they_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    known = parse_program(TEXT)
    monkeypatch.setattr(Alike, "select", lambda _, text, tokens: select(text, tokens))
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
    source = statement.select.source
    return [statement.place, statement.select.place, source.place, source.window and source.window.place]


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
