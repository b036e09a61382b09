"""What CREATE STREAM and CREATE QUERY have in common: clauses in any order, formats and their options."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from sqlglot.tokenizer_core import TokenType

from weft.errors import QueryError
from weft.lang.cursor import Cursor

Clauses = dict[str, Any]  # fields of a statement
Options = tuple[tuple[str, str], ...]

_OF_SELECT = ("WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT")
_EXAMPLE = "write OPTIONS ('key' = 'value', ...)"
_ENDINGS = {"jsonl": "json", "txt": "text"} | {
    name: name for name in ("parquet", "csv", "json", "orc", "avro")
}
_STRINGS = (TokenType.STRING, TokenType.RAW_STRING)


def clauses(cursor: Cursor, readers: Mapping[str, Callable[[Cursor], Clauses]], known: str) -> Clauses:
    """The clauses from here to the end of the statement, each at most once."""
    found: Clauses = {}
    while cursor.here is not None:
        start = cursor.index
        reader = readers.get(cursor.word())
        if cursor.word() in _OF_SELECT:
            cursor.fail("this comes too late", code="unknown-clause", help=f"write it before {known}")
        if reader is None:
            help = _meant(cursor) or f"clauses are {known}"
            cursor.fail("expected a clause", code="unknown-clause", known=readers, help=help)
        clause = reader(cursor)
        if found.keys() & clause.keys():
            at = cursor.place_since(start)
            raise QueryError(
                "duplicate-clause", "this clause is given twice", at=at, help="remove one of them"
            )
        found |= clause
    return found


def _meant(cursor: Cursor) -> str:
    """What to write instead, where it can be told."""
    if cursor.at(","):
        return "remove the comma: clauses follow each other without"
    if cursor.at("(") or cursor.at("WITH", "("):
        return _EXAMPLE
    if cursor.at("OPTIONS"):
        return "OPTIONS come right after the format: FROM parquet OPTIONS ('path' = 'in')"
    if cursor.here is not None and _is_string(cursor):
        return f"write OPTIONS ('path' = '{cursor.here.text}')"
    return ""


def _is_string(cursor: Cursor) -> bool:
    return cursor.here is not None and cursor.here.token_type in _STRINGS


def format_and_options(cursor: Cursor, clause: str) -> tuple[str, Options]:
    """A format, as a name or in quotes, and the options behind it."""
    start = cursor.index
    help = f"name a format: {clause} parquet, {clause} kafka, ..."
    if cursor.here is not None and cursor.here.token_type == TokenType.STRING:
        format = cursor.advance().text
    else:
        format = cursor.name("a format", help=help)
        while cursor.take("."):
            format += "." + cursor.name("the rest of the format's name", help=help)
    stem, _, ending = format.rpartition(".")
    is_file = bool(stem) and "." not in stem and ending in _ENDINGS
    if is_file or not re.fullmatch(r"[\w.$-]+", format):
        at = cursor.place_since(start)
        if is_file or "/" in format:
            help = f"write {clause} {_ENDINGS.get(ending, 'parquet')} OPTIONS ('path' = '{format}')"
        raise QueryError("bad-name", f"`{format}` is no name of a format", at=at, help=help)
    return (format if "." in format else format.lower()), _options(cursor)


def _options(cursor: Cursor) -> Options:
    """The options in the order of their keys, as their order says nothing."""
    if not cursor.take("OPTIONS"):
        return ()
    cursor.expect("(", help=_EXAMPLE)
    options: dict[str, str] = {}
    while not cursor.take(")"):
        if options and not cursor.take(","):
            cursor.fail("expected , or ) after an option", code="bad-option", help=_EXAMPLE)
        _option(cursor, options)
    return tuple(sorted(options.items()))


def _option(cursor: Cursor, options: dict[str, str]) -> None:
    start = cursor.index
    key = _key(cursor)
    if key in options:
        at = cursor.place_since(start)
        raise QueryError(
            "duplicate-option", f"option '{key}' is given twice", at=at, help="remove one of them"
        )
    if not cursor.take("=") and not _is_string(cursor):  # Spark leaves it out too: OPTIONS (path 'in')
        cursor.fail(f"expected = after option '{key}'", code="bad-option", help=_EXAMPLE)
    options[key] = _value(cursor, key)


def _key(cursor: Cursor) -> str:
    token = cursor.here
    if _is_string(cursor):
        return cursor.advance().text
    if token is None or not re.fullmatch(r"[^\W\d]\w*", token.text):
        cursor.fail("expected the name of an option in quotes", code="bad-option", help=_EXAMPLE)
    key = cursor.advance().text
    while cursor.take("."):
        key += "." + cursor.name("the rest of the option's name", help=_EXAMPLE)
    return key


def _value(cursor: Cursor, key: str) -> str:
    sign = "-" if cursor.take("-") else ""
    token = cursor.here
    if token is not None and token.token_type == TokenType.NUMBER:
        return sign + cursor.advance().text
    if not sign and _is_string(cursor):
        return cursor.advance().text
    if not sign and cursor.word() in ("TRUE", "FALSE"):
        return cursor.advance().text.lower()
    cursor.fail(f"expected the value of option '{key}' in quotes", code="bad-option", help=_EXAMPLE)
