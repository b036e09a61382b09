"""Whole columns of SQL values: data, where they are null, and where evaluating them fails.

A null's data is arbitrary. Dates are days, timestamps microseconds; strings are Python objects in numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.kernels.arrow import arrow_type

Bools = npt.NDArray[np.bool_]
Data = npt.NDArray[Any]
Mask = Bools | None  # None: nowhere

INTEGERS: dict[str, Any] = {"tinyint": np.int8, "smallint": np.int16, "int": np.int32, "bigint": np.int64}
RANGES = {name: (int(np.iinfo(size).min), int(np.iinfo(size).max)) for name, size in INTEGERS.items()}
NUMBERS = (*INTEGERS, "double")
KNOWN = {*NUMBERS, "boolean", "string", "date", "timestamp"}


@dataclass(frozen=True, slots=True)
class Value:
    data: Data
    null: Mask = None
    fails: Mask = None

    def valid(self) -> Bools:
        return np.ones(len(self.data), bool) if self.null is None else ~self.null


def either(*masks: Mask) -> Mask:
    """Where any of them holds."""
    found = [mask for mask in masks if mask is not None]
    if not found:
        return None
    joined = found[0]
    for mask in found[1:]:
        joined = joined | mask
    return joined


def both(mask: Mask, other: Bools) -> Mask:
    return None if mask is None else mask & other


def from_arrow(array: pa.Array, type_: str) -> Value:
    """A column as it comes."""
    null = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if type_ == "string":
        return Value(array.fill_null("").to_numpy(zero_copy_only=False), null)
    if type_ == "timestamp":
        array = array.cast(pa.int64())
    elif type_ == "date":
        array = array.cast(pa.int32())
    filled = array.fill_null(False if type_ == "boolean" else 0) if array.null_count else array
    return Value(filled.to_numpy(zero_copy_only=False), null)


def to_arrow(value: Value, type_: str) -> pa.Array:
    """The column as Arrow; where it fails it is null."""
    null = either(value.null, value.fails)
    data = value.data.astype(INTEGERS[type_]) if type_ in INTEGERS else value.data
    if type_ in ("date", "timestamp"):
        whole = pa.array(data.astype(np.int32 if type_ == "date" else np.int64), mask=null)
        return whole.cast(arrow_type(type_))
    return pa.array(data, arrow_type(type_), mask=null)


def constant(value: Any, type_: str, count: int) -> Value:
    """The same value in every row; None: null."""
    if value is None:
        return Value(_zeros(type_, count), np.ones(count, bool))
    if type_ == "string":
        data = np.empty(count, object)
        data[:] = value
        return Value(data)
    return Value(np.full(count, value, _dtype(type_)))


def _zeros(type_: str, count: int) -> Data:
    return np.full(count, "", object) if type_ == "string" else np.zeros(count, _dtype(type_))


def _dtype(type_: str) -> Any:
    kinds = {"double": np.float64, "boolean": np.bool_, "date": np.int32, "timestamp": np.int64}
    return INTEGERS.get(type_) or kinds.get(type_, object)


def widest(types: list[str]) -> str | None:
    """The type that values of all these types have together; None where only Spark can tell."""
    known = [type_ for type_ in types if type_ != "null"]
    distinct = set(known)
    if not distinct:
        return None
    if len(distinct) == 1:
        only = known[0]
        return only if only in KNOWN else None
    if "double" in distinct and distinct <= {*NUMBERS, "decimal"}:
        return "double"
    return max(distinct, key=list(INTEGERS).index) if distinct <= set(INTEGERS) else None


def convert(value: Value, type_: str, to: str) -> Value:
    """Implicit widening: never fails."""
    if type_ == to or to not in NUMBERS:
        return value
    return Value(value.data.astype(np.float64 if to == "double" else INTEGERS[to]), value.null, value.fails)
