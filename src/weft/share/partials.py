"""One aggregate of a query -> the partials it is made of, and how it comes out of them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from weft.kernels.sketches import histogram_bucket, hll_register, hll_rho, precision_for
from weft.lang.expressions import expr
from weft.lang.parse import parse_expression
from weft.lang.statements import Expr
from weft.plan.coercion import decimal_parts, is_decimal
from weft.plan.nodes import Aggregation
from weft.share.nodes import Op, Partial
from weft.share.parts import conjunction

Params = tuple[float | int | tuple[float, ...], ...]

_SMALL = {"tinyint", "smallint", "int"}
_ROOMY = 28  # digits: those of a sum of ten thousand million values fit the 38 that there are
_DIRECT = {
    "min": Op.MIN,
    "max": Op.MAX,
    "bool_and": Op.MIN,
    "bool_or": Op.MAX,
    "first": Op.FIRST,
    "last": Op.LAST,
    "min_by": Op.MIN_BY,
    "max_by": Op.MAX_BY,
}
_OF_VALUES = ("count_distinct", "approx_count_distinct", "approx_percentile")
_MOMENTS = {"var_pop", "var_samp", "stddev_pop", "stddev_samp"}


@dataclass(frozen=True, slots=True)
class Recipe:
    """The partials of one aggregate; `extra` is the additional key of the feed they live in, if any."""

    partials: tuple[Partial, ...]
    extra: Expr | None = None


def has_extra_key(call: Aggregation) -> bool:
    """Does it live in a feed with a key more?"""
    return call.function in _OF_VALUES


def recipe(call: Aggregation, where: Expr | None) -> Recipe:
    """What `call` needs of the rows for which `where` is true; its arguments must be safe already."""
    match call.function:
        case "count_star":
            return Recipe((Partial(Op.COUNT, where=where),))
        case "count":
            return Recipe((_count(call.args[0], where),))
        case "sum":
            return Recipe((_sum(call, where),))
        case "avg":
            return Recipe((_sum(call, where), _count(call.args[0], where)))
        case name if name in _OF_VALUES:
            return _by_extra_key(call, where)
        case name if name in _MOMENTS:
            return Recipe((Partial(Op.MOMENTS, call.args[0], where=where, type=_type(call)),))
        case _:
            return Recipe((_direct(call, where),))


def _count(arg: Expr, where: Expr | None) -> Partial:
    return Partial(Op.COUNT, arg, where=where)


def _sum(call: Aggregation, where: Expr | None) -> Partial:
    type_ = _type(call)
    return Partial(sum_op(type_), call.args[0], where=where, type=type_)


def sum_op(type_: str | None) -> Op:
    """How values of this type are added without losing a bit that SQL promises."""
    if type_ in _SMALL:
        return Op.SUM_INT
    if type_ == "bigint":
        return Op.SUM_LONG
    if type_ is not None and is_decimal(type_):
        return Op.SUM_DECIMAL if decimal_parts(type_)[0] <= _ROOMY else Op.SUM_WIDE
    return Op.SUM_FLOAT


def _direct(call: Aggregation, where: Expr | None) -> Partial:
    arg, by = call.args[0], call.args[1] if len(call.args) > 1 else None
    if call.ignore_nulls:
        where = conjunction([*([where] if where else []), _not_null(arg)])
    by_type = call.arg_types[1] if len(call.arg_types) > 1 else None
    return Partial(_DIRECT[call.function], arg, by, where, _type(call), by_type)


def _by_extra_key(call: Aggregation, where: Expr | None) -> Recipe:
    """Aggregates of the set or distribution of values: one more key, so that slices still combine."""
    arg, type_ = call.args[0], _type(call)
    where = conjunction([*([where] if where else []), _not_null(arg)])
    present = Partial(Op.COUNT, where=where)
    if call.function == "count_distinct":
        return Recipe((present,), arg)
    if call.function == "approx_percentile":
        return Recipe((present,), parse_expression(histogram_bucket(arg.sql, type_, accuracy(call.params))))
    precision = precision_for(deviation(call.params))
    rho = parse_expression(hll_rho(arg.sql, precision))
    register = parse_expression(hll_register(arg.sql, precision))
    return Recipe((present, Partial(Op.MAX, rho, where=where, type="int")), register)


def accuracy(params: Params) -> int:
    """The accuracy asked of approx_percentile; Spark's own default."""
    value = params[1] if len(params) > 1 else 10_000
    assert isinstance(value, int)
    return value


def deviation(params: Params) -> float:
    """The relative standard deviation allowed to approx_count_distinct; Spark's own default."""
    value = params[0] if params else 0.05
    assert isinstance(value, float | int)
    return float(value)


def shares(params: Params) -> float | tuple[float, ...]:
    """The percentage, or percentages, asked of approx_percentile."""
    return params[0]


def _not_null(arg: Expr) -> Expr:
    return expr(exp.Not(this=exp.Is(this=exp.paren(arg.tree.copy()), expression=exp.Null())))


def _type(call: Aggregation) -> str | None:
    return call.arg_types[0] if call.arg_types else None
