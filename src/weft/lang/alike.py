"""Queries that differ in names, windows and constants alone, as most of a thousand do, are read once.

    CREATE QUERY a AS SELECT symbol, SUM(qty) FROM trades [RANGE 5 MINUTES] WHERE venue = 'X' GROUP BY symbol;
    CREATE QUERY b AS SELECT symbol, SUM(qty) FROM trades [RANGE 1 HOUR] WHERE venue = 'Y' GROUP BY symbol;

What the second says is known from the first; new are `b`, `[RANGE 1 HOUR]` and `'Y'`. So its text is enough,
without tokens. Where its expressions stand is not known; whoever asks for that, to tell what is wrong with
one, has it read after all.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate

from sqlglot.tokenizer_core import Token

from weft.errors import QueryError
from weft.lang.clauses import Clauses
from weft.lang.compared import Kind, compared, kind_of
from weft.lang.cursor import Cursor, is_free
from weft.lang.dialect import Weft
from weft.lang.patterns import Constant, Filled, Pattern, pattern_of
from weft.lang.plain import has_span, source_at
from weft.lang.queries import EXPLAINED, end_of_select, query_clauses
from weft.lang.select import select
from weft.lang.statements import (
    CreateQuery,
    Expr,
    Item,
    LaterExpr,
    OrderKey,
    Select,
    Sink,
    Source,
    WindowSpec,
)
from weft.lang.text import Text
from weft.lang.tokens import tokens_between
from weft.lang.windows import window

_HEAD = re.compile(r"(?:\s|--[^\r\n]*[\r\n])*(CREATE\s+QUERY\s+)(\w+)(?=\s+AS\s+SELECT\b)", re.IGNORECASE)
_VARIED = re.compile(r"('(?:[^']|'')*'|\[(?:[^\[\]']|'[^']*')*\]|(?<![\w.])[0-9]+(?:\.[0-9]+)?(?![\w.]))")
_STRING = re.compile(r"'(?:[^'\\]|'')*'")
_INVOLVED = re.compile(r"""["`\\]|--|/\*|\w'""")  # other quotes, escapes, comments, where strings are '
_SELECT = 4  # its place among the tokens: CREATE QUERY name AS SELECT
_FIRST_WORDS = frozenset(key.split()[0] for key in Weft.Tokenizer.KEYWORDS)

_Spot = tuple[int, int]  # which of the fixed pieces, and how far into it
_Stretch = tuple[_Spot, _Spot]


@dataclass(frozen=True, slots=True)
class _Cut:
    """The text of a query, cut around what may differ: its name, constants, and what stands in brackets."""

    fixed: tuple[str, ...]  # before, between and behind
    varied: tuple[str, ...]
    begins: tuple[int, ...]  # of each fixed piece

    def at(self, spot: _Spot) -> int:
        return self.begins[spot[0]] + spot[1]

    def spot(self, at: int) -> _Spot:
        piece = bisect_right(self.begins, at) - 1
        return piece, at - self.begins[piece]

    def which(self, start: int, end: int) -> int | None:
        """Which of what may differ this stretch is, from one place in the text up to another."""
        piece, into = self.spot(start)
        is_one = piece < len(self.varied) and into == len(self.fixed[piece])
        return piece if is_one and end == self.begins[piece + 1] else None


def _cut(text: Text, start: int, end: int) -> _Cut | None:
    """The query that this stretch holds; None: it is none, or has to be read to be told."""
    head = _HEAD.match(text.text, start, end)
    if head is None or _INVOLVED.search(_STRING.sub("'", text.text[head.start(1) : end])):
        return None
    name = head[2]
    if not is_free(name) or name.upper() in _FIRST_WORDS or name.upper() in EXPLAINED:
        return None
    pieces = [head[1], name, *_VARIED.split(text.text[head.end() : end])]
    begins = [head.start(1), *accumulate(map(len, pieces), initial=head.start(1))]
    return _Cut(tuple(pieces[::2]), tuple(pieces[1::2]), tuple(begins[1::2]))


@dataclass(frozen=True, slots=True)
class _First:
    """A SELECT that was read, and the pattern of its WHERE if that has constants."""

    select: Select
    where: Pattern | None


@dataclass(frozen=True, slots=True)
class _Form:
    """Queries with the same fixed pieces, and what each of their varied ones is."""

    select: _Stretch
    source: _Stretch
    window: int | None
    where: tuple[int, ...]  # what columns are compared with
    others: tuple[int, ...]  # in the SELECT: only queries that have the same are alike
    clauses: _Spot  # where they begin
    firsts: dict[tuple[str, ...], _First] = field(default_factory=dict)  # by the others


class Alike:
    """The queries of one program."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._forms: dict[tuple[tuple[str, ...], tuple[Kind, ...]], _Form] = {}
        self._windows: dict[str, WindowSpec | None] = {}
        self._clauses: dict[str, tuple[int, Clauses]] = {}  # and where they were read

    def query(self, start: int, end: int) -> CreateQuery | None:
        """The query that stands in this stretch of the text; None: it has to be read."""
        cut = _cut(self._text, start, end)
        form = None if cut is None else self._forms.get((cut.fixed, _kinds(cut)))
        if cut is None or form is None:
            return None
        first = form.firsts.get(_chosen(cut, form.others))
        if first is None:
            return None
        try:
            window, clauses = self._window(cut, form), self._said(cut, form, end)
        except QueryError:  # it is told by whoever reads it
            return None
        if form.window is not None and window is None:
            return None
        select = self._select(cut, form, first, window)
        place = self._text.place(cut.begins[0], cut.begins[1])
        return CreateQuery(cut.varied[0], select, place=place, **clauses)

    def learn(self, start: int, end: int, tokens: list[Token], query: CreateQuery) -> None:
        """Know those like this one, which was read from this stretch."""
        cut = _cut(self._text, start, end)
        if cut is None:
            return
        stop = end_of_select(tokens, _SELECT)
        key = cut.fixed, _kinds(cut)
        form = self._forms.get(key) or self._form(cut, query, tokens, stop, end)
        self._forms[key] = form
        pattern = self._pattern(query.select, cut, form.where)
        if pattern is not None or not form.where:
            form.firsts[_chosen(cut, form.others)] = _First(query.select, pattern)

    def _form(self, cut: _Cut, query: CreateQuery, tokens: list[Token], stop: int, end: int) -> _Form:
        chosen = tokens[_SELECT:stop]
        source, *behind = chosen[source_at(chosen) :][:2]
        is_windowed = query.select.source.window is not None
        window = cut.spot(behind[0].start)[0] if is_windowed else None
        begin = tokens[stop].start if stop < len(tokens) else end
        found = [cut.which(chosen[at].start, chosen[at].end + 1) for at in compared(chosen)]
        where = tuple(at for at in found if at is not None)
        if len(where) < len(found) or self._pattern(query.select, cut, where) is None:
            where = ()  # they cannot be told apart
        inside = [at for at in range(1, len(cut.varied)) if cut.begins[at] + len(cut.fixed[at]) < begin]
        return _Form(
            (cut.spot(chosen[0].start), cut.spot(chosen[-1].end + 1)),
            (cut.spot(source.start), cut.spot(source.end + 1)),
            window,
            where,
            tuple(at for at in inside if at not in where and at != window),
            cut.spot(begin),
        )

    def _pattern(self, read: Select, cut: _Cut, where: Iterable[int]) -> Pattern | None:
        places = [self._text.place(cut.begins[at] + len(cut.fixed[at]), cut.begins[at + 1]) for at in where]
        return pattern_of(read.where, places) if places else None

    def _window(self, cut: _Cut, form: _Form) -> WindowSpec | None:
        """Its window; None: it has none, or one that makes it no plain query."""
        if form.window is None:
            return None
        start, end = cut.begins[form.window] + len(cut.fixed[form.window]), cut.begins[form.window + 1]
        said = cut.varied[form.window]
        if said not in self._windows:
            tokens = tokens_between(self._text, start, end)
            self._windows[said] = None if has_span(tokens) else window(Cursor(self._text, tokens))
        known = self._windows[said]
        return known and replace(known, place=self._text.place(start, end))

    def _said(self, cut: _Cut, form: _Form, end: int) -> Clauses:
        """The clauses behind its SELECT."""
        start = cut.at(form.clauses)
        said = self._text.text[start:end]
        if said not in self._clauses:
            tokens = tokens_between(self._text, start, end - 1)
            self._clauses[said] = start, query_clauses(Cursor(self._text, tokens))
        read_at, found = self._clauses[said]
        sink = found.get("sink")
        if not isinstance(sink, Sink) or sink.place is None:
            return found
        return found | {"sink": replace(sink, place=self._text.moved(sink.place, start - read_at))}

    def _select(self, cut: _Cut, form: _Form, first: _First, window: WindowSpec | None) -> Select:
        text = self._text
        known = first.select.source
        place = text.place(*map(cut.at, form.source))
        source = Source(known.stream, window, known.alias, place)
        later = _Later(text, *map(cut.at, form.select))
        if first.where is None:
            return later.like(first.select, source, None)
        constants = [_constant(one) for one in _chosen(cut, form.where)]
        where = first.where.fill(constants, lambda: later.where.place, lambda: later.where.tree)
        return later.like(first.select, source, where)


def _chosen(cut: _Cut, places: Iterable[int]) -> tuple[str, ...]:
    return tuple(cut.varied[at] for at in places)


def _kinds(cut: _Cut) -> tuple[Kind, ...]:
    return tuple(() if one[0] == "[" else kind_of(_constant(one)) for one in cut.varied[1:])


def _constant(written: str) -> Constant:
    return Constant(written[1:-1].replace("''", "'"), True) if written[0] == "'" else Constant(written, False)


class _Later:
    """A SELECT that is read when it is asked for; until then it is a stretch of the text."""

    def __init__(self, text: Text, start: int, end: int) -> None:
        self._text, self._start, self._end = text, start, end

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
