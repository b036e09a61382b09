"""Comparisons, three-valued logic and choices on whole columns, as Spark evaluates them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from weft.kernels.values import Bools, Data, Mask, Value, both, either

Comparison = Callable[[Data, Data], Bools]


def equal(left: Data, right: Data) -> Bools:
    same: Bools = left == right
    return same | (_nan(left) & _nan(right)) if left.dtype == np.float64 else same


def less(left: Data, right: Data) -> Bools:
    """NaN is greater than any other number."""
    below: Bools = left < right
    return below | (~_nan(left) & _nan(right)) if left.dtype == np.float64 else below


def unequal(left: Data, right: Data) -> Bools:
    return ~equal(left, right)


def more(left: Data, right: Data) -> Bools:
    return less(right, left)


def at_most(left: Data, right: Data) -> Bools:
    return ~less(right, left)


def at_least(left: Data, right: Data) -> Bools:
    return ~less(left, right)


def _nan(data: Data) -> Bools:
    return np.isnan(data)


def compared(comparison: Comparison, left: Value, right: Value, type_: str) -> Value:
    """Null where a side is null; the right side is not looked at where the left is null."""
    data = comparison(left.data, right.data).astype(bool)
    fails = either(left.fails, both(right.fails, left.valid()))
    return Value(data, either(left.null, right.null), fails)


def same(left: Value, right: Value) -> Value:
    """`<=>`: null is the same as null, and as nothing else."""
    one, other = left.valid(), right.valid()
    data = np.where(one & other, equal(left.data, right.data).astype(bool), one == other)
    return Value(data, None, either(left.fails, right.fails))


def conjunction(left: Value, right: Value) -> Value:
    """AND: false wherever a side is; the right side is not looked at where the left is false."""
    no_left, no_right = ~left.data & left.valid(), ~right.data & right.valid()
    null = either(left.null, right.null)
    null = None if null is None else null & ~no_left & ~no_right
    return Value(left.data & right.data, null, either(left.fails, both(right.fails, ~no_left)))


def disjunction(left: Value, right: Value) -> Value:
    """OR: true wherever a side is; the right side is not looked at where the left is true."""
    yes_left, yes_right = left.data & left.valid(), right.data & right.valid()
    null = either(left.null, right.null)
    null = None if null is None else null & ~yes_left & ~yes_right
    return Value(yes_left | yes_right, null, either(left.fails, both(right.fails, ~yes_left)))


def negation(value: Value) -> Value:
    return Value(~value.data, value.null, value.fails)


def is_null(value: Value) -> Value:
    null = np.zeros(len(value.data), bool) if value.null is None else value.null
    return Value(null, None, value.fails)


def chosen(tests: Sequence[Value], values: Sequence[Value]) -> Value:
    """CASE: the value of the first test that is true, else the last value; only what is reached can fail."""
    undecided = np.ones(len(values[0].data), bool)
    data = values[-1].data.copy()
    null = np.zeros(len(data), bool)
    fails: Mask = None
    for test, value in zip(tests, values[:-1], strict=True):
        fails = either(fails, both(test.fails, undecided))
        taken = undecided & test.data & test.valid()
        data[taken] = value.data[taken]
        null[taken] = ~value.valid()[taken]
        fails = either(fails, both(value.fails, taken))
        undecided &= ~taken
    null[undecided] = ~values[-1].valid()[undecided]
    return Value(data, null, either(fails, both(values[-1].fails, undecided)))


def coalesced(values: Sequence[Value]) -> Value:
    """The first value that is not null; the ones behind it are not looked at."""
    data, missing = values[0].data.copy(), ~values[0].valid()
    fails = values[0].fails
    for value in values[1:]:
        fails = either(fails, both(value.fails, missing))
        data[missing] = value.data[missing]
        missing &= ~value.valid()
    return Value(data, missing if missing.any() else None, fails)


def extreme(values: Sequence[Value], type_: str, greatest: bool) -> Value:
    """LEAST and GREATEST: nulls are passed over, and all sides are looked at."""
    result = values[0]
    for value in values[1:]:
        beats = less(result.data, value.data) if greatest else less(value.data, result.data)
        take = value.valid() & (~result.valid() | beats)
        null = None if result.null is None or value.null is None else result.null & value.null
        result = Value(np.where(take, value.data, result.data), null, either(result.fails, value.fails))
    return result
