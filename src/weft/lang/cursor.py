"""A position in the tokens of one statement, read from left to right."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn

from sqlglot.tokenizer_core import Token, TokenType

from weft.errors import Place, QueryError, nearest
from weft.lang.text import Text

RESERVED = ("window_start", "window_end")
RESERVED_PREFIX = "_weft"
LONGEST_NAME = 128
COMPARED = "leave it out: a changed program is compared with the one that ran before"

_QUOTED = (TokenType.STRING, TokenType.IDENTIFIER, TokenType.RAW_STRING, TokenType.HEX_STRING)
_WORD = re.compile(r"[^\W\d]\w*")


class Cursor:
    """Reads tokens one by one; what it does not find it reports at the token that stands there instead."""

    def __init__(self, text: Text, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.index = 0

    @property
    def here(self) -> Token | None:
        return self.tokens[self.index] if self.index < len(self.tokens) else None

    @property
    def last(self) -> Token:
        """The token read last; the first one if none was read."""
        return self.tokens[max(0, min(self.index, len(self.tokens)) - 1)]

    def word(self, ahead: int = 0) -> str:
        """The word or sign that stands here, in upper case; nothing for quoted text or at the end."""
        index = self.index + ahead
        if not 0 <= index < len(self.tokens) or self.tokens[index].token_type in _QUOTED:
            return ""
        return self.tokens[index].text.upper()

    def at(self, *words: str) -> bool:
        return all(self.word(ahead) == word for ahead, word in enumerate(words))

    def advance(self) -> Token:
        token = self.tokens[self.index]
        self.index += 1
        return token

    def take(self, *words: str) -> bool:
        """Step over these words if they stand here."""
        if not self.at(*words):
            return False
        self.index += len(words)
        return True

    def expect(self, *words: str, help: str) -> None:
        for word in words:
            if not self.take(word):
                self.fail(f"expected {word}", help=help)

    def string(self, what: str, help: str) -> str:
        token = self.here
        if token is None or token.token_type not in (TokenType.STRING, TokenType.RAW_STRING):
            self.fail(f"expected {what} in quotes", help=help)
        return self.advance().text

    def name(self, what: str, help: str) -> str:
        """A name, quoted or not, that is not reserved."""
        token = self.here
        if token is None or not (token.token_type == TokenType.IDENTIFIER or _WORD.fullmatch(token.text)):
            self.fail(f"expected {what}", code="missing-name", help=help)
        if token.token_type in _QUOTED and token.token_type != TokenType.IDENTIFIER:
            self.fail(f"{what} stands without quotes, or in backquotes", code="bad-name", help=help)
        self.index += 1
        check_reserved(token.text, self.place(token))
        return token.text

    def plain_name(self, what: str, help: str) -> str:
        """A name of letters, digits and underscores: it also names files and tables."""
        start = self.index
        if self.at("IF", "NOT", "EXISTS"):
            at = self.place(self.tokens[start], self.tokens[start + 2])
            raise QueryError("not-supported", "IF NOT EXISTS is not supported yet", at=at, help=COMPARED)
        name = self.name(what, help)
        if self.word() in ("-", "."):
            place = self.place(self.tokens[start], self.tokens[min(start + 2, len(self.tokens) - 1)])
            raise QueryError(
                "bad-name", f"{what} has no `{self.word()}` in it", at=place,
                help="use letters, digits and underscores",
            )  # fmt: skip
        if not _is_plain(name):
            raise QueryError(
                "bad-name", f"`{name}` cannot be {what}", at=self.place(self.tokens[start]),
                because="it also names files and tables",
                help=f"use at most {LONGEST_NAME} letters, digits and underscores, no digit first",
            )  # fmt: skip
        return name

    def place(self, first: Token, last: Token | None = None) -> Place:
        return self.text.place_of(first, last)

    def place_here(self) -> Place:
        """The token that stands here; after the last one, the spot behind it."""
        if self.here is not None:
            return self.place(self.here)
        end = self.tokens[-1].end + 1 if self.tokens else 0
        return self.text.place(end, end + 1)

    def place_since(self, start: int) -> Place:
        """From the token with index `start` to the one read last."""
        return self.place(self.tokens[start], self.tokens[max(start, self.index - 1)])

    def fail(self, what: str, *, code: str = "syntax", help: str = "", known: Iterable[str] = ()) -> NoReturn:
        token = self.here
        found = "the statement ends here" if token is None else ""
        said = f"{what}, found `{self.text.text[token.start : token.end + 1]}`" if token else what
        close = nearest(token.text, known) if token else ""
        raise QueryError(code, said, at=self.place_here(), because=found or close, help=help)


def is_free(name: str) -> bool:
    """May a query have this name?"""
    return _is_plain(name) and not _is_reserved(name)


def _is_plain(name: str) -> bool:
    return len(name) <= LONGEST_NAME and bool(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name))


def _is_reserved(name: str) -> bool:
    return name.lower() in RESERVED or name.lower().startswith(RESERVED_PREFIX)


def check_reserved(name: str, at: Place | None) -> None:
    if _is_reserved(name):
        raise QueryError(
            "reserved-name", f"`{name}` is reserved", at=at,
            because="weft gives every windowed result columns of this name"
            if name.lower() in RESERVED else "names that start so belong to weft",
            help="choose another name",
        )  # fmt: skip
