"""Keys of any Arrow type as flat arrays in which equal keys have equal bits.

    integers, dates, times, booleans      their own numbers
    floats                                their bits, with one zero and one NaN
    decimals                              two (or four) 64-bit words
    strings, binaries                     bytes, and where each begins and ends
    lists, structs, maps                  the bytes of their text

What is null has no bits of its own: zero, or no bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.kernels.arrow import valid_of
from weft.kernels.combine import Bools, Column, Ints

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

WORD = 8  # bytes
BLOCK = 8  # words
_TEXT = {
    type.id: np.dtype(np.int64 if "large" in str(type) else np.int32)  # of the places where values begin
    for type in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())
}
NOWHERE: Ints = np.zeros(0, np.int64)
NOTHING_BEHIND: Bytes = np.zeros(WORD * BLOCK, np.uint8)  # what follows the last key
_STEPS = WORD * np.arange(BLOCK)[:, None]
# By the bytes that are left of a key where a word begins: all of the word, some of it, or (counted from the
# end of the list) none.
_LEFT = [min(left, WORD) for left in range(WORD * BLOCK + 1)] + [0] * (WORD * BLOCK)
_MASKS = np.array([(1 << (8 * left)) - 1 for left in _LEFT], np.uint64)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Keys of one width: integers [row], or [row, word] where they are wider than 64 bits."""

    values: Column
    valid: Bools | None

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Ints) -> Fixed:
        return Fixed(self.values[rows], None if self.valid is None else self.valid[rows])

    def words(self) -> list[Words]:
        """The bits of the keys, 64 at a time; narrow integers with their sign."""
        wide = self.values if self.values.ndim == 2 else self.values[:, None]
        if wide.dtype != np.uint64:
            wide = wide.astype(np.int64, copy=False).view(np.uint64)
        return [wide[:, at] for at in range(wide.shape[1])]


@dataclass(frozen=True)
class Text:
    """Keys of any length: bytes `data[begin : begin + length]`. A block more can be read behind the last.

    Words come in blocks [word, row] of up to `BLOCK`, as many as the longest key has, and end in zeros.
    """

    data: Bytes
    begin: Ints
    length: Ints
    valid: Bools | None
    source: pa.Array | None = None  # the array they are from

    def __len__(self) -> int:
        return len(self.begin)

    def take(self, rows: Ints) -> Text:
        valid = None if self.valid is None else self.valid[rows]
        source = None if self.source is None else self.source.take(pa.array(rows))
        return Text(self.data, self.begin[rows], self.length[rows], valid, source)

    @cached_property
    def head(self) -> Words:
        """The first block."""
        longest = int(self.length.max(initial=0))
        steps = _STEPS[: max(1, -(-longest // WORD))]
        length = self.length if longest <= WORD * BLOCK else np.minimum(self.length, WORD * BLOCK)
        every = np.ndarray(len(self.data) - WORD + 1, "<u8", self.data, strides=(1,))
        block: Words = every[self.begin + steps]
        block &= _MASKS[length - steps]
        return block

    @property
    def rest(self) -> tuple[Ints, Text] | None:
        """The rows with more than one block, and what follows it; None where there is none."""
        if len(self.head) < BLOCK or int(self.length.max()) == WORD * BLOCK:
            return None
        rows = np.flatnonzero(self.length > WORD * BLOCK)
        return rows, Text(self.data, self.begin[rows] + WORD * BLOCK, self.length[rows] - WORD * BLOCK, None)


Plain = Fixed | Text


def plain(array: pa.Array) -> Plain:
    """The keys of an array as flat arrays."""
    type = array.type
    if pa.types.is_null(type):
        return Fixed(np.zeros(len(array), np.int8), np.zeros(len(array), bool))
    if pa.types.is_nested(type):
        array = pa.array(map(repr, array.to_pylist()), pa.string())
    return _text(array) if array.type.id in _TEXT else _fixed(array)


def _text(array: pa.Array) -> Text:
    _, ends, data = array.buffers()
    edges = np.frombuffer(ends or b"", _TEXT[array.type.id])[array.offset : array.offset + len(array) + 1]
    if not len(array):
        return Text(NOTHING_BEHIND, NOWHERE, NOWHERE, None, array)
    first, last = int(edges[0]), int(edges[-1])
    held = np.empty(last - first + len(NOTHING_BEHIND), np.uint8)
    held[: last - first] = np.frombuffer(data or b"", np.uint8)[first:last]
    held[last - first :] = 0
    begin, valid = edges[:-1].astype(np.int64), valid_of(array)
    length = edges[1:] - begin
    begin -= first
    if valid is not None:
        length[~valid] = 0
    return Text(held, begin, length, valid, array)


def _fixed(array: pa.Array) -> Fixed:
    valid = valid_of(array)
    if pa.types.is_boolean(array.type):
        values: Column = array.cast(pa.int8()).fill_null(0).to_numpy()
    elif pa.types.is_floating(array.type):
        values = _one_zero_one_nan(stored(array))
    else:
        values = stored(array)
    if valid is not None:
        values = np.where(valid.reshape(-1, *(1,) * (values.ndim - 1)), values, 0).astype(values.dtype)
    return Fixed(values, valid)


def is_stored_flat(type: pa.DataType) -> bool:
    """Whether the values of a type lie one behind the other, each in so many bytes."""
    return bool(pa.types.is_primitive(type)) and not pa.types.is_boolean(type)


def stored(array: pa.Array) -> Column:
    """The fixed-width values as they lie in memory."""
    width, data = array.type.bit_width // 8, array.buffers()[1] or b""
    span = slice(array.offset, array.offset + len(array))
    if width > WORD:
        return np.frombuffer(data, np.int64).reshape(-1, width // WORD)[span]
    kind = "f" if pa.types.is_floating(array.type) else "i"
    kind = "u" if pa.types.is_unsigned_integer(array.type) else kind
    return np.frombuffer(data, np.dtype(f"{kind}{width}"))[span]


def _one_zero_one_nan(values: Column) -> Column:
    values = values + values.dtype.type(0)
    values[np.isnan(values)] = np.nan
    return values.view(np.dtype(f"i{values.itemsize}"))
