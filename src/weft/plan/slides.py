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
    """Answers as of each `e = offset (mod every)`; `range` is the longest of the windows."""

    every: Duration
    offset: Duration
    range: Duration


def slide_of(body: Body, views: Views) -> Slide | None:
    """The slide of the windows of a query; raises where they do not agree."""
    spans = list(_spans(body, views))
    sliding = [span for span in spans if span.slide is not None]
    if not sliding:
        _refuse_offset(spans)
        return None
    first = sliding[0]
    for span in spans:
        if span.slide is None:
            raise QueryError(
                "different-slides", "this window has no SLIDE, but another of the query has", at=span.place,
                help="write the same SLIDE in all windows, or in none",
            )  # fmt: skip
        if (span.slide, span.offset) != (first.slide, first.offset):
            raise QueryError(
                "different-slides", "this window slides otherwise than another of the query", at=span.place,
                because="as of when would it be answered?",
                help="write the same SLIDE and OFFSET in all windows",
            )  # fmt: skip
    lengths = [span.range for span in spans if span.range is not None]
    if not lengths:
        raise QueryError(
            "bad-window", "SLIDE needs a window that has a length", at=first.place,
            because="when would the answer's windows begin?",
            help="write for instance [RANGE 1 DAY SLIDE 1 MINUTE]",
        )  # fmt: skip
    assert first.slide is not None
    return Slide(first.slide, first.offset, max(lengths))


def _refuse_offset(spans: list[Span]) -> None:
    for span in spans:
        if span.offset:
            raise QueryError(
                "bad-window", "OFFSET needs SLIDE", at=span.place,
                because="it says when windows end, and this one slides on all the time",
                help="add SLIDE, or remove OFFSET",
            )  # fmt: skip


def _spans(body: Body, views: Views) -> Iterator[Span]:
    match body:
        case Combining(left=left, right=right):
            yield from _spans(left, views)
            yield from _spans(right, views)
        case Picking(source=source, exists=exists):
            yield from _spans_from(source, views)
            for one in exists:
                yield from _spans(one.body, views)
        case _:
            assert_never(body)


def _spans_from(source: From, views: Views) -> Iterator[Span]:
    """The windows of the query itself: a subquery or view with a window behind it is answered by itself."""
    match source:
        case FromName(span=Span() as span) | FromBody(span=Span() as span):
            yield span
        case FromName(name=name):
            view = views.get(name.lower())
            if view is not None:
                yield from _spans(view.body, views)
        case FromBody(body=body):
            yield from _spans(body, views)
        case FromJoin(left=left, right=right):
            yield from _spans_from(left, views)
            yield from _spans_from(right, views)
        case _:
            assert_never(source)
