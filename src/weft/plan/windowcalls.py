"""Spark's `window(ts, '10 minutes')`, which weft has not: the window to write after the stream instead."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from weft.errors import Place, QueryError
from weft.lang.expressions import place_of
from weft.lang.printer import print_window
from weft.lang.statements import Expr, Select, WindowSpec
from weft.plan.functions import Call, call_of
from weft.times import Duration, duration

WINDOW_CALLS = frozenset(("window", "session_window", "window_time", "tumble", "hop"))
_EXAMPLE = "[RANGE 5 MINUTES SLIDE 10 SECONDS]"


def refuse_window_calls(select: Select) -> None:
    """Raise at the first window that is written as a call, in GROUP BY before all, where Spark wants it."""
    for source in _expressions(select):
        for node in source.tree.walk():
            call = call_of(node)
            if call is not None and call.name in WINDOW_CALLS:
                raise window_call(call, place_of(node) or source.place, select.source.stream)


def _expressions(select: Select) -> Iterator[Expr]:
    yield from select.group_by
    yield from (item.expr for item in select.items)
    yield from (source for source in (select.where, select.having) if source is not None)
    yield from (key.expr for key in select.order_by)


def window_call(call: Call, at: Place | None, stream: str = "trades") -> QueryError:
    return QueryError(
        "window-function",
        f"weft has no `{call.name}()`",
        at=at,
        because="the window belongs to the stream",
        help=f"write it after the stream: FROM {stream} {_in_brackets(call)}",
    )


def _in_brackets(call: Call) -> str:
    """The window in our words if that can be told, else an example."""
    lengths = [_length(arg) for arg in call.args[1:]]
    if call.name != "window" or not 1 <= len(lengths) <= 2 or not all(lengths):
        return _EXAMPLE
    range, slide = lengths[0] or 0, lengths[-1] or 0
    return print_window(WindowSpec(range, slide))


def _length(arg: exp.Expr) -> Duration | None:
    return duration(arg.name) if isinstance(arg, exp.Literal) and arg.is_string else None
