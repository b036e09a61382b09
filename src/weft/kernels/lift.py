"""Few rows -> cells, here rather than in Spark: what level 1 does, on columns that Spark evaluated by row.

    slice  key  where  price            slice  key  sum(price) where
    0      A    true   10          ─►   0      A    10
    0      A    false  30               0      B    5
    0      B    true   5

Below some ten thousand rows the fixed cost of an aggregation in Spark is many times that of the work itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.kernels.arrow import array_of, numbers, valid_of
from weft.kernels.combine import Bools, Column, Ints
from weft.kernels.decimals import from_limbs, limbs, to_decimal
from weft.kernels.groups import GroupIndex

Parts = dict[str, pa.Array]

_NONE = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True)
class Runs:
    """Rows put in order so that those of one cell stand together; `starts` is where each run begins."""

    order: Ints
    starts: Ints

    def add(self, values: Column) -> Column:
        with np.errstate(invalid="ignore", over="ignore"):
            return self._reduce(np.add, values)

    def least(self, values: Column) -> Column:
        return self._reduce(np.minimum, values)

    def greatest(self, values: Column) -> Column:
        return self._reduce(np.maximum, values)

    def lengths(self) -> Ints:
        return np.diff(self.starts, append=len(self.order))

    def _reduce(self, ufunc: np.ufunc, values: Column) -> Column:
        reduced: Column = ufunc.reduceat(values, self.starts) if len(self.starts) else values[:0]
        return reduced


def runs(slices: Ints, keys: Sequence[pa.Array]) -> Runs:
    """The runs of equal slice and keys; null and NaN are keys like any other."""
    groups = GroupIndex(len(keys)).add(keys, len(slices))
    order = np.lexsort((groups, slices))
    slices, groups = slices[order], groups[order]
    changes = (np.diff(slices) != 0) | (np.diff(groups) != 0)
    starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(order)), bool), changes)))
    return Runs(order, starts)


def lift(op: str, rows: Runs, value: pa.Array | None, by: pa.Array | None, where: Bools | None) -> Parts:
    """A partial of every run: `op` of `value` over the rows for which `where` is true (None: all).

    All columns are in the order of `rows`. Parts are null where no row takes part.
    """
    if op == "count":
        return {"": pa.array(_counted(rows, _present(value, where)))}
    assert value is not None
    match op:
        case "sum_int" | "sum_long" | "sum_float" | "sum_decimal":
            return _sums(op, rows, value, _present(value, where))
        case "moments":
            return _moments(rows, value, _present(value, where))
        case "min" | "max":
            return {"": _extreme(op == "max", rows, value, _present(value, where))}
        case _:
            assert by is not None
            return _pairs(op in ("last", "max_by"), rows, by, value, _present(by, where))


def _present(value: pa.Array | None, where: Bools | None) -> Bools | None:
    valid = None if value is None else valid_of(value)
    if valid is None or where is None:
        return where if valid is None else valid
    both: Bools = valid & where
    return both


def _counted(rows: Runs, present: Bools | None) -> Ints:
    return rows.lengths() if present is None else rows.add(present.astype(np.int64))


def _only(values: Column, present: Bools | None, else_: float | int) -> Column:
    return values if present is None else np.where(present, values, else_)


def _sums(op: str, rows: Runs, value: pa.Array, present: Bools | None) -> Parts:
    seen = _counted(rows, present) > 0
    if op == "sum_float":
        return {"": array_of(rows.add(_only(numbers(value, np.float64, 0.0), present, 0.0)), seen)}
    if op == "sum_decimal":
        sums = from_limbs([rows.add(_only(limb, present, 0)) for limb in limbs(value)])
        wide = pa.decimal128(38, value.type.scale)
        return {"": to_decimal(_that_fit(sums), wide, seen)}
    whole = _only(numbers(value, np.int64, 0), present, 0)
    if op == "sum_int":
        return {"": array_of(rows.add(whole), seen)}
    return {"hi": array_of(rows.add(whole >> 32), seen), "lo": array_of(rows.add(whole & 0xFFFFFFFF), seen)}


def _that_fit(sums: Column) -> Column:
    if sums.dtype == object and any(abs(value) >= 10**38 for value in sums):
        raise ArithmeticError("a sum of decimals has more than 38 digits")
    return sums


def _moments(rows: Runs, value: pa.Array, present: Bools | None) -> Parts:
    n = _counted(rows, present)
    real = value.cast(pa.float64()) if pa.types.is_decimal(value.type) else value
    values = _only(numbers(real, np.float64, 0.0), present, 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = rows.add(values) / np.maximum(n, 1)
        apart = values - np.repeat(mean, rows.lengths())
        m2 = rows.add(_only(apart * apart, present, 0.0))
    return {"n": pa.array(n), "mean": array_of(mean, n > 0), "m2": array_of(m2, n > 0)}


def _extreme(greatest: bool, rows: Runs, value: pa.Array, present: Bools | None) -> pa.Array:
    ranks, distinct = _ranked(value)
    if greatest:
        found = rows.greatest(_only(ranks, present, -1))
        return distinct.take(_places(found, found >= 0))
    found = rows.least(_only(ranks, present, _NONE.max))
    return distinct.take(_places(found, found < _NONE.max))


def _pairs(greatest: bool, rows: Runs, by: pa.Array, value: pa.Array, present: Bools | None) -> Parts:
    """The extreme `by`, and of the values that go with it the extreme one; null is the least value."""
    by_ranks, by_distinct = _ranked(by)
    ranks, distinct = _ranked(value)
    valid = valid_of(value)
    width = len(distinct) + 1
    both = by_ranks * width + (ranks + 1 if valid is None else np.where(valid, ranks + 1, 0))
    found = (
        rows.greatest(_only(both, present, -1)) if greatest else rows.least(_only(both, present, _NONE.max))
    )
    there = (found >= 0) & (found < _NONE.max)
    at, rank = np.divmod(np.where(there, found, 0), width)
    return {
        "by": by_distinct.take(_places(at, there)),
        "val": distinct.take(_places(rank - 1, there & (rank > 0))),
    }


def _ranked(array: pa.Array) -> tuple[Ints, pa.Array]:
    """Every value's place among the distinct ones in SQL order (anything where null), and those."""
    flat = array.cast(pa.int8()) if pa.types.is_boolean(array.type) else array
    encoded = flat.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    codes = encoded.indices.fill_null(0).to_numpy()
    distinct = encoded.dictionary.take(pa.array(order)).cast(array.type)
    return (ranks[codes] if len(order) else np.zeros(len(codes), np.int64)), distinct


def _places(at: Ints, there: Bools) -> pa.Array:
    return array_of(np.where(there, at, 0), there)
