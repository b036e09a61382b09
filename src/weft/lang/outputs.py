"""What of the answer is told: `SELECT ISTREAM(a, b) FROM`, `SELECT WSTREAM(*) [RANGE 4 SECONDS] FROM`."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from weft.errors import QueryError
from weft.lang.bodies import Emission, Output
from weft.lang.cursor import Cursor
from weft.lang.text import Text
from weft.lang.windows import span

OUTPUTS = {
    "ISTREAM": Emission.ISTREAM,
    "DSTREAM": Emission.DSTREAM,
    "RSTREAM": Emission.RSTREAM,
    "WSTREAM": Emission.WSTREAM,
}


def _has_output(tokens: list[Token]) -> bool:
    """Does the SELECT say what of its answer is told?"""
    return len(tokens) > 2 and tokens[1].text.upper() in OUTPUTS and tokens[2].token_type == TokenType.L_PAREN


def output(text: Text, tokens: list[Token]) -> tuple[Output | None, list[Token]]:
    """What the first SELECT says to tell, and the tokens without it."""
    if not _has_output(tokens):
        return None, tokens
    cursor = Cursor(text, tokens)
    cursor.index = _closing(tokens, 2)
    inside = tokens[3 : cursor.index]
    cursor.advance()
    window = span(cursor) if cursor.at("[") else None
    word = tokens[1].text.upper()
    made = Output(OUTPUTS[word], window, text.place_of(tokens[1]))
    _check(cursor, word, made)
    return made, [tokens[0], *inside, *tokens[cursor.index :]]


def _check(cursor: Cursor, word: str, made: Output) -> None:
    wanted = made.emission is Emission.WSTREAM
    window = made.span
    if window is None and wanted:
        raise QueryError(
            "missing-range", "WSTREAM needs a window: for how long are rows told?", at=made.place,
            help="write SELECT WSTREAM(a, b) [RANGE 4 SECONDS] FROM ...",
        )  # fmt: skip
    if window is not None and not wanted:
        raise QueryError(
            "misplaced-window", f"{word} has no window", at=window.place,
            help="write WSTREAM(...) [RANGE ...] for rows that are told for a given time",
        )  # fmt: skip
    if window is not None and (window.range is None or window.slide or window.offset or window.internal):
        raise QueryError(
            "bad-window", "the window behind WSTREAM has a RANGE alone", at=window.place,
            help="write for instance [RANGE 4 SECONDS]",
        )  # fmt: skip
    if not cursor.at("FROM"):
        cursor.fail(f"expected FROM after {word}(...)", help=f"{word} stands around the whole list")


def _closing(tokens: list[Token], opened: int) -> int:
    """Where the parenthesis closes that opens there; brackets have been checked."""
    depth = 0
    for at in range(opened, len(tokens)):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(tokens[at].token_type, 0)
        if depth == 0:
            return at
    return len(tokens) - 1
