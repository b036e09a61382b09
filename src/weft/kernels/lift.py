"""Rows -> cells in numpy: what level 1 does, on columns that Spark has evaluated row by row.

    slice  key  where  price            slice  key  sum(price) where
    0      A    true   10          ─►   0      A    10
    0      A    false  30               0      B    5
    0      B    true   5

Rows are put in the order of their cells once; a partial then is one pass over the rows that its condition
holds for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.kernels.arrow import array_of, numbers, valid_of
from weft.kernels.combine import Bools, Column, Ints, distinct
from weft.kernels.decimals import from_limbs, limbs, to_decimal, wide_parts
from weft.kernels.orders import Order, Ranked, order_of

Parts = dict[str, pa.Array]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows that take part in a partial, run by run.

    `rows` are their places (None: all of them); `counts` how many of each run; `runs` says which runs have
    any (None: all have), `starts` where those begin among the chosen rows.
    """

    rows: Ints | None
    counts: Ints
    runs: Bools | None
    starts: Ints

    def take(self, values: Column) -> Column:
        return values if self.rows is None else values[self.rows]

    def reduce(self, ufunc: np.ufunc, taken: Column) -> Column:
        """One value for each run, nothing in particular for those without rows."""
        if not len(self.starts):
            return np.zeros(len(self.counts), taken.dtype)
        with np.errstate(invalid="ignore", over="ignore"):
            reduced: Column = ufunc.reduceat(taken, self.starts)
        return self.spread(reduced)

    def spread(self, found: Column) -> Column:
        """What was found for the runs that have rows, for all runs."""
        if self.runs is None:
            return found
        full = np.zeros(len(self.counts), found.dtype)
        full[self.runs] = found
        return full

    def repeat(self, found: Column) -> Column:
        """A value for each run, for each chosen row."""
        return np.repeat(found, self.counts)

    def some(self) -> Bools:
        return self.counts > 0


class Rows:
    """Columns of rows, in an order in which those of one cell stand together: a run."""

    def __init__(self, columns: Mapping[str, pa.Array], slices: Ints, keys: Sequence[pa.Array]) -> None:
        self._columns = columns
        cells = _numbered(slices, keys)
        self.order = np.argsort(cells)
        cells = cells[self.order]
        self.starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(cells)), bool), np.diff(cells) != 0)))
        self.first = self.order[self.starts]  # of each run, a row as they came
        self._valid: dict[str, Bools | None] = {}
        self._masks: dict[str, Bools] = {}
        self._numbers: dict[tuple[str, type], Column] = {}
        self._codes: dict[str, tuple[Ints, Order | pa.Array]] = {}
        self._chosen: dict[tuple[str | None, str | None], Chosen] = {}

    def type_of(self, name: str) -> pa.DataType:
        return self._columns[name].type

    def valid(self, name: str) -> Bools | None:
        """Where a column holds a value; None: everywhere."""
        if name not in self._valid:
            valid = valid_of(self._columns[name])
            self._valid[name] = None if valid is None else valid[self.order]
        return self._valid[name]

    def mask(self, name: str) -> Bools:
        """Where a predicate is true."""
        if name not in self._masks:
            told = self._columns[name].cast(pa.bool_())  # a predicate that is NULL has no type
            held = told.fill_null(False).to_numpy(zero_copy_only=False)
            self._masks[name] = held[self.order]
        return self._masks[name]

    def mark(self, name: str, held: Bools) -> None:
        """A predicate that is not a column; `held` is in the order in which the rows came."""
        self._masks[name] = held[self.order]

    def numbers(self, name: str, dtype: type) -> Column:
        if (name, dtype) not in self._numbers:
            array = self._columns[name]
            if pa.types.is_decimal(array.type):
                array = array.cast(pa.float64())
            self._numbers[name, dtype] = numbers(array, dtype, 0)[self.order]
        return self._numbers[name, dtype]

    def codes(self, name: str) -> tuple[Ints, Order | pa.Array]:
        """Values as integers that order as SQL orders them, and what turns those back."""
        if name not in self._codes:
            codes, back = _coded(self._columns[name])
            self._codes[name] = codes[self.order], back
        return self._codes[name]

    def limbs(self, name: str) -> list[Ints]:
        return [limb[self.order] for limb in limbs(self._columns[name])]

    def chosen(self, where: str | None, value: str | None) -> Chosen:
        """The rows for which `where` is true and `value` is not null."""
        if (where, value) not in self._chosen:
            valid = None if value is None else self.valid(value)
            if value is not None and valid is None:
                return self.chosen(where, None)
            self._chosen[where, value] = self._choose(None if where is None else self.mask(where), valid)
        return self._chosen[where, value]

    def _choose(self, held: Bools | None, valid: Bools | None) -> Chosen:
        if held is None and valid is None:
            return Chosen(None, np.diff(self.starts, append=len(self.order)), None, self.starts)
        present = held if valid is None else valid if held is None else held & valid
        assert present is not None
        counts = np.zeros(0, np.int64)
        if len(self.starts):
            counts = np.add.reduceat(present.astype(np.int64), self.starts)
        runs = counts > 0
        starts = (np.cumsum(counts) - counts)[runs]
        return Chosen(np.flatnonzero(present), counts, runs, starts)


def lift(rows: Rows, op: str, value: str | None, by: str | None, where: str | None) -> Parts:
    """A partial of every run: `op` of the column `value` over the rows for which the predicate `where` holds.

    Parts are null where no row takes part.
    """
    if op in ("first", "last", "min_by", "max_by"):
        assert value is not None
        assert by is not None
        return _pair(rows, op in ("last", "max_by"), by, value, rows.chosen(where, by))
    chosen = rows.chosen(where, value)
    if op == "count":
        return {"": pa.array(chosen.counts)}
    assert value is not None
    match op:
        case "sum_float":
            taken = chosen.take(rows.numbers(value, np.float64))
            return {"": array_of(chosen.reduce(np.add, taken), chosen.some())}
        case "sum_int":
            taken = chosen.take(rows.numbers(value, np.int64))
            return {"": array_of(chosen.reduce(np.add, taken), chosen.some())}
        case "sum_long":
            taken = chosen.take(rows.numbers(value, np.int64))
            high, low = chosen.reduce(np.add, taken >> 32), chosen.reduce(np.add, taken & 0xFFFFFFFF)
            return {"hi": array_of(high, chosen.some()), "lo": array_of(low, chosen.some())}
        case "sum_decimal":
            sums = from_limbs([chosen.reduce(np.add, chosen.take(limb)) for limb in rows.limbs(value)])
            return {"": to_decimal(sums, _wide(rows, value), chosen.some())}
        case "sum_wide":
            high, low = wide_parts([chosen.reduce(np.add, chosen.take(limb)) for limb in rows.limbs(value)])
            made = to_decimal(high, pa.decimal128(38, 0), chosen.some())
            return {"hi": made, "lo": to_decimal(low, _wide(rows, value), chosen.some())}
        case "moments":
            return _moments(rows, value, chosen)
        case _:
            codes, back = rows.codes(value)
            extreme = np.maximum if op == "max" else np.minimum
            return {"": _decoded(chosen.reduce(extreme, chosen.take(codes)), chosen.some(), back)}


def _wide(rows: Rows, value: str) -> pa.DataType:
    return pa.decimal128(38, rows.type_of(value).scale)


def _moments(rows: Rows, value: str, chosen: Chosen) -> Parts:
    taken = chosen.take(rows.numbers(value, np.float64))
    with np.errstate(invalid="ignore", over="ignore"):
        mean = chosen.reduce(np.add, taken) / np.maximum(chosen.counts, 1)
        apart = taken - chosen.repeat(mean)
        m2 = chosen.reduce(np.add, apart * apart)
    some = chosen.some()
    return {"n": pa.array(chosen.counts), "mean": array_of(mean, some), "m2": array_of(m2, some)}


def _pair(rows: Rows, greatest: bool, by: str, value: str, chosen: Chosen) -> Parts:
    """The extreme `by` of each run, and of the values that go with it the extreme one; null is the least."""
    extreme = np.maximum if greatest else np.minimum
    by_codes, by_back = rows.codes(by)
    taken = chosen.take(by_codes)
    found = chosen.reduce(extreme, taken)
    last = np.flatnonzero(taken == chosen.repeat(found))  # the rows with that `by`: one or more of each run
    runs = np.repeat(np.arange(len(chosen.counts)), chosen.counts)[last]
    starts = np.flatnonzero(np.diff(runs, prepend=-1))
    codes, back = rows.codes(value)
    codes, valid = chosen.take(codes)[last], rows.valid(value)
    there = np.ones(len(last), bool) if valid is None else chosen.take(valid)[last]
    if not len(starts):
        values, known = codes, there
    elif greatest:
        known = np.logical_or.reduceat(there, starts)
        values = np.maximum.reduceat(np.where(there, codes, np.iinfo(np.int64).min), starts)
    else:
        known = np.logical_and.reduceat(there, starts)
        values = np.minimum.reduceat(codes, starts)
    return {
        "by": _decoded(found, chosen.some(), by_back),
        "val": _decoded(chosen.spread(values), chosen.some() & chosen.spread(known), back),
    }


def _numbered(slices: Ints, keys: Sequence[pa.Array]) -> Ints:
    """A number for each row, the same for rows of equal slice and keys; null and NaN are keys like others."""
    cells = np.searchsorted(distinct(slices), slices)
    for key in keys:
        encoded = _hashable(key).dictionary_encode(null_encoding="encode")
        cells = cells * len(encoded.dictionary) + encoded.indices.to_numpy()
        if len(cells) and cells.max() > np.iinfo(np.int32).max:
            cells = np.unique(cells, return_inverse=True)[1]
    return cells.astype(np.int32)  # half the work of sorting 64 bits; there are never that many rows


def _hashable(key: pa.Array) -> pa.Array:
    """Floats by their codes, of which there is one for all NaNs and one for both zeros."""
    return array_of(_coded(key)[0], valid_of(key)) if pa.types.is_floating(key.type) else key


def _coded(array: pa.Array) -> tuple[Ints, Order | pa.Array]:
    """Codes, anything where null; and the order, or the values by rank, that turn them back."""
    order = order_of(array.type)
    if not isinstance(order, Ranked):
        return order.encode(array)[0], order
    encoded = array.dictionary_encode()
    by_rank = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.zeros(max(1, len(by_rank)), np.int64)
    ranks[by_rank] = np.arange(len(by_rank))
    return ranks[encoded.indices.fill_null(0).to_numpy()], encoded.dictionary.take(pa.array(by_rank))


def _decoded(codes: Ints, there: Bools, back: Order | pa.Array) -> pa.Array:
    if isinstance(back, pa.Array):
        return back.take(array_of(np.where(there, codes, 0), there))
    return back.decode(codes, there)
