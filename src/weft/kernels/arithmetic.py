"""SQL arithmetic on whole columns, as Spark does it in ANSI mode: overflow and division by zero fail."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

import numpy as np

from weft.kernels.values import INTEGERS, RANGES, Bools, Data, Mask, Value, both, either

Operation = Callable[[Data, Data, str], tuple[Data, Mask]]


def binary(operation: Operation, left: Value, right: Value, type_: str) -> Value:
    """Null where a side is; the right side is not looked at where the left is null."""
    with np.errstate(all="ignore"):
        data, wrong = operation(left.data, right.data, type_)
    null = either(left.null, right.null)
    wrong = wrong if null is None or wrong is None else wrong & ~null
    return Value(data, null, either(left.fails, both(right.fails, left.valid()), wrong))


def divided(operation: Operation, left: Value, right: Value, type_: str) -> Value:
    """As `binary`, but Spark evaluates the divisor first, and the dividend not where that is null."""
    made = binary(operation, Value(left.data, left.null), Value(right.data, right.null), type_)
    return Value(made.data, made.null, either(right.fails, both(left.fails, right.valid()), made.fails))


def add(left: Data, right: Data, type_: str) -> tuple[Data, Mask]:
    if type_ != "bigint":
        return _in_range(left.astype(_wide(type_)) + right, type_)
    total = left + right
    return total, ((left ^ total) & (right ^ total)) < 0


def subtract(left: Data, right: Data, type_: str) -> tuple[Data, Mask]:
    if type_ != "bigint":
        return _in_range(left.astype(_wide(type_)) - right, type_)
    total = left - right
    return total, ((left ^ right) & (left ^ total)) < 0


def multiply(left: Data, right: Data, type_: str) -> tuple[Data, Mask]:
    if type_ != "bigint":
        return _in_range(left.astype(_wide(type_)) * right, type_)
    product = left * right
    apart = np.abs(left.astype(np.float64) * right.astype(np.float64)) > 9.3e18
    divisor = np.where(left == 0, 1, left)
    turned = (left == -1) & (right == np.iinfo(np.int64).min)
    return product, apart | turned | ((left != 0) & (divisor != -1) & (product // divisor != right))


def divide(left: Data, right: Data, type_: str) -> tuple[Data, Mask]:
    zero = right == 0
    return left.astype(np.float64) / np.where(zero, 1, right), zero


def remainder(left: Data, right: Data, type_: str) -> tuple[Data, Mask]:
    zero = right == 0
    divisor = np.where(zero, 1, right)
    if type_ == "double":
        return np.fmod(left, divisor), zero
    minus = divisor == -1  # the remainder is 0, but the processor traps on the least integer
    return np.where(minus, 0, np.fmod(left, np.where(minus, 1, divisor))), zero


def whole_quotient(left: Data, right: Data, type_: str) -> tuple[Data, Mask]:
    zero = right == 0
    wide, divisor = left.astype(np.int64), np.where(zero, 1, right).astype(np.int64)
    overflow = (wide == np.iinfo(np.int64).min) & (divisor == -1)
    divisor = np.where(overflow, 1, divisor)
    quotient = wide // divisor
    quotient += (wide % divisor != 0) & ((wide < 0) != (divisor < 0))  # toward zero
    return quotient, zero | overflow


def negate(value: Value, type_: str) -> Value:
    if type_ == "double":
        return Value(-value.data, value.null, value.fails)
    least = value.data == RANGES[type_][0]
    with np.errstate(all="ignore"):
        return Value(-value.data, value.null, either(value.fails, _where_valid(least, value)))


def absolute(value: Value, type_: str) -> Value:
    if type_ == "double":
        return Value(np.abs(value.data), value.null, value.fails)
    least = value.data == RANGES[type_][0]
    return Value(np.abs(value.data), value.null, either(value.fails, _where_valid(least, value)))


def to_whole(value: Value, up: bool) -> Value:
    """FLOOR and CEIL: a bigint; what lies beyond fails, NaN is 0."""
    if value.data.dtype != np.float64:
        return Value(value.data.astype(np.int64), value.null, value.fails)
    rounded = np.ceil(value.data) if up else np.floor(value.data)
    outside = (value.data >= 2.0**63) | (value.data < -(2.0**63))
    return Value(_truncate(rounded), value.null, either(value.fails, _where_valid(outside, value)))


def square_root(value: Value) -> Value:
    with np.errstate(all="ignore"):
        return Value(np.sqrt(value.data.astype(np.float64)), value.null, value.fails)


def cast_number(value: Value, type_: str, to: str) -> Value:
    """CAST between numbers: what does not fit fails."""
    if to == "double":
        return Value(value.data.astype(np.float64), value.null, value.fails)
    low, high = RANGES[to]
    if type_ == "double":
        outside = ~((np.ceil(value.data) >= float(low)) & (np.floor(value.data) <= float(high)))
        data = _truncate(value.data)
    else:
        data = value.data
        outside = (data < low) | (data > high)
    with np.errstate(all="ignore"):
        return Value(data.astype(INTEGERS[to]), value.null, either(value.fails, _where_valid(outside, value)))


def round_half_up(value: Value, digits: int) -> Value:
    """ROUND of doubles: halves of the shortest decimal that names the double go away from zero.

    Scaling in binary finds all but those next to a half; these few are rounded as decimals, one by one. What
    is rounded to zero has no sign.
    """
    data, scale = value.data, 10.0**digits
    with np.errstate(all="ignore"):
        scaled = np.abs(data) * scale
        rounded = np.copysign(np.floor(scaled + 0.5) / scale, data)
        unsure = (np.abs(scaled - np.floor(scaled) - 0.5) < 1e-6) | (scaled >= 2.0**50)
    special = ~np.isfinite(data)
    rounded = np.where(special, data, rounded)
    places = np.flatnonzero(unsure & ~special & value.valid())
    if len(places):
        step = Decimal(1).scaleb(-digits)
        rounded[places] = [
            float(Decimal(repr(number)).quantize(step, ROUND_HALF_UP)) if abs(number) < 1e15 else number
            for number in data[places].tolist()
        ]
    return Value(rounded + 0.0, value.null, value.fails)


def _truncate(data: Data) -> Data:
    """Toward zero into 64 bits, as the JVM converts: the nearest there is, NaN 0."""
    low, high = RANGES["bigint"]
    with np.errstate(all="ignore"):
        inside = np.where(np.isnan(data) | (np.abs(data) >= 2.0**63), 0.0, data).astype(np.int64)
    return np.where(data >= 2.0**63, high, np.where(data < -(2.0**63), low, inside))


def _in_range(wide: Data, type_: str) -> tuple[Data, Mask]:
    if type_ == "double":
        return wide, None
    low, high = RANGES[type_]
    return wide.astype(INTEGERS[type_]), (wide < low) | (wide > high)


def _wide(type_: str) -> type[np.float64] | type[np.int64]:
    return np.float64 if type_ == "double" else np.int64


def _where_valid(mask: Bools, value: Value) -> Mask:
    if not mask.any():
        return None
    return mask if value.null is None else mask & ~value.null
