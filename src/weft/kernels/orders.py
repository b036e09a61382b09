"""Values as 64-bit codes in their SQL order, so that MIN and MAX of any type are those of integers.

Numbers, dates and times are their own codes; doubles keep their bits, turned so that they order with NaN
greatest and both zeros equal; strings (by their UTF-8 bytes), binaries and long decimals are ranked among the
values met. No code is ever LEAST or GREATEST: those mean null and absent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.kernels.arrow import array_of, numbers, valid_of
from weft.kernels.combine import GREATEST, LEAST, Bools, Ints
from weft.kernels.decimals import SMALL_DIGITS, to_decimal, unscaled
from weft.kernels.groups import GroupIndex

Recode = Callable[[Ints], Ints]

_STRIDE = 1 << 40  # between the codes of values ranked one after the other
_FAR = 1 << 61  # codes stay within twice this on either side of zero
_SIGNLESS = np.int64(GREATEST)


class Order(Protocol):
    """How the values of one Arrow type are coded."""

    type: pa.DataType

    def encode(self, array: pa.Array) -> tuple[Ints, Recode | None]:
        """Codes, anything where null; and how to change the codes given out earlier, if they must change."""

    def decode(self, codes: Ints, valid: Bools | None) -> pa.Array:
        """The values of codes; null where not valid."""


class Whole:
    """Integers, dates, times, booleans and short decimals: the code is the number itself.

    A column of 64-bit numbers that meets an extreme of its range has to be ranked from then on (`overflows`).
    """

    def __init__(self, type: pa.DataType) -> None:
        self.type = type
        self._dtype = np.dtype(np.int64 if pa.types.is_decimal(type) else f"i{max(8, type.bit_width) // 8}")

    def encode(self, array: pa.Array) -> tuple[Ints, Recode | None]:
        return _whole_numbers(array), None

    def decode(self, codes: Ints, valid: Bools | None) -> pa.Array:
        if pa.types.is_decimal(self.type):
            return to_decimal(codes, self.type, valid)
        if pa.types.is_boolean(self.type):
            return pa.array(codes != 0, mask=None if valid is None else ~valid)
        return array_of(codes.astype(self._dtype, copy=False), valid, self.type)


class Real:
    """Floats and doubles: their bits, those of negative numbers turned over."""

    def __init__(self, type: pa.DataType) -> None:
        self.type = type
        self._dtype = np.float32 if pa.types.is_float32(type) else np.float64

    def encode(self, array: pa.Array) -> tuple[Ints, Recode | None]:
        values = numbers(array, np.float64, 0.0) + 0.0
        values[np.isnan(values)] = np.nan
        return _turn(values.view(np.int64)), None

    def decode(self, codes: Ints, valid: Bools | None) -> pa.Array:
        values = _turn(codes).view(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            return array_of(values.astype(self._dtype, copy=False), valid, self.type)


class Ranked:
    """Any values that Arrow can order: codes are dealt out with gaps, so that one met later fits between.

    values   "ant"       "bee"               "cat"
    codes     0          2^40                 2^41        "bat" comes at 2^39
    """

    def __init__(self, type: pa.DataType) -> None:
        self.type = type
        self._values = GroupIndex(1)  # numbered as they are met
        self._code_of: Ints = np.empty(0, np.int64)  # by number
        self._in_order: Ints = np.empty(0, np.int64)  # the numbers, in the order of the values
        self.codes: Ints = np.empty(0, np.int64)  # in order

    def __len__(self) -> int:
        return len(self.codes)

    def encode(self, array: pa.Array) -> tuple[Ints, Recode | None]:
        numbers = self._values.add([array.drop_null() if array.null_count else array])
        recode = self._learn() if len(self._values) > len(self) else None
        valid = valid_of(array)
        if valid is None:
            return self._code_of[numbers], recode
        codes = np.zeros(len(array), np.int64)
        codes[valid] = self._code_of[numbers]
        return codes, recode

    def decode(self, codes: Ints, valid: Bools | None) -> pa.Array:
        if not len(self):
            return pa.nulls(len(codes), self.type)
        places = np.searchsorted(
            self.codes, codes if valid is None else np.where(valid, codes, self.codes[0])
        )
        (values,) = self._values.take(self._in_order[places])
        return values if valid is None else pc.if_else(pa.array(valid), values, pa.scalar(None, self.type))

    def prune(self, live: Ints) -> None:
        """Forget the values whose codes are not `live`."""
        kept = np.isin(self._code_of, live)
        self._values.keep(np.flatnonzero(kept))
        self._in_order = (np.cumsum(kept) - 1)[self._in_order[kept[self._in_order]]]
        self._code_of = self._code_of[kept]
        self.codes = self._code_of[self._in_order]

    def _learn(self) -> Recode | None:
        """Codes for the values that have none."""
        new, old = np.arange(len(self), len(self._values)), self.codes
        (values,) = self._values.take(new)
        order = pc.sort_indices(values)
        places = self._places(values.take(order))
        dealt = _deal(old, places)
        self._in_order = np.insert(self._in_order, places, new[order.to_numpy()])
        if dealt is not None:
            self._number(np.insert(old, places, dealt))
            return None
        count = len(self._in_order)
        self._number((np.arange(count, dtype=np.int64) - count // 2) * min(_STRIDE, _FAR // count))
        kept = np.ones(count, bool)
        kept[places + np.arange(len(places))] = False
        return _renamed(old, self.codes[kept])

    def _number(self, codes: Ints) -> None:
        self.codes = codes
        self._code_of = np.empty(len(codes), np.int64)
        self._code_of[self._in_order] = codes

    def _places(self, values: pa.Array) -> Ints:
        """Before which of the values that have a code each of these comes: halving, all of them at once."""
        low, high = np.zeros(len(values), np.int64), np.full(len(values), len(self))
        while len(open := np.flatnonzero(low < high)):
            middle = (low[open] + high[open]) // 2
            (held,) = self._values.take(self._in_order[middle])
            behind = pc.less(held, values.take(pa.array(open))).to_numpy(zero_copy_only=False)
            low[open[behind]] = middle[behind] + 1
            high[open[~behind]] = middle[~behind]
        return low


def _renamed(old: Ints, new: Ints) -> Recode:
    """Each of the codes `old`, ascending, becomes the one at its place in `new`; null and absent stay."""

    def recode(codes: Ints) -> Ints:
        changed = codes.copy()
        plain = (codes != GREATEST) & (codes != LEAST)
        changed[plain] = new[np.searchsorted(old, codes[plain])]
        return changed

    return recode


def order_of(type: pa.DataType) -> Order:
    """How values of the type are coded."""
    if pa.types.is_floating(type):
        return Real(type)
    if pa.types.is_decimal(type):
        return Whole(type) if type.precision <= SMALL_DIGITS else Ranked(type)
    if pa.types.is_integer(type) or pa.types.is_temporal(type) or pa.types.is_boolean(type):
        return Whole(type)
    return Ranked(type)


def overflows(order: Order, array: pa.Array) -> bool:
    """Whether the array holds a number that is itself LEAST or GREATEST."""
    if not isinstance(order, Whole) or pa.types.is_decimal(order.type) or order.type.bit_width < 64:
        return False
    codes = _whole_numbers(array)
    extreme = (codes == GREATEST) | (codes == LEAST)
    return bool(extreme.any())


def ranked_instead(order: Whole, live: Ints) -> tuple[Ranked, Recode]:
    """The order with which a column of numbers goes on, its `live` codes ranked; and their new codes."""
    ranked = Ranked(order.type)
    known = np.unique(live[(live != GREATEST) & (live != LEAST)])
    new, _ = ranked.encode(order.decode(known, None))
    return ranked, _renamed(known, new)


def _turn(bits: Ints) -> Ints:
    """The bits of doubles as codes, and back."""
    turned: Ints = bits ^ ((bits >> 63) & _SIGNLESS)
    return turned


def _whole_numbers(array: pa.Array) -> Ints:
    if pa.types.is_decimal(array.type):
        return unscaled(array)
    if pa.types.is_boolean(array.type):
        return numbers(array.cast(pa.int8()), np.int64, 0)
    width = array.type.bit_width // 8
    data = np.frombuffer(array.buffers()[1], np.dtype(f"i{width}"))
    return data[array.offset : array.offset + len(array)].astype(np.int64)


def _deal(codes: Ints, places: Ints) -> Ints | None:
    """Codes for values that belong at `places` among `codes`, even in each gap; None: a gap is too small."""
    if len(places) > _FAR // _STRIDE:
        return None
    below = np.where(places > 0, codes[np.maximum(places, 1) - 1] if len(codes) else 0, 0)
    runs = np.flatnonzero(np.diff(places, prepend=-1))
    in_run = np.diff(runs, append=len(places))
    above = np.where(places < len(codes), codes[np.minimum(places, len(codes) - 1)] if len(codes) else 0, 0)
    count = np.repeat(in_run, in_run)
    nth = np.arange(len(places)) - np.repeat(runs, in_run)
    if len(codes):
        above = np.where(places < len(codes), above, below + (count + 1) * _STRIDE)
        below = np.where(places > 0, below, above - (count + 1) * _STRIDE)
    else:
        below, above = np.full(len(places), -_STRIDE), count * _STRIDE
    gap = (above - below) // (count + 1)
    dealt: Ints = below + gap * (nth + 1)
    return None if bool((gap < 1).any()) or bool((np.abs(dealt) > _FAR).any()) else dealt
