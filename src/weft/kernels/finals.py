"""From combined partials to the value of an aggregate, as Spark would give it.

function                     partials, in this order            null when
count_star, count            count                              never
sum                          sum                                no value was seen
avg                          sum, count                         count is 0
var_*, stddev_*              moments                            no value; *_samp: fewer than two
min, max, bool_and, bool_or  min or max                         no value was seen
first, last, min_by, max_by  first, last, min_by, max_by        no row, or the value itself is null
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.errors import Bug
from weft.kernels.arrow import all_true, array_of, arrow_type
from weft.kernels.columns import Values
from weft.kernels.combine import Bools, Column, Floats, Ints
from weft.kernels.decimals import from_limbs, to_decimal

Finished = tuple[pa.Array, Bools | None]  # values, and where it fails (ANSI overflow); None: nowhere

_TWO_32 = 4294967296.0
_NO_ROOM = 10**38  # the least sum that no decimal holds
_QUOTIENT_SCALE = 38  # Spark divides decimals to so many digits, then rounds to the result's


def finish(
    function: str, arg_type: str | None, result_type: str | None, values: Sequence[Values]
) -> Finished:
    """The values of an aggregate over an argument of `arg_type`; one entry of `values` per partial."""
    match function:
        case "count_star" | "count":
            return array_of(values[0][0]), None
        case "sum":
            return _sum(arg_type, result_type, values[0])
        case "avg":
            return _average(arg_type, result_type, values[0], values[1][0])
        case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp":
            return _spread(function, values[0]), None
        case "min" | "max" | "bool_and" | "bool_or" | "first" | "last" | "min_by" | "max_by":
            return _typed(values[0][0], result_type), None
        case _:
            raise Bug("unknown-function", f"no final for the aggregate `{function}`")


def _sum(arg_type: str | None, result_type: str | None, values: Values) -> Finished:
    if _is_decimal(arg_type):
        return _decimal(from_limbs(list(values[:-1])), result_type, values[-1] > 0)
    if _is_float(arg_type):
        return array_of(values[0], ~_no_terms(values[0])), None
    if arg_type == "bigint":
        hi, lo, seen = values
        return _long_sum(hi, lo, seen > 0)
    total, seen = values
    return array_of(total, seen > 0), None


def _long_sum(hi: Ints, lo: Ints, valid: Bools) -> Finished:
    """hi * 2^32 + lo, failing where that does not fit 64 bits."""
    top = hi + (lo >> 32)
    failed = top + 0x80000000 >> 32 != 0
    total = (top << 32) | (lo & 0xFFFFFFFF)
    if not failed.any():
        return array_of(total, valid), None
    return array_of(total, valid & ~failed), failed


def _nearly(hi: Ints, lo: Ints) -> Floats:
    """hi * 2^32 + lo as the nearest number there is: carried first, for of negative values both are large."""
    return (hi + (lo >> 32)) * _TWO_32 + (lo & 0xFFFFFFFF)


def _average(arg_type: str | None, result_type: str | None, values: Values, count: Ints) -> Finished:
    valid = count > 0
    divisor = count if all_true(valid) else np.where(valid, count, 1)
    if _is_decimal(arg_type):
        return _decimal_average(from_limbs(list(values[:-1])), divisor, valid, arg_type, result_type)
    total = _nearly(*values[:2]) if arg_type == "bigint" else values[0].astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        return array_of(total / divisor, valid), None


def _decimal_average(
    total: Column, divisor: Ints, valid: Bools, arg_type: str | None, result_type: str | None
) -> Finished:
    scale = arrow_type(arg_type).scale
    more = arrow_type(result_type).scale - scale
    if total.dtype != object and _fits(total, 10**more * 2):
        return _decimal(_divide(total * 10**more, divisor), result_type, valid)
    # Spark rounds twice, half up both times: to 38 fractional digits, then to those of the result.
    digits = _QUOTIENT_SCALE - scale
    quotient = _divide(total.astype(object) * 10**digits, divisor.astype(object))
    quotient = _divide(quotient, np.full(len(total), 10 ** (digits - more), object))
    return _decimal(np.where(_has_room(total), quotient, _NO_ROOM), result_type, valid)


def _has_room(total: Column) -> Bools:
    """Where a sum has at most 38 digits: of one that has more Spark gives no average either."""
    return np.asarray((total < _NO_ROOM) & (total > -_NO_ROOM), np.bool_)


def _divide(values: Column, divisors: Column) -> Column:
    """Quotients of integers, halves rounded away from zero; divisors are positive."""
    negative = values < 0
    size = np.where(negative, -values, values)
    quotient = (2 * size + divisors) // (2 * divisors)
    signed: Column = np.where(negative, -quotient, quotient)
    return signed


def _fits(values: Ints, factor: int) -> bool:
    """Whether the values times `factor`, and a count beside them, fit 64 bits."""
    limit = (1 << 62) // factor
    return not len(values) or bool(values.min() > -limit and values.max() < limit)


def _decimal(unscaled: Column, result_type: str | None, valid: Bools) -> Finished:
    type = arrow_type(result_type)
    limit = 10**type.precision
    if unscaled.dtype != object and limit > 1 << 63:
        return to_decimal(unscaled, type, valid), None
    failed = np.asarray((unscaled >= limit) | (unscaled <= -limit), np.bool_)
    if not failed.any():
        return to_decimal(unscaled, type, valid), None
    return to_decimal(np.where(failed, 0, unscaled), type, valid & ~failed), failed


def _spread(function: str, values: Values) -> pa.Array:
    n, _, m2 = values
    free = n - 1.0 if function.endswith("samp") else n
    with np.errstate(invalid="ignore", over="ignore"):
        spread = m2 / np.where(free > 0, free, 1.0)
        if function.startswith("stddev"):
            spread = np.sqrt(spread)
    return array_of(spread, free > 0)


def _no_terms(sums: Floats) -> Bools:
    """Where a floating sum has no terms: it is -0.0 there and nowhere else."""
    missing: Bools = (sums == 0) & np.signbit(sums)
    return missing


def _typed(array: pa.Array, result_type: str | None) -> pa.Array:
    if result_type is None:
        return array
    type = arrow_type(result_type)
    return array if array.type == type else array.cast(type)


def _is_decimal(type: str | None) -> bool:
    return type is not None and type.startswith("decimal")


def _is_float(type: str | None) -> bool:
    return type in ("float", "double")
