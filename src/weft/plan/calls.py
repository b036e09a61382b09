"""Is every function called in an expression one that may be called there, with as many arguments?"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from weft.errors import Place, QueryError, nearest
from weft.lang.expressions import place_of
from weft.lang.statements import Expr
from weft.plan.functions import (
    AGGREGATES,
    CLOCK,
    Call,
    Function,
    call_of,
    function_of,
    has_unit,
    kind_of,
    known_functions,
)
from weft.plan.unitcalls import unit_problem
from weft.plan.windowcalls import WINDOW_CALLS, window_call

_ELSEWHERE = {"average": "avg", "stdev": "stddev", "var": "variance", "total": "sum"}  # in other systems
_NOT_YET = {
    "window": (
        "`{}` needs OVER, which is not supported",
        "aggregate over a window of time, such as [RANGE 1 MINUTE SLIDE 10 SECONDS]",
    ),
    "generator": (
        "`{}` makes several rows of one, which is not supported",
        "unnest before the rows reach weft",
    ),
    "nondeterministic": (
        "`{}` may give another value each time it is evaluated",
        "an answer must come out the same after a restart: take the value from a column of the stream",
    ),
}


def call_problems(source: Expr) -> Iterator[QueryError]:
    """What is wrong with the scalar calls in an expression; aggregates are judged where they are bound."""
    for node in source.tree.walk():
        call = call_of(node)
        if call is not None and not isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
            problem = _problem(call, place_of(node) or source.place)
            if problem is not None:
                yield problem


def _problem(call: Call, at: Place | None) -> QueryError | None:
    if call.name in WINDOW_CALLS:
        return window_call(call, at)
    kind, function = kind_of(call.name), function_of(call.name)
    if kind is None:
        return unknown_function(call.name, at)
    if call.name in CLOCK or kind == "aggregate" or function is None:
        return None
    if kind in _NOT_YET:
        what, help = _NOT_YET[kind]
        return QueryError(f"{kind}-function", what.format(call.name), at=at, help=help)
    if has_unit(call):
        return unit_problem(call, at)
    if call.name == "unix_timestamp" and not call.args:
        return QueryError(
            "nondeterministic-function",
            "`unix_timestamp()` without an argument reads the clock of the machine",
            at=at,
            help="write unix_timestamp(current_timestamp()), which is taken once for a batch and recorded",
        )
    return _wrong_count(function, len(call.args), at)


def _wrong_count(function: Function, count: int, at: Place | None) -> QueryError | None:
    if function.takes(count):
        return None
    return wrong_count(function.name, function.least, function.most, count, at)


def wrong_count(name: str, least: int, most: int | None, count: int, at: Place | None) -> QueryError:
    given = f"{count} {'is' if count == 1 else 'are'} given" if count else "none is given"
    return QueryError("wrong-arity", f"`{name}` takes {_count(least, most)}, but {given}", at=at)


def _count(least: int, most: int | None) -> str:
    if most == 0:
        return "no argument"
    if least == most:
        return f"{least} argument{'s' if least != 1 else ''}"
    if most is None:
        return f"at least {least} argument{'s' if least != 1 else ''}"
    return f"{least} to {most} arguments"


def name_in(at: Place | None, name: str) -> Place | None:
    """The name of the function that is called at this place, without its arguments."""
    if at is None or not at.source[at.column - 1 :].lower().startswith(name):
        return at
    return at._replace(length=len(name))


def unknown_function(name: str, at: Place | None) -> QueryError:
    """An error that offers what Spark calls it, or the nearest of its functions."""
    there = _ELSEWHERE.get(name.lower())
    return QueryError(
        "unknown-function",
        f"there is no function `{name}`",
        at=name_in(at, name),
        because=f"did you mean `{there}`?" if there else nearest(name, {*known_functions(), *AGGREGATES}),
        help="all of Spark's SQL functions can be used",
    )
