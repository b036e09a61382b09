"""Decimals as integers: 128-bit unscaled values in and out of numpy."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.kernels.arrow import array_of
from weft.kernels.combine import Bools, Column, Ints

LIMBS = 4  # of 32 bits: sums of two thousand million limbs fit 64 bits
SMALL_DIGITS = 18  # so many decimal digits always fit 64 bits


def limbs(array: pa.Array) -> list[Ints]:
    """Four limbs of 32 bits, least first, the last signed: their sums add up to the sum of the values."""
    words = _words(array, np.dtype("<u4"))
    low = [words[:, place].astype(np.int64) for place in range(LIMBS - 1)]
    return [*low, words.view(np.int32)[:, LIMBS - 1].astype(np.int64)]


def wide_limbs(high: pa.Array, low: pa.Array) -> list[Ints]:
    """The limbs of high * 2^64 + low in unscaled units, the last of 64 bits: sums of more than 38 digits.

    low         [0] [1] [2] [3]
    high                [0] [1] [2] [3]
    together    [0] [1] [2] [    3    ]
    """
    below, above = limbs(low), limbs(high)
    # The last limb of `high` is but the sign of the one before, which the shift keeps in its top bit.
    return [below[0], below[1], below[2] + above[0], below[3] + above[1] + (above[2] << 32)]


def wide_parts(parts: list[Ints]) -> tuple[Column, Column]:
    """What `wide_limbs` makes of two, from sums of limbs."""
    none = np.zeros_like(parts[0])
    return from_limbs([*parts[2:], none, none]), from_limbs([*parts[:2], none, none])


def from_limbs(parts: list[Ints]) -> Column:
    """The values that limbs stand for: 64-bit integers where all fit, else Python's."""
    carried = []
    carry = np.zeros_like(parts[0])
    for part in parts[:-1]:
        total = part + carry
        carried.append(total & 0xFFFFFFFF)
        carry = total >> 32
    top = parts[-1] + carry
    low = carried[0] | (carried[1] << 32)
    high = carried[2] | (top << 32)
    fits = (top == top << 32 >> 32) & (high == low >> 63)
    if bool(fits.all()):
        return low
    # Far out of range the top limb itself does not fit its 32 bits: Python's integers hold any.
    wide = (top.astype(object) << 96) | (carried[2].astype(object) << 64)
    values: Column = wide | (carried[1].astype(object) << 32) | carried[0].astype(object)
    return values


def unscaled(array: pa.Array) -> Ints:
    """The unscaled values of decimals of at most 18 digits; anything where null."""
    return np.ascontiguousarray(_words(array, np.dtype("<i8"))[:, 0])


def to_decimal(values: Column, type: pa.DataType, valid: Bools | None = None) -> pa.Array:
    """Unscaled values, 64-bit or Python integers, as decimals; those not `valid` are null."""
    words = np.empty((len(values), 2), np.dtype("<u8"))
    if values.dtype == object:
        filled = values if valid is None else np.where(valid, values, 0)
        words[:, 0] = (filled & 0xFFFFFFFFFFFFFFFF).astype(np.uint64)
        words[:, 1] = ((filled >> 64) & 0xFFFFFFFFFFFFFFFF).astype(np.uint64)
    else:
        words[:, 0] = values.view(np.uint64)
        words[:, 1] = (values >> 63).view(np.uint64)
    return array_of(words, valid, type)


def _words(array: pa.Array, dtype: np.dtype[np.generic]) -> Column:
    per_value = 16 // dtype.itemsize
    words = np.frombuffer(array.buffers()[1], dtype)
    return words.reshape(-1, per_value)[array.offset : array.offset + len(array)]
