"""Program text -> stretches that end with a semicolon -> tokens -> one list of tokens per statement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from weft.errors import QueryError
from weft.lang.dialect import Weft
from weft.lang.text import Text

_MARKS = re.compile(r";|--|/\*|\b[rR](?=['\"])|['\"`]")
_STRING_END = {quote: re.compile(rf"(?:[^{quote}\\]|\\.)*{quote}", re.DOTALL) for quote in "'\""}
_LINE_END = re.compile(r"[\r\n]|\Z")
_NOT_HEX = re.compile(r"\b[xX]'(?![0-9A-Fa-f]*')[^']*'")
_UNCLOSED = {"'": "string", '"': "string", "`": "name", "/*": "comment"}
_CLOSING = {"'": "'", '"': '"', "`": "`", "/*": "*/"}

_PAIRS = {TokenType.R_PAREN: TokenType.L_PAREN, TokenType.R_BRACKET: TokenType.L_BRACKET}
_PAIRS |= {TokenType.R_BRACE: TokenType.L_BRACE}
_STARTS = {("CREATE", "STREAM"), ("CREATE", "QUERY"), ("CREATE", "VIEW"), ("CREATE", "TABLE")}
_STARTS |= {("DROP", "QUERY"), ("DROP", "VIEW"), ("DROP", "TABLE"), ("SHOW", "STREAMS"), ("SHOW", "QUERIES")}


@dataclass(frozen=True, slots=True)
class Unclosed:
    """A string, a quoted name or a comment that opens at `start` and never closes."""

    start: int
    opener: str

    def error(self, text: Text) -> QueryError:
        kind = _UNCLOSED[self.opener]
        return QueryError(
            f"unclosed-{kind}", f"this {kind} is never closed",
            at=text.place(self.start, self.start + len(self.opener)), because=f"the {kind} starts here",
            help=f"add the closing {_CLOSING[self.opener]}",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a text may be cut without looking at its words."""

    ends: tuple[int, ...]  # behind each semicolon that stands in no string, name or comment
    opened: Unclosed | None  # behind it nothing is sure

    def stretches(self, last: int) -> Iterator[tuple[int, int]]:
        """From each cut to the next, the last one up to `last`."""
        bounds = (0, *self.ends) if self.opened is not None else (0, *self.ends, last)
        return pairwise(bounds)


def cut(text: Text) -> Cut:
    """Where the text may be cut, and what never closes, if anything.

    Past a forgotten quote all others change their meaning, and the one without a partner is the last. The
    forgotten one is told by its string, which goes on past the end of its line.
    """
    position = 0
    ends: list[int] = []
    runs_on: dict[str, Unclosed] = {}
    while match := _MARKS.search(text.text, position):
        if match[0] == ";":
            position = match.end()
            ends.append(position)
            continue
        opener = text.text[match.end()] if match[0] in "rR" else match[0]
        opened, position = Unclosed(match.start(), opener), _after(text.text, match)
        if position < 0:
            forgotten = runs_on.get(opener, opened)
            return Cut(tuple(end for end in ends if end <= forgotten.start), forgotten)
        if opener in "'\"`" and "\n" in text.text[match.end() : position]:
            runs_on.setdefault(opener, opened)
    return Cut(tuple(ends), None)


def tokenize(text: Text) -> list[Token]:
    """The tokens of the text, no comments or hints; a doubled quote in a string stands for the quote."""
    opened = cut(text).opened
    if opened is not None:
        raise opened.error(text)
    return tokens_between(text, 0, len(text.text))


def tokens_between(text: Text, start: int, end: int) -> list[Token]:
    """The tokens of a stretch in which all that opens closes; each says where it stands in the whole text."""
    part = text.text[start:end]
    try:
        tokens = Weft().tokenize(part)
    except TokenError:
        bad = _NOT_HEX.search(part)
        at = (start + bad.start(), start + bad.end()) if bad else (start, end)
        raise QueryError(
            "syntax", "this text cannot be read", at=text.place(*at),
            because="not hexadecimal" if bad else "",
            help="write x'1F' with digits 0 to 9 and A to F, or a string without the x" if bad else "",
        ) from None  # fmt: skip
    return [
        Token(token.token_type, token.text, token.line, token.col, token.start + start, token.end + start)
        for token in _join_doubled_quotes(part, _with_window_calls(tokens))
    ]


def _with_window_calls(tokens: list[Token]) -> list[Token]:
    """The tokens with `window(` read as a call: as a keyword it would end the GROUP BY that it stands in."""
    return [
        Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end)
        if token.token_type == TokenType.WINDOW and following.token_type == TokenType.L_PAREN
        else token
        for token, following in zip(tokens, tokens[1:] + tokens[-1:])
    ]


def _after(text: str, opened: re.Match[str]) -> int:
    """Where the string, name or comment that `opened` starts has ended; -1 if it never does."""
    if opened[0] == "--":
        line_end = _LINE_END.search(text, opened.end())
        return line_end.start() if line_end else len(text)
    if opened[0] == "/*":
        return _after_comment(text, opened.end())
    if opened[0] == "`":
        return text.find("`", opened.end()) + 1 or -1
    if opened[0] in "rR":  # a raw string has no escapes
        return text.find(text[opened.end()], opened.end() + 1) + 1 or -1
    end = _STRING_END[opened[0]].match(text, opened.end())
    return end.end() if end else -1


def _after_comment(text: str, position: int) -> int:
    depth = 1
    for mark in re.compile(r"/\*|\*/").finditer(text, position):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return -1


def _join_doubled_quotes(text: str, tokens: list[Token]) -> list[Token]:
    joined: list[Token] = []
    for token in tokens:
        token.comments.clear()
        if token.token_type == TokenType.HINT:
            continue
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.token_type == token.token_type == TokenType.STRING
            and before.end + 1 == token.start
            and text[before.end] == text[token.start]
        ):
            value = before.text + text[token.start] + token.text
            joined[-1] = Token(TokenType.STRING, value, token.line, token.col, before.start, token.end)
        else:
            joined.append(token)
    return joined


def statements(tokens: list[Token]) -> list[list[Token]]:
    """The tokens cut at semicolons; also before a statement that starts where a semicolon was forgotten.

    A piece that lacks its semicolon is followed by one that starts with the next statement, so that errors in
    both are found.
    """
    pieces: list[list[Token]] = [[]]
    for index, token in enumerate(tokens):
        if token.token_type == TokenType.SEMICOLON:
            pieces[-1].append(token)
            pieces.append([])
            continue
        following = tokens[index + 1].text.upper() if index + 1 < len(tokens) else ""
        if pieces[-1] and token.token_type != TokenType.STRING and (token.text.upper(), following) in _STARTS:
            pieces.append([])
        pieces[-1].append(token)
    return [piece for piece in pieces if any(token.token_type != TokenType.SEMICOLON for token in piece)]


def without_semicolon(piece: list[Token]) -> list[Token]:
    return piece[:-1] if piece[-1].token_type == TokenType.SEMICOLON else piece


def check_brackets(text: Text, piece: list[Token]) -> None:
    """Raise at the bracket that has no partner."""
    open_ones: list[Token] = []
    for token in piece:
        if token.token_type in _PAIRS.values():
            open_ones.append(token)
        elif token.token_type in _PAIRS:
            if not open_ones:
                raise QueryError(
                    "unopened-bracket", f"this `{token.text}` closes nothing", at=text.place_of(token),
                    help="remove it, or add the opening bracket before it",
                )  # fmt: skip
            opened = open_ones.pop()
            if opened.token_type != _PAIRS[token.token_type]:
                raise _unclosed(text, opened)
    if open_ones:
        raise _unclosed(text, open_ones[-1])


def _unclosed(text: Text, opened: Token) -> QueryError:
    closing = {"(": ")", "[": "]", "{": "}"}[opened.text]
    return QueryError(
        "unclosed-bracket", f"this `{opened.text}` is never closed", at=text.place_of(opened),
        help=f"add the closing `{closing}`",
    )  # fmt: skip


_DEPTHS = {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}


def outside(tokens: list[Token]) -> Iterator[tuple[int, Token]]:
    """The tokens that are not in parentheses, each with its place among all."""
    depth = 0
    for at, token in enumerate(tokens):
        depth += _DEPTHS.get(token.token_type, 0)
        if not depth:
            yield at, token
