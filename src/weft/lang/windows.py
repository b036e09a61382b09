"""Windows in brackets: `[RANGE 5 MINUTES SLIDE 10 SECONDS OFFSET 3 SECONDS]`."""

from __future__ import annotations

from weft.errors import QueryError
from weft.lang.cursor import Cursor
from weft.lang.intervals import interval, positive
from weft.lang.statements import WindowSpec

_EXAMPLE = "write for instance [RANGE 5 MINUTES SLIDE 10 SECONDS]"
_CLAUSES = ("RANGE", "SLIDE", "OFFSET")


def window(cursor: Cursor) -> WindowSpec:
    """The window whose `[` stands here; without SLIDE it tumbles; its offset is less than its slide."""
    start = cursor.index
    cursor.expect("[", help=_EXAMPLE)
    lengths: dict[str, int] = {}
    while not cursor.take("]"):
        cursor.take(",")
        _clause(cursor, lengths)
    place = cursor.place_since(start)
    if "RANGE" not in lengths:
        raise QueryError("missing-range", "this window has no RANGE", at=place, help=_EXAMPLE)
    slide = lengths.get("SLIDE", lengths["RANGE"])
    return WindowSpec(lengths["RANGE"], slide, lengths.get("OFFSET", 0) % slide, place)


def _clause(cursor: Cursor, lengths: dict[str, int]) -> None:
    word = cursor.word()
    if word == "ROWS":
        raise QueryError(
            "not-supported", "windows counted in rows are not supported yet", at=cursor.place_here(),
            help="use a window of time: [RANGE 5 MINUTES]",
        )  # fmt: skip
    if word not in _CLAUSES:
        cursor.fail("expected RANGE, SLIDE or OFFSET", known=_CLAUSES, help=_EXAMPLE)
    if word in lengths:
        raise QueryError(
            "duplicate-clause", f"{word} is given twice", at=cursor.place_here(), help="remove one of them"
        )
    cursor.advance()
    lengths[word] = (interval if word == "OFFSET" else positive)(cursor, word)[0]
