"""Column types as Spark names them: `bigint`, `decimal(10,2)`, `array<struct<a:int,b:string>>`."""

from __future__ import annotations

import re

from sqlglot.tokenizer_core import Token, TokenType

from weft.errors import QueryError, nearest
from weft.lang.cursor import Cursor
from weft.lang.names import shown
from weft.lang.text import Text

_TYPES = {
    "TINYINT": "tinyint", "BYTE": "tinyint", "SMALLINT": "smallint", "SHORT": "smallint",
    "INT": "int", "INTEGER": "int", "BIGINT": "bigint", "LONG": "bigint",
    "FLOAT": "float", "REAL": "float", "DOUBLE": "double",
    "STRING": "string", "BOOLEAN": "boolean", "BINARY": "binary", "DATE": "date",
    "TIMESTAMP": "timestamp", "TIMESTAMP_LTZ": "timestamp", "TIMESTAMP_NTZ": "timestamp_ntz",
    "VARIANT": "variant",
}  # fmt: skip
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
_NESTED = ("ARRAY", "MAP", "STRUCT")
_KNOWN = (*_TYPES, *_DECIMALS, *_NESTED)
_STRINGS = ("VARCHAR", "CHAR", "CHARACTER", "TEXT")
_EXAMPLES = {
    "ARRAY": "write for instance ARRAY<INT>",
    "MAP": "write for instance MAP<STRING, INT>",
    "STRUCT": "write for instance STRUCT<a: INT, b: STRING>",
}
_SIZED = ("VARCHAR", "CHAR", "CHARACTER")
_HELP = "types are Spark's: BIGINT, DOUBLE, STRING, TIMESTAMP, ..."
_INSTEAD = {
    **dict.fromkeys(_STRINGS, "use STRING"),
    "TIME": "compare date_format(ts, 'HH:mm:ss'), or hour(ts) and minute(ts)",
    "TIMESTAMP WITHOUT TIME ZONE": "use TIMESTAMP_NTZ",
    "TIMESTAMP WITH TIME ZONE": "use TIMESTAMP",
}


def column_type(cursor: Cursor) -> str:
    """The type written at the cursor, by Spark's simple name in lower case."""
    word = cursor.word()
    if word in _TYPES:
        cursor.advance()
        return _TYPES[word]
    if word in _DECIMALS:
        cursor.advance()
        return _decimal(cursor)
    if word in _NESTED:
        cursor.advance()
        return _nested(cursor, word)
    help = _INSTEAD.get(word, _HELP)
    if cursor.here is not None and re.fullmatch(r"\w+", word):
        cursor.fail("expected a type", code="unknown-type", known=_KNOWN, help=help)
    cursor.fail("expected a type", code="missing-type", help=help)


def check_type(text: Text, tokens: list[Token]) -> None:
    """Raise where these tokens, which the parser takes for a type, are none of Spark's.

    It takes those of all databases, and would make some type of Spark's of each.
    """
    word = tokens[0].text.upper()
    if word == "INTERVAL" or _is_whole(word, [token.token_type for token in tokens[1:]]):
        return
    said = " ".join(text.text[tokens[0].start : tokens[-1].end + 1].upper().split())
    raise QueryError(
        "unknown-type", f"there is no type {said}", at=text.place_of(tokens[0], tokens[-1]),
        because="" if word in (*_KNOWN, *_INSTEAD) else nearest(word, _KNOWN),
        help=_INSTEAD.get(said) or _EXAMPLES.get(word) or _INSTEAD.get(word) or _HELP,
    )  # fmt: skip


def _is_whole(word: str, behind: list[TokenType]) -> bool:
    """Whether the word is a type with what stands behind it."""
    if word in _NESTED:
        return behind[-1:] == [TokenType.GT]
    if word in _DECIMALS or word in _SIZED:
        return behind[:1] == [TokenType.L_PAREN] or (word in _DECIMALS and not behind)
    return word in _TYPES and (not behind or (word == "STRING" and behind[0] == TokenType.COLLATE))


def _decimal(cursor: Cursor) -> str:
    start = cursor.index - 1
    precision, scale = 10, 0
    if cursor.take("("):
        precision = _count(cursor)
        if cursor.take(","):
            scale = _count(cursor)
        cursor.expect(")", help="write for instance DECIMAL(10, 2)")
    if not 1 <= precision <= 38 or scale > precision:
        raise QueryError(
            "bad-decimal", f"there is no DECIMAL({precision}, {scale})", at=cursor.place_since(start),
            help="the precision is 1 to 38, the scale at most the precision",
        )  # fmt: skip
    return f"decimal({precision},{scale})"


def _count(cursor: Cursor) -> int:
    token = cursor.here
    if token is None or token.token_type != TokenType.NUMBER or not token.text.isdigit():
        cursor.fail("expected a whole number", help="write for instance DECIMAL(10, 2)")
    return int(cursor.advance().text)


def _nested(cursor: Cursor, word: str) -> str:
    help = _EXAMPLES[word]
    cursor.expect("<", help=help)
    if word == "STRUCT":
        fields = [_field(cursor)]
        while cursor.take(","):
            fields.append(_field(cursor))
        inner = ",".join(fields)
    else:
        inner = column_type(cursor)
        if word == "MAP":
            cursor.expect(",", help=help)
            inner = f"{inner},{column_type(cursor)}"
    cursor.expect(">", help=help)
    return f"{word.lower()}<{inner}>"


def _field(cursor: Cursor) -> str:
    name = cursor.name("the name of a field", help="write for instance STRUCT<a: INT, b: STRING>")
    cursor.take(":")
    return f"{shown(name)}:{column_type(cursor)}"
