"""Windows in brackets: `[RANGE 5 MINUTES SLIDE 10 SECONDS OFFSET 3 SECONDS]`, `[RANGE UNBOUNDED]`."""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.errors import QueryError
from weft.lang.bodies import Span
from weft.lang.cursor import Cursor
from weft.lang.intervals import interval, positive
from weft.lang.statements import WindowSpec
from weft.times import Duration

_EXAMPLE = "write for instance [RANGE 5 MINUTES SLIDE 10 SECONDS]"
_CLAUSES = ("RANGE", "SLIDE", "OFFSET", "INTERNAL")
_ROWS = "windows counted in rows"
_REFUSED = {"ROWS": _ROWS, "ROW": _ROWS, "SESSION": "session windows", "SESSIONS": "session windows"}


@dataclass(slots=True)
class _Said:
    """The clauses of a window as they turn up."""

    lengths: dict[str, Duration] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)


def window(cursor: Cursor) -> WindowSpec:
    """The window whose `[` stands here; without SLIDE it tumbles; its offset is less than its slide."""
    return tumbling(span(cursor))


def tumbling(found: Span) -> WindowSpec:
    """The window of an aggregate: without SLIDE it tumbles."""
    assert found.range is not None
    slide = found.slide or found.range
    return WindowSpec(found.range, slide, found.offset % slide, found.place)


def span(cursor: Cursor) -> Span:
    """The window whose `[` stands here."""
    start, said = cursor.index, _Said()
    cursor.expect("[", help=_EXAMPLE)
    while not cursor.take("]"):
        cursor.take(",")
        _clause(cursor, said)
    place = cursor.place_since(start)
    if "RANGE" not in said.lengths and "RANGE" not in said.flags:
        raise QueryError("missing-range", "this window has no RANGE", at=place, help=_EXAMPLE)
    slide, offset = said.lengths.get("SLIDE"), said.lengths.get("OFFSET", 0)
    return Span(
        said.lengths.get("RANGE"), slide, offset % slide if slide else offset, "INTERNAL" in said.flags, place
    )


def _clause(cursor: Cursor, said: _Said) -> None:
    word = cursor.word()
    _refuse(cursor)
    if word not in _CLAUSES:
        cursor.fail("expected RANGE, SLIDE or OFFSET", known=_CLAUSES, help=_EXAMPLE)
    if word in said.lengths or word in said.flags:
        raise QueryError(
            "duplicate-clause", f"{word} is given twice", at=cursor.place_here(), help="remove one of them"
        )
    cursor.advance()
    _refuse(cursor, 1)  # RANGE 100 ROWS
    if word == "INTERNAL" or (word == "RANGE" and cursor.take("UNBOUNDED")):
        said.flags.add(word)
    else:
        said.lengths[word] = (interval if word == "OFFSET" else positive)(cursor, word)[0]


def _refuse(cursor: Cursor, ahead: int = 0) -> None:
    """Raise where the word here, or so many ahead, tells of windows that are none of time."""
    said = _REFUSED.get(cursor.word(ahead))
    if said is not None:
        at = cursor.place(cursor.tokens[cursor.index + ahead])
        help = "use a window of time: [RANGE 5 MINUTES]"
        raise QueryError("not-supported", f"{said} are not supported yet", at=at, help=help)
