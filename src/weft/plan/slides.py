"""As of when a query is answered: the one SLIDE of all its windows, or every instant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from weft.errors import QueryError
from weft.lang.bodies import Body, Combining, From, FromBody, FromJoin, FromName, Picking, Span
from weft.lang.statements import CreateView
from weft.times import Duration

Views = Mapping[str, CreateView | None]


@dataclass(frozen=True, slots=True)
class Slide:
    """Answers as of each `e = offset (mod every)`; `range` is that of the longest window, 0 if none ends."""

    every: Duration
    offset: Duration
    range: Duration


@dataclass(frozen=True, slots=True)
class _Found:
    """A window of a query; those of subqueries need not say SLIDE: the query around them does."""

    span: Span
    inner: bool


def slide_of(body: Body, views: Views) -> Slide | None:
    """The slide of the windows of a query; raises where they do not agree."""
    windows = list(_windows(body, views, False))
    sliding = [one.span for one in windows if one.span.slide is not None]
    if not sliding:
        _refuse_offset([one.span for one in windows])
        return None
    first = sliding[0]
    for one in windows:
        _check_agrees(one, first)
    assert first.slide is not None
    return Slide(first.slide, first.offset, max(one.span.range or 0 for one in windows))


def _check_agrees(one: _Found, first: Span) -> None:
    span = one.span
    if span.slide is None and not one.inner:
        raise QueryError(
            "different-slides", "this window has no SLIDE, but another of the query has", at=span.place,
            help="write the same SLIDE in all windows, or in none",
        )  # fmt: skip
    if span.slide is not None and (span.slide, span.offset) != (first.slide, first.offset):
        raise QueryError(
            "different-slides", "this window slides otherwise than another of the query", at=span.place,
            because="as of when would it be answered?",
            help="write the same SLIDE and OFFSET in all windows",
        )  # fmt: skip


def _refuse_offset(spans: list[Span]) -> None:
    for span in spans:
        if span.offset:
            raise QueryError(
                "bad-window", "OFFSET needs SLIDE", at=span.place,
                because="it says when windows end, and this one slides on all the time",
                help="add SLIDE, or remove OFFSET",
            )  # fmt: skip


def _windows(body: Body, views: Views, inner: bool) -> Iterator[_Found]:
    match body:
        case Combining(left=left, right=right):
            yield from _windows(left, views, inner)
            yield from _windows(right, views, inner)
        case Picking(source=source, exists=exists):
            yield from _windows_from(source, views, inner)
            for one in exists:
                yield from _windows(one.body, views, True)
        case _:
            assert_never(body)


def _windows_from(source: From, views: Views, inner: bool) -> Iterator[_Found]:
    """The windows of the query itself: a subquery or view with a window behind it is answered by itself."""
    match source:
        case FromName(span=Span() as span) | FromBody(span=Span() as span):
            yield _Found(span, inner)
        case FromName(name=name):
            view = views.get(name.lower())
            if view is not None:
                yield from _windows(view.body, views, True)
        case FromBody(body=body):
            yield from _windows(body, views, True)
        case FromJoin(left=left, right=right):
            yield from _windows_from(left, views, inner)
            yield from _windows_from(right, views, inner)
        case _:
            assert_never(source)
