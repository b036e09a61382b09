"""SELECTs that differ in windows and constants alone, as most of a thousand queries do, are read once.

    SELECT symbol, SUM(qty) FROM trades [RANGE 5 MINUTES] WHERE venue = 'X' GROUP BY symbol    read
    SELECT symbol, SUM(qty) FROM trades [RANGE 1 HOUR] WHERE venue = 'Y' GROUP BY symbol       1 HOUR and 'Y'

What the second says is known from the first. Where its expressions stand is not; whoever asks for that, to
tell what is wrong with one, has it read after all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

from sqlglot.tokenizer_core import Token, TokenType

from weft.lang.compared import Kind, compared, constant_of, kind_of
from weft.lang.cursor import Cursor
from weft.lang.patterns import Filled, Pattern, pattern_of
from weft.lang.plain import has_span, is_plain
from weft.lang.select import select
from weft.lang.statements import Expr, Item, LaterExpr, OrderKey, Select, Source, WindowSpec
from weft.lang.text import Text
from weft.lang.tokens import outside, tokens_between
from weft.lang.windows import window

# Whether it has a window, its tokens without it and without constants, and the kinds of those.
_What = tuple[bool, tuple[tuple[TokenType, str], ...], tuple[Kind, ...]]


@dataclass(frozen=True, slots=True)
class _First:
    """A SELECT that was read, and the pattern of its WHERE if that has constants."""

    select: Select
    where: Pattern | None


class Alike:
    """The SELECTs of one program."""

    def __init__(self) -> None:
        self._first: dict[_What, _First] = {}
        self._windows: dict[tuple[tuple[TokenType, str], ...], WindowSpec] = {}  # by their tokens

    def select(self, text: Text, tokens: list[Token]) -> Select | None:
        """The plain SELECT that these tokens are; None: they are none."""
        start, stop = _window_of(tokens)
        found = {at: (kind_of(tokens[at]), constant_of(tokens[at])) for at in compared(tokens)}
        texts = tuple(
            (token.token_type, "" if at in found else token.text)
            for at, token in enumerate(tokens)
            if not start <= at < stop
        )
        what = (start < stop, texts, tuple(kind for kind, _ in found.values()))
        first = self._first.get(what)
        if (first is None and not is_plain(tokens)) or has_span(tokens[start:stop]):
            return None
        if first is None:
            made = select(text, tokens)
            places = [text.place_of(tokens[at]) for at in found]
            self._first[what] = _First(made, pattern_of(made.where, places) if found else None)
            return made
        if first.where is None and found:  # the constants could not be told apart
            return select(text, tokens)
        source = Source(
            first.select.source.stream,
            self._window(text, tokens, start, stop) if start < stop else None,
            first.select.source.alias,
            text.place_of(tokens[_after_from(tokens)]),
        )
        later = _Later(text, tokens)
        if first.where is None:
            return later.like(first.select, source, None)
        where = first.where.fill(
            [one for _, one in found.values()], lambda: later.where.place, lambda: later.where.tree
        )
        return later.like(first.select, source, where)

    def _window(self, text: Text, tokens: list[Token], start: int, stop: int) -> WindowSpec:
        """The window from one token up to another."""
        said = tuple((token.token_type, token.text) for token in tokens[start:stop])
        if said not in self._windows:
            cursor = Cursor(text, tokens)
            cursor.index = start
            self._windows[said] = window(cursor)
        return replace(self._windows[said], place=text.place_of(tokens[start], tokens[stop - 1]))


class _Later:
    """A SELECT that is read when it is asked for; until then it is a stretch of the text, without tokens."""

    def __init__(self, text: Text, tokens: list[Token]) -> None:
        self._text, self._start, self._end = text, tokens[0].start, tokens[-1].end + 1

    @cached_property
    def read(self) -> Select:
        return select(self._text, tokens_between(self._text, self._start, self._end))

    @property
    def where(self) -> Expr:
        assert self.read.where is not None
        return self.read.where

    def like(self, first: Select, source: Source, where: Filled | None) -> Select:
        """What `first` says, from this source, and where this holds if it is another condition."""
        return Select(
            items=tuple(
                Item(self._expr(item.expr, partial(self._item, at)), item.alias)
                for at, item in enumerate(first.items)
            ),
            source=source,
            where=where or (self._expr(first.where, lambda: self.read.where) if first.where else None),
            group_by=tuple(
                self._expr(key, partial(self._group_key, at)) for at, key in enumerate(first.group_by)
            ),
            having=self._expr(first.having, lambda: self.read.having) if first.having else None,
            order_by=tuple(
                OrderKey(self._expr(key.expr, partial(self._order_key, at)), key.descending, key.nulls_first)
                for at, key in enumerate(first.order_by)
            ),
            limit=first.limit,
            place=self._text.place(self._start, self._end),
        )

    def _expr(self, known: Expr, find: Callable[[], Expr | None]) -> Expr:
        return LaterExpr(known.sql, find)

    def _item(self, at: int) -> Expr:
        return self.read.items[at].expr

    def _group_key(self, at: int) -> Expr:
        return self.read.group_by[at]

    def _order_key(self, at: int) -> Expr:
        return self.read.order_by[at].expr


def _window_of(tokens: list[Token]) -> tuple[int, int]:
    """Where the window after the stream begins and ends; if there is none, an empty stretch."""
    start = _after_from(tokens) + 1
    if start >= len(tokens) or tokens[start].token_type != TokenType.L_BRACKET:
        return 0, 0
    for at in range(start, len(tokens)):
        if tokens[at].token_type == TokenType.R_BRACKET:
            return start, at + 1
    return 0, 0


def _after_from(tokens: list[Token]) -> int:
    """The token behind the first FROM that is not in parentheses, as in EXTRACT(HOUR FROM ts)."""
    last = len(tokens) - 1
    return next((at + 1 for at, token in outside(tokens[:last]) if token.token_type == TokenType.FROM), last)
