"""What a column of partials is made of: from Arrow parts to components of a kind, and back.

    op                       parts            components                      what comes out of a window
    count                    ""               SUM  n                          n
    sum_int                  ""               SUM  sum, seen                  sum, seen
    sum_long                 hi, lo           SUM  hi, lo, seen               hi, lo, seen
    sum_decimal              ""               SUM  four limbs, seen           limb, limb, limb, limb, seen
    sum_wide                 hi, lo           SUM  four limbs, seen           limb, limb, limb, limb, seen
    sum_float                ""               ADD  sum                        sum, -0.0 where there is none
    moments                  n, mean, m2      MOMENTS                         n, mean, m2
    min, max                 ""               LEAST_OF  code                  the value, an Arrow array
    first, min_by            by, val          PAIR  (code of by, code of val) the value, an Arrow array
    last, max_by

`seen` counts the cells that hold a value: a sum of none is null. MAX, LAST and MAX_BY turn their codes over
(`~code`) and so are least, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from weft.errors import Bug
from weft.kernels import combine
from weft.kernels.arrow import all_true, arrow_type, numbers, valid_of
from weft.kernels.combine import GREATEST, LEAST, Arrays, Column, Ints, Kind
from weft.kernels.decimals import LIMBS, limbs, wide_limbs
from weft.kernels.orders import Order, Ranked, Recode, Whole, order_of, overflows, ranked_instead

Parts = Mapping[str, pa.Array]
Values = tuple[Any, ...]  # numpy arrays, or one Arrow array: see the table above


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """A column of partials. `text` is its name; the types may be None where only Spark can tell."""

    text: str
    op: str
    type: str | None = None
    by_type: str | None = None

    def __hash__(self) -> int:
        return hash(self.text)  # a thousand look-ups a step: Python remembers the hash of a text


@dataclass(frozen=True, slots=True)
class Layout:
    """How an op is stored: so many components of a kind."""

    kind: Kind
    width: int
    parts: tuple[str, ...]
    turned: bool = False


LAYOUTS: dict[str, Layout] = {
    "count": Layout(combine.SUM, 1, ("",)),
    "sum_int": Layout(combine.SUM, 2, ("",)),
    "sum_long": Layout(combine.SUM, 3, ("hi", "lo")),
    "sum_decimal": Layout(combine.SUM, LIMBS + 1, ("",)),
    "sum_wide": Layout(combine.SUM, LIMBS + 1, ("hi", "lo")),
    "sum_float": Layout(combine.ADD, 1, ("",)),
    "moments": Layout(combine.MOMENTS, 1, ("n", "mean", "m2")),
    "min": Layout(combine.LEAST_OF, 1, ("",)),
    "max": Layout(combine.LEAST_OF, 1, ("",), turned=True),
    "first": Layout(combine.PAIR, 1, ("by", "val")),
    "last": Layout(combine.PAIR, 1, ("by", "val"), turned=True),
    "min_by": Layout(combine.PAIR, 1, ("by", "val")),
    "max_by": Layout(combine.PAIR, 1, ("by", "val"), turned=True),
}


def part_columns(name: str, op: str) -> dict[str, str]:
    """For each part of a partial the column it is shipped in, where that of the partial is called `name`."""
    return {part: f"{name}_{part}" if part else name for part in LAYOUTS[op].parts}


def layout(spec: ColumnSpec) -> Layout:
    found = LAYOUTS.get(spec.op)
    if found is None:
        raise Bug("unknown-op", f"no layout for the partial `{spec.text}`: op `{spec.op}` is unknown")
    return found


class Codes:
    """How the values of a column are coded: one order per array of its kind, known from the first values."""

    def __init__(self, spec: ColumnSpec) -> None:
        self.spec = spec
        self.layout = layout(spec)
        self.orders: dict[str, Order] = {}

    def encode(
        self, parts: Parts, change: Callable[[int, Recode], None], live: Callable[[int], Ints]
    ) -> Arrays:
        """Parts as components. `change(i, recode)` is called when earlier codes in array `i` change.

        `live(i)` gives the codes of array `i` that are in use.
        """
        arrays = []
        for place, name in enumerate(self.layout.parts):
            codes = self._encode_part(place, name, parts[name], change, live)
            nulls = GREATEST if place == 0 else (~LEAST if self.layout.turned else LEAST)
            codes = ~codes if self.layout.turned else codes
            arrays.append(_replace_nulls(codes, parts[name], nulls))
        if len(arrays) > 1:  # where `by` is null there is no pair at all
            arrays[1] = np.where(arrays[0] == GREATEST, GREATEST, arrays[1])
        return tuple(arrays)

    def _encode_part(
        self,
        place: int,
        name: str,
        array: pa.Array,
        change: Callable[[int, Recode], None],
        live: Callable[[int], Ints],
    ) -> Ints:
        order = self.orders.setdefault(name, order_of(array.type))
        if order.type != array.type:
            array = array.cast(order.type)
        if overflows(order, array):
            assert isinstance(order, Whole)
            self.orders[name], recode = ranked_instead(order, self._plain(live(place)))
            change(place, self._turned(recode))
        codes, recoded = self.orders[name].encode(array)
        if recoded is not None:
            change(place, self._turned(recoded))
        return codes

    def decode(self, arrays: Arrays) -> pa.Array:
        """What comes out of a window: the least value, or the value that goes with the least `by`."""
        return self.decode_part(len(arrays) - 1, arrays)

    def decode_part(self, place: int, arrays: Arrays) -> pa.Array:
        codes = arrays[place]
        valid = arrays[0] != GREATEST
        if place:
            valid &= codes != (~LEAST if self.layout.turned else LEAST)
        order = self.orders.get(self.layout.parts[place])
        if order is None:
            return pa.nulls(len(codes), arrow_type(self._type(place)))
        return order.decode(self._plain(codes), None if all_true(valid) else valid)

    def prune(self, live: Callable[[int], Ints], cells: int) -> None:
        """Forget ranked values that no cell holds any more, once they are many."""
        for place, name in enumerate(self.layout.parts):
            order = self.orders.get(name)
            if isinstance(order, Ranked) and len(order) > 2 * cells + 1024:
                order.prune(self._plain(np.unique(live(place))))

    def _type(self, place: int) -> str | None:
        return self.spec.by_type if self.layout.parts[place] == "by" else self.spec.type

    def _plain(self, codes: Ints) -> Ints:
        return ~codes if self.layout.turned else codes

    def _turned(self, recode: Recode) -> Recode:
        if not self.layout.turned:
            return recode
        return lambda codes: ~recode(~codes)


def is_coded(spec: ColumnSpec) -> bool:
    return layout(spec).kind in (combine.LEAST_OF, combine.PAIR)


def lift(spec: ColumnSpec, parts: Parts) -> tuple[Arrays, ...]:
    """The components of a column that is not coded, each a tuple of arrays of its kind."""
    match spec.op:
        case "count":
            return ((numbers(parts[""], np.int64, 0),),)
        case "sum_int":
            return (numbers(parts[""], np.int64, 0),), (_seen(parts[""]),)
        case "sum_long":
            hi, lo = parts["hi"], parts["lo"]
            return (numbers(hi, np.int64, 0),), (numbers(lo, np.int64, 0),), (_seen(hi),)
        case "sum_decimal":
            seen = _seen(parts[""])
            return *((limb * seen,) for limb in limbs(parts[""])), (seen,)
        case "sum_wide":
            seen = _seen(parts["hi"])
            return *((limb * seen,) for limb in wide_limbs(parts["hi"], parts["lo"])), (seen,)
        case "sum_float":
            sums = numbers(parts[""], np.float64, 0.0) + 0.0
            return ((_replace_nulls(sums, parts[""], -0.0),),)
        case "moments":
            return (tuple(numbers(parts[name], np.float64, 0.0) for name in ("n", "mean", "m2")),)
        case _:
            raise Bug("unknown-op", f"the partial `{spec.text}` cannot be lifted")


def _seen(array: pa.Array) -> Ints:
    valid = valid_of(array)
    return np.ones(len(array), np.int64) if valid is None else valid.astype(np.int64)


def _replace_nulls(values: Column, array: pa.Array, by: float | int) -> Column:
    valid = valid_of(array)
    return values if valid is None else np.where(valid, values, by)
