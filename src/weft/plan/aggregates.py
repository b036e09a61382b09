"""An aggregate call -> Aggregation: one name for each function, constants apart, typed."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from weft.errors import Place, QueryError, nearest
from weft.lang.expressions import expr, place_of
from weft.lang.statements import Expr
from weft.plan.calls import name_in, wrong_count
from weft.plan.coercion import (
    bounded,
    decimal_parts,
    is_decimal,
    is_integral,
    is_numeric,
    is_supported,
    number_text,
)
from weft.plan.functions import AGGREGATES, Call, call_of
from weft.plan.nodes import Aggregation
from weft.plan.rows import Rows, refuse_aggregates, refuse_window_columns

Params = tuple[float | int | tuple[float, ...], ...]

_ARITY: dict[str, tuple[int, int | None]] = {
    "count": (1, None),
    "min_by": (2, 2),
    "max_by": (2, 2),
    "first": (1, 2),
    "last": (1, 2),
    "approx_count_distinct": (1, 2),
    "approx_percentile": (2, 3),
}
_DISTINCT_MEANS_NOTHING = frozenset(("min", "max", "bool_and", "bool_or", "approx_count_distinct"))
_NUMBERS = frozenset(("sum", "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp"))
_BOOLEANS = frozenset(("bool_and", "bool_or"))
SAME_TYPE = frozenset(("min", "max", "first", "last", "min_by", "max_by"))
_BIGINTS = frozenset(("count_star", "count", "count_distinct", "approx_count_distinct"))
_TIMES = ("date", "timestamp", "timestamp_ntz")
_INSTEAD = {
    "median": "approx_percentile(x, 0.5)",
    "percentile": "approx_percentile",
    "any_value": "first or last",
    "collect_set": "count(DISTINCT x)",
    "try_sum": "sum",
    "try_avg": "avg",
}
_DEFAULT_ACCURACY = 10_000
_DEFAULT_DEVIATION = 0.05


@dataclass(frozen=True, slots=True)
class _Parts:
    """A call taken apart: arguments that are computed per row, and constants."""

    function: str
    args: tuple[exp.Expr, ...] = ()
    filter: exp.Expr | None = None
    params: Params = ()
    ignore_nulls: bool = False


def bind_aggregation(tree: exp.Expr, name: str, rows: Rows, place: Place | None) -> Aggregation:
    """The aggregate call `tree`, over resolved columns of the stream, under the name `name`."""
    call = call_of(tree)
    assert call is not None
    at = place_of(tree) or place
    parts = _normalise(_checked(call, at), at)
    args = tuple(expr(arg, place_of(arg) or at) for arg in parts.args)
    for arg in args:
        _refuse_inside(arg)
        rows.check(arg)
    filter = expr(parts.filter, place_of(parts.filter) or at) if parts.filter is not None else None
    if filter is not None:
        _refuse_inside(filter)
        rows.check_condition(filter, "FILTER" if call.filter is not None else call.name.upper())
    types = tuple(rows.type(arg) for arg in args)
    _check_types(parts.function, args, types, at)
    type = result_type(parts.function, types, parts.params)
    return Aggregation(
        name, parts.function, args, filter, parts.params, parts.ignore_nulls, types, type, place=at
    )


def _refuse_inside(part: Expr) -> None:
    refuse_aggregates(
        part, "nested-aggregate", "an aggregate cannot stand inside another, nor in its FILTER",
        help="compute the inner aggregate in a query of its own",
    )  # fmt: skip
    refuse_window_columns(part, "an aggregate", help="use it outside, or use the event time of the rows")


def result_type(function: str, arg_types: tuple[str | None, ...], params: Params = ()) -> str | None:
    """The type of the aggregate's value; None where that of its argument is unknown."""
    if function in _BIGINTS:
        return "bigint"
    if function in _BOOLEANS:
        return "boolean"
    type = arg_types[0]
    if function in SAME_TYPE:
        return type
    if function == "approx_percentile":
        return type if type is None or not isinstance(params[0], tuple) else f"array<{type}>"
    if function in ("sum", "avg"):
        return _sum_or_avg(function, type)
    return "double"  # var_*, stddev_*


def _sum_or_avg(function: str, type: str | None) -> str | None:
    if type is None:
        return None
    if is_decimal(type):
        precision, scale = decimal_parts(type)
        return bounded(precision + 10, scale) if function == "sum" else bounded(precision + 4, scale + 4)
    return "bigint" if function == "sum" and is_integral(type) else "double"


def _checked(call: Call, at: Place | None) -> Call:
    function = AGGREGATES.get(call.name)
    if function is None:
        raise _not_supported(call.name, at)
    least, most = _ARITY.get(function, (1, 1))
    if len(call.args) < least or (most is not None and len(call.args) > most):
        raise wrong_count(call.name, least, most, len(call.args), at)
    if call.distinct and function not in _DISTINCT_MEANS_NOTHING and function != "count":
        raise QueryError(
            "distinct-aggregate",
            f"`{call.name}(DISTINCT ...)` is not supported",
            at=at,
            help="COUNT(DISTINCT x) is; so are MIN and MAX, for which DISTINCT makes no difference",
        )
    if call.ignore_nulls and function not in ("first", "last"):
        raise QueryError(
            "ignore-nulls",
            f"IGNORE NULLS makes no sense with `{call.name}`",
            at=at,
            help="leave it out; it belongs to FIRST and LAST",
        )
    counts_rows = function == "count" and not call.distinct and call.args == (exp.Star(),)
    if any(isinstance(arg, exp.Star) or arg.is_star for arg in call.args) and not counts_rows:
        raise QueryError(
            "star-argument",
            f"`*` cannot stand in this `{function}`",
            at=at,
            help="name a column; COUNT(*) counts rows",
        )
    return call


def _not_supported(name: str, at: Place | None) -> QueryError:
    instead = _INSTEAD.get(name)
    return QueryError(
        "unsupported-aggregate",
        f"weft does not compute `{name}`",
        at=name_in(at, name),
        because=f"use {instead}" if instead else nearest(name, AGGREGATES),
        help="it computes " + ", ".join(sorted(set(AGGREGATES.values()))),
    )


def _normalise(call: Call, at: Place | None) -> _Parts:
    function, args = AGGREGATES[call.name], call.args
    match function:
        case "count":
            return _normalise_count(call, at)
        case "count_if":
            return _Parts("count_star", filter=_both(call.filter, args[0]))
        case "first" | "last":
            ignore = call.ignore_nulls or (len(args) == 2 and _flag(args[1], call.name, at))
            return _Parts(function, args[:1], call.filter, ignore_nulls=ignore)
        case "approx_count_distinct":
            return _Parts(function, args[:1], call.filter, (_deviation(args[1:], at),))
        case "approx_percentile":
            params = (_percentages(args[1], at), _accuracy(args[2:], at))
            return _Parts(function, args[:1], call.filter, params)
        case _:
            return _Parts(function, args, call.filter)


def _normalise_count(call: Call, at: Place | None) -> _Parts:
    if call.distinct:
        if len(call.args) > 1:
            raise QueryError(
                "distinct-aggregate",
                "COUNT(DISTINCT ...) of several columns is not supported",
                at=at,
                help="count the distinct values of one expression",
            )
        is_null = isinstance(call.args[0].unnest(), exp.Null)  # of no value, distinct or not, there are none
        return _Parts("count" if is_null else "count_distinct", call.args, call.filter)
    args = tuple(arg for arg in call.args if not _never_null(arg))
    if not args:
        return _Parts("count_star", filter=call.filter)
    if len(args) == 1:
        return _Parts("count", args, call.filter)
    known = exp.and_(*(exp.Not(this=exp.Is(this=arg.copy(), expression=exp.Null())) for arg in args))
    return _Parts("count_star", filter=_both(call.filter, known))


def _never_null(tree: exp.Expr) -> bool:
    return isinstance(tree.unnest(), exp.Star | exp.Boolean | exp.Literal) or number_text(tree) is not None


def _both(filter: exp.Expr | None, predicate: exp.Expr) -> exp.Expr:
    return exp.and_(filter, predicate) if filter is not None else predicate


def _flag(tree: exp.Expr, name: str, at: Place | None) -> bool:
    if not isinstance(tree, exp.Boolean):
        raise _bad_constant(
            f"the second argument of `{name}` must be TRUE or FALSE", at, f"{name}(x, TRUE) to ignore nulls"
        )
    return bool(tree.this)


def _number(tree: exp.Expr, what: str, at: Place | None, example: str) -> float:
    text = number_text(tree)
    if text is None:
        raise _bad_constant(f"{what} must be a number written out", at, example)
    return float(text)


def _deviation(rest: tuple[exp.Expr, ...], at: Place | None) -> float:
    what, example = "the relative standard deviation", "approx_count_distinct(x, 0.02)"
    found = _number(rest[0], what, at, example) if rest else _DEFAULT_DEVIATION
    if not 0 < found < 1:
        raise _bad_constant(f"{what} must lie between 0 and 1", at, example)
    return found


def _percentages(tree: exp.Expr, at: Place | None) -> float | tuple[float, ...]:
    example = "approx_percentile(x, 0.95), or approx_percentile(x, array(0.5, 0.95))"
    call = call_of(tree)
    many = call is not None and call.name == "array"
    trees = call.args if call is not None and many else (tree,)
    found = tuple(_number(one, "a percentage", at, example) for one in trees)
    if not found or not all(0 <= one <= 1 for one in found):
        raise _bad_constant("a percentage must lie between 0 and 1", at, example)
    return found if many else found[0]


def _accuracy(rest: tuple[exp.Expr, ...], at: Place | None) -> int:
    example = "approx_percentile(x, 0.95, 10000)"
    accuracy = _number(rest[0], "the accuracy", at, example) if rest else _DEFAULT_ACCURACY
    if accuracy < 1 or accuracy != int(accuracy):
        raise _bad_constant("the accuracy must be a whole number of at least 1", at, example)
    return int(accuracy)


def _bad_constant(what: str, at: Place | None, example: str) -> QueryError:
    return QueryError("bad-constant", what, at=at, help=f"for instance {example}")


def _check_types(
    function: str, args: tuple[Expr, ...], types: tuple[str | None, ...], at: Place | None
) -> None:
    for arg, type in zip(args, types):
        if function != "count" and not is_supported(type):  # whether a value is there can be asked of all
            raise QueryError(
                "unsupported-type",
                f"`{function}` of a value of type {type} is not supported",
                at=arg.place or at,
                help="aggregate numbers, strings, booleans, dates or timestamps",
            )
    first = types[0] if types else None
    if first is None:
        return
    if function in _NUMBERS and not is_numeric(first):
        raise _wrong_type(function, "numbers", first, args[0], at)
    if function in _BOOLEANS and first != "boolean":
        raise _wrong_type(function, "conditions", first, args[0], at)
    if function == "approx_percentile" and not (is_numeric(first) or first in _TIMES):
        raise _wrong_type(function, "numbers, dates or timestamps", first, args[0], at)


def _wrong_type(function: str, wanted: str, type: str, arg: Expr, at: Place | None) -> QueryError:
    help = {
        "string": f"convert it: CAST({arg.sql} AS DOUBLE)",
        "boolean": f"count the rows for which it holds: COUNT_IF({arg.sql})",
    }.get(type, "convert it to a number, for instance with unix_timestamp")
    if wanted == "conditions":
        help = "compare it with something"
    what = f"`{function}` is for {wanted}, but `{arg.sql}` is of type {type}"
    return QueryError("wrong-type", what, at=arg.place or at, help=help)
