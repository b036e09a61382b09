"""CREATE STREAM."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot.tokenizer_core import Token

from weft.errors import QueryError
from weft.lang.clauses import Clauses, clauses, format_and_options
from weft.lang.cursor import Cursor
from weft.lang.expressions import expr
from weft.lang.intervals import not_negative, positive
from weft.lang.statements import ColumnDef, CreateStream
from weft.lang.trees import parse_scalar
from weft.lang.types import column_type

_KNOWN = "TIMESTAMP BY, DELAY, IDLE AFTER, MAX AHEAD, KEEP LATE, FROM ... OPTIONS"
_COLUMNS = "list the columns: CREATE STREAM trades (price DOUBLE, ts TIMESTAMP) ..."
_COLUMN = "write name TYPE, or name AS expression"
_REQUIRED = (
    ("time_column", "TIMESTAMP BY", "TIMESTAMP BY ts: the column that holds the event time"),
    ("delay", "DELAY", "DELAY 5 SECONDS: the most that rows come out of order"),
    ("format", "FROM", "FROM parquet OPTIONS ('path' = 'in/trades'): where its rows come from"),
)


def create_stream(cursor: Cursor) -> CreateStream:
    """The stream declared from here on; CREATE STREAM has been read."""
    name = cursor.plain_name("the name of a stream", help="write CREATE STREAM name (columns) ...")
    place = cursor.place_since(0)
    columns = declared_columns(cursor, _COLUMNS)
    found = clauses(cursor, _READERS, _KNOWN)
    for key, words, example in _REQUIRED:
        if key not in found:
            code = f"missing-{words.lower().replace(' ', '-')}"
            raise QueryError(code, f"stream `{name}` has no {words}", at=place, help=f"add {example}")
    return CreateStream(name=name, columns=columns, place=place, **found)


def declared_columns(cursor: Cursor, example: str) -> tuple[ColumnDef, ...]:
    """The columns in the parentheses that open here, no two of one name."""
    cursor.expect("(", help=example)
    columns: dict[str, ColumnDef] = {}
    while not columns or not cursor.take(")"):
        if columns and not cursor.take(","):
            cursor.fail("expected , or ) after a column", help=_COLUMN)
        column = _column(cursor)
        if column.name.lower() in columns:
            what = f"column `{column.name}` is declared twice"
            raise QueryError("duplicate-column", what, at=column.place, help="rename one of them")
        columns[column.name.lower()] = column
    return tuple(columns.values())


def _column(cursor: Cursor) -> ColumnDef:
    start = cursor.index
    name = cursor.name("the name of a column", help=_COLUMN)
    if cursor.take("AS"):
        body = _until_comma(cursor)
        if not body:
            cursor.fail(f"expected an expression for `{name}`", help=f"write for instance {name} AS date(ts)")
        computed = expr(parse_scalar(cursor.text, body))
        return ColumnDef(name, None, computed, place=cursor.place_since(start))
    type = column_type(cursor)
    cursor.take("NOT", "NULL")
    if cursor.take("COMMENT"):
        cursor.string("a comment", help="write COMMENT 'what it holds'")
    return ColumnDef(name, type, place=cursor.place_since(start))


def _until_comma(cursor: Cursor) -> list[Token]:
    """The tokens up to the comma or bracket that ends this column, which is left unread."""
    start, depth = cursor.index, 0
    while cursor.here is not None:
        word = cursor.word()
        if depth == 0 and word in (",", ")"):
            break
        depth += 1 if word in ("(", "[", "{") else -1 if word in (")", "]", "}") else 0
        cursor.advance()
    return cursor.tokens[start : cursor.index]


def _timestamp_by(cursor: Cursor) -> Clauses:
    cursor.expect("TIMESTAMP", "BY", help="write TIMESTAMP BY ts")
    name = cursor.name("the event-time column", help="write TIMESTAMP BY ts")
    return {"time_column": name, "time_place": cursor.place(cursor.last)}


def _delay(cursor: Cursor) -> Clauses:
    cursor.expect("DELAY", help="write DELAY 5 SECONDS")
    return {"delay": not_negative(cursor, "DELAY")[0]}


def _idle_after(cursor: Cursor) -> Clauses:
    cursor.expect("IDLE", "AFTER", help="write IDLE AFTER 1 MINUTE")
    return {"idle_after": positive(cursor, "IDLE AFTER")[0]}


def _max_ahead(cursor: Cursor) -> Clauses:
    cursor.expect("MAX", "AHEAD", help="write MAX AHEAD 1 DAY, or MAX AHEAD OFF")
    return {"max_ahead": None if cursor.take("OFF") else not_negative(cursor, "MAX AHEAD")[0]}


def _keep_late(cursor: Cursor) -> Clauses:
    cursor.expect("KEEP", "LATE", help="write KEEP LATE")
    return {"keep_late": True}


def _from(cursor: Cursor) -> Clauses:
    cursor.expect("FROM", help="write FROM parquet OPTIONS ('path' = 'in')")
    start = cursor.index
    format, options = format_and_options(cursor, "FROM")
    return {"format": format, "options": options, "source_place": cursor.place_since(start)}


_READERS: dict[str, Callable[[Cursor], Clauses]] = {
    "TIMESTAMP": _timestamp_by,
    "DELAY": _delay,
    "IDLE": _idle_after,
    "MAX": _max_ahead,
    "KEEP": _keep_late,
    "FROM": _from,
}
