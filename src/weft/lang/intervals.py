"""Lengths of time as users write them, in whole microseconds.

5 SECONDS    1 HOUR 30 MINUTES    0.5 SECONDS    INTERVAL 5 SECONDS    INTERVAL '5' SECOND    '5 seconds'
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from sqlglot.tokenizer_core import TokenType

from weft.errors import Place, QueryError, nearest
from weft.lang.cursor import Cursor
from weft.times import UNITS, Duration, duration

LONGEST: Duration = 2**60  # some 36,000 years: sums and differences stay far inside 64 bits

_EXAMPLE = "write a number and a unit, for instance 5 SECONDS or 1 HOUR 30 MINUTES"
_CLAUSES = (
    "RANGE", "SLIDE", "OFFSET", "FROM", "TIMESTAMP", "DELAY", "IDLE", "MAX", "KEEP", "EMIT", "ON", "RETAIN",
    "INTO", "INTERNAL", "KEY", "RETROACTIVE", "NONRETROACTIVE", "REFRESH",
)  # fmt: skip
_CALENDAR = ("month", "quarter", "year", "decade", "century")
_PART = re.compile(r"([+-]?\s*(?:\d+\.?\d*|\.\d+)(?:e\d+)?)\s*([a-z]+)\s*,?\s*")


def interval(cursor: Cursor, what: str) -> tuple[Duration, Place]:
    """The length written here, and where; `what` names it in errors: `RANGE`, `DELAY`."""
    start = cursor.index
    cursor.take("INTERVAL")
    token = cursor.here
    if token is not None and token.token_type == TokenType.STRING and not _is_unit(cursor.word(1)):
        cursor.advance()
        length = _quoted(token.text, cursor.place(token), what)
    else:
        length = _part(cursor, what)
        while _starts_part(cursor):
            length += _part(cursor, what)
    place = cursor.place_since(start)
    return _whole(length, place, what), place


def _starts_part(cursor: Cursor) -> bool:
    ahead = 1 if cursor.word() in ("-", "+") else 0
    index = cursor.index + ahead
    if index >= len(cursor.tokens):
        return False
    return cursor.tokens[index].token_type == TokenType.NUMBER and _is_unit(cursor.word(ahead + 1))


def _is_unit(word: str) -> bool:
    unit = word.lower().removesuffix("s")
    return unit in UNITS or unit in _CALENDAR


def _part(cursor: Cursor, what: str) -> Decimal:
    start = cursor.index
    negative = cursor.take("-")
    if not negative:
        cursor.take("+")
    token = cursor.here
    if token is None or token.token_type not in (TokenType.NUMBER, TokenType.STRING):
        cursor.fail(f"expected a length of time for {what}", code="bad-interval", help=_EXAMPLE)
    count = _number(token.text)
    if count is None or cursor.word(1) == "::":  # `5s` reads as a number of type SMALLINT
        cursor.fail(f"{what} is no length of time", code="bad-interval", help=_EXAMPLE)
    cursor.advance()
    at = cursor.place_since(start) if cursor.here is None else cursor.place_here()
    size = _unit(cursor.word(), at, what)
    cursor.advance()
    return (-count if negative else count) * size


def _quoted(text: str, at: Place, what: str) -> Decimal:
    rest = text.strip().lower().removeprefix("interval").strip()
    total, position = Decimal(0), 0
    while position < len(rest):
        match = _PART.match(rest, position)
        count = _number(match[1].replace(" ", "")) if match else None
        if match is None or count is None:
            break
        total += count * _unit(match[2].upper(), at, what)
        position = match.end()
    if not rest or position < len(rest):
        raise QueryError("bad-interval", f"'{text}' is no length of time for {what}", at=at, help=_EXAMPLE)
    return total


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _unit(word: str, at: Place, what: str) -> Duration:
    unit = word.lower().removesuffix("s")
    if unit in UNITS:
        return UNITS[unit]
    if unit in _CALENDAR:
        raise QueryError(
            "calendar-interval", f"{what} cannot be counted in {unit}s", at=at,
            because="its length depends on the calendar", help="use days (24 hours) or weeks",
        )  # fmt: skip
    known = [name.upper() + "S" for name in UNITS]
    if not word.isalpha() or word in _CLAUSES:
        said, close = f"{what} lacks a unit of time", "before this" if word else ""
    else:
        said, close = f"`{word}` is no unit of time", _abbreviated(word) or nearest(word, known)
    raise QueryError("bad-interval", said, at=at, because=close, help=f"units are {', '.join(known)}")


def _abbreviated(word: str) -> str:
    """What S, SEC, SECS, MIN or MS stand for."""
    length = duration(f"1 {word}") or duration(f"1 {word.removesuffix('S')}")
    found = [name for name, size in UNITS.items() if size == length]
    return f"did you mean `{found[0].upper()}S`?" if found else ""


def _whole(length: Decimal, at: Place, what: str) -> Duration:
    if length != length.to_integral_value():
        raise QueryError(
            "fractional-microsecond", f"{what} is no whole number of microseconds", at=at,
            because=f"this is {length.normalize():f} microseconds",
            help="time is counted in whole microseconds",
        )  # fmt: skip
    if abs(length) > LONGEST:
        raise QueryError("bad-interval", f"{what} is too long", at=at, help="use less than 36,000 years")
    return int(length)


def positive(cursor: Cursor, what: str) -> tuple[Duration, Place]:
    """A length greater than nothing."""
    length, place = interval(cursor, what)
    if length <= 0:
        raise QueryError(
            "empty-interval", f"{what} must be longer than nothing", at=place,
            because="zero" if length == 0 else "negative", help=f"write for instance {what} 5 SECONDS",
        )  # fmt: skip
    return length, place


def not_negative(cursor: Cursor, what: str) -> tuple[Duration, Place]:
    """A length of zero or more."""
    length, place = interval(cursor, what)
    if length < 0:
        raise QueryError(
            "negative-interval", f"{what} cannot be negative", at=place,
            help=f"write {what} 0 SECONDS for none",
        )  # fmt: skip
    return length, place
