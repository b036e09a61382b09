"""Arrow arrays as numpy columns and back, and Spark's types by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from weft.kernels.combine import Bools, Column

TIME = pa.timestamp("us", tz="UTC")


def arrow_type(name: str | None) -> pa.DataType:
    """The Arrow type of a Spark type by its simple name."""
    if name is None:
        return pa.null()
    if name.startswith("decimal"):
        precision, scale = name[name.index("(") + 1 : -1].split(",")
        return pa.decimal128(int(precision), int(scale))
    if name.startswith("array<"):
        return pa.list_(arrow_type(name[6:-1]))
    return _ARROW[name]


_ARROW: dict[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def numbers(array: pa.Array, dtype: type[Any], fill: float | int) -> Column:
    """The values of an array of numbers, `fill` where null."""
    filled = array.fill_null(fill) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype)


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column in one piece; Arrow's own `combine_chunks` copies even a single one."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def valid_of(array: pa.Array) -> Bools | None:
    """Where the array holds a value; None: everywhere."""
    return array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None


def array_of(values: Column, valid: Bools | None = None, type: pa.DataType | None = None) -> pa.Array:
    """Fixed-width values as an Arrow array over the same memory; null where not `valid`."""
    type = _OF_DTYPE[values.dtype.char] if type is None else type
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(type, len(values), [bitmap(valid), pa.py_buffer(values)])


def bitmap(valid: Bools | None) -> pa.Buffer | None:
    """Arrow's validity bits; None where all is valid."""
    if valid is None or all_true(valid):
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))


def all_true(mask: Bools) -> bool:
    return int(np.count_nonzero(mask)) == mask.size  # four times as fast as `all` on short columns


_OF_DTYPE = {
    np.dtype(kind).char: pa.from_numpy_dtype(kind)
    for kind in (np.int8, np.int16, np.int32, np.int64, np.float32, np.float64)
}
