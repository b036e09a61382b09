"""The values of one key, by group: flat arrays that grow at their ends."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.kernels.arrow import bitmap
from weft.kernels.combine import Bools, Ints
from weft.kernels.growing import Growing
from weft.kernels.plain import NOTHING_BEHIND, Fixed, Plain, Text, plain

_MOST_SHORT = np.iinfo(np.int32).max  # bytes that Arrow's plain strings can tell apart


def as_type(array: pa.Array, type: pa.DataType) -> pa.Array:
    return array if array.type == type else array.cast(type)


class FixedKeys:
    """Numbers of one width."""

    def __init__(self, type: pa.DataType) -> None:
        self.type = type
        self._values = Growing(_fixed(plain(pa.nulls(0, type))).values)
        self._valid = Growing(np.zeros(0, bool))  # empty as long as there is no null

    @property
    def nbytes(self) -> int:
        return self._values.nbytes + self._valid.nbytes

    def extend(self, array: pa.Array) -> None:
        fixed = _fixed(plain(array))
        _extend_valid(self._valid, fixed.valid, len(self._values), len(fixed))
        self._values.extend(fixed.values)

    def truncate(self, count: int) -> None:
        self._values.truncate(count)
        self._valid.truncate(min(count, len(self._valid)))

    def plain(self) -> Plain:
        return Fixed(self._values.used, self._valid.used if len(self._valid) else None)

    def equal(self, ids: Ints, keys: Plain) -> Bools:
        """Where the keys of the groups are these."""
        fixed, mine = _fixed(keys), self._values.used[ids]
        same: Bools = mine == fixed.values if mine.ndim == 1 else (mine == fixed.values).all(axis=1)
        if len(self._valid):
            same &= self._valid.used[ids] == (True if fixed.valid is None else fixed.valid)
        elif fixed.valid is not None:
            same &= fixed.valid
        return same

    def take(self, ids: Ints) -> pa.Array:
        valid = self._valid.used[ids] if len(self._valid) else None
        values = self._values.used[ids]
        if pa.types.is_null(self.type):
            return pa.nulls(len(ids))
        if pa.types.is_boolean(self.type):
            values = np.packbits(values.astype(bool), bitorder="little")
        return pa.Array.from_buffers(self.type, len(ids), [bitmap(valid), pa.py_buffer(values)])


class TextKeys:
    """Bytes one after the other, and where each key ends."""

    def __init__(self, type: pa.DataType) -> None:
        self.type = type
        self._data = Growing(NOTHING_BEHIND)
        self._edges = Growing(np.zeros(1, np.int32))
        self._valid = Growing(np.zeros(0, bool))

    @property
    def nbytes(self) -> int:
        return self._data.nbytes + self._edges.nbytes + self._valid.nbytes

    def extend(self, array: pa.Array) -> None:
        """Keys that lie one behind the other, as Arrow's `take` leaves them."""
        text, size = _text(plain(array)), int(self._edges.used[-1])
        ends = text.begin + text.length + size
        if len(ends) and ends[-1] > _MOST_SHORT and self._edges.used.dtype == np.int32:
            self._edges = Growing(self._edges.used.astype(np.int64))
        _extend_valid(self._valid, text.valid, len(self._edges) - 1, len(text))
        self._data.truncate(size)
        self._data.extend(text.data)
        self._edges.extend(ends)

    def truncate(self, count: int) -> None:
        self._edges.truncate(count + 1)
        self._data.truncate(int(self._edges.used[-1]))
        self._data.extend(NOTHING_BEHIND)
        self._valid.truncate(min(count, len(self._valid)))

    def plain(self) -> Plain:
        edges = self._edges.used.astype(np.int64, copy=False)
        valid = self._valid.used if len(self._valid) else None
        return Text(self._data.used, edges[:-1], np.diff(edges), valid)

    def equal(self, ids: Ints, keys: Plain) -> Bools:
        """Where the keys of the groups are these: as a rule everywhere, which Arrow tells at once."""
        theirs, mine = _text(keys).source, self.take(ids)
        assert theirs is not None
        if mine.equals(theirs):
            return np.ones(len(ids), bool)
        same: Bools = pc.equal(mine, theirs).fill_null(False).to_numpy(zero_copy_only=False)
        both_null: Bools = pc.and_(mine.is_null(), theirs.is_null()).to_numpy(zero_copy_only=False)
        return same | both_null

    def take(self, ids: Ints) -> pa.Array:
        edges, data = pa.py_buffer(self._edges.used), pa.py_buffer(self._data.used)
        large = self._edges.used.dtype == np.int64
        stored = pa.Array.from_buffers(_sized(self.type, large), len(self._edges) - 1, [None, edges, data])
        taken = pc.take(stored, pa.array(ids), boundscheck=False)
        if len(self._valid):
            valid = bitmap(self._valid.used[ids])
            taken = pa.Array.from_buffers(taken.type, len(ids), [valid, *taken.buffers()[1:]])
        return as_type(taken, self.type)


class NestedKeys:
    """Lists, structs and maps: told apart by their text, and kept as they came."""

    def __init__(self, type: pa.DataType) -> None:
        self.type = type
        self._texts = TextKeys(pa.string())
        self._parts = [pa.nulls(0, type)]

    @property
    def nbytes(self) -> int:
        return self._texts.nbytes + sum(int(part.nbytes) for part in self._parts)

    def extend(self, array: pa.Array) -> None:
        """Parts at least halve in length from one to the next, so that there are few."""
        self._texts.extend(pa.array(map(repr, array.to_pylist()), pa.string()))
        self._parts.append(array)
        while len(self._parts) > 1 and 2 * len(self._parts[-1]) > len(self._parts[-2]):
            self._parts[-2:] = [pa.concat_arrays(self._parts[-2:])]

    def truncate(self, count: int) -> None:
        self._parts = [pa.concat_arrays(self._parts).take(pa.array(np.arange(count)))]
        self._texts.truncate(count)

    def plain(self) -> Plain:
        return self._texts.plain()

    def equal(self, ids: Ints, keys: Plain) -> Bools:
        return self._texts.equal(ids, keys)

    def take(self, ids: Ints) -> pa.Array:
        return pa.concat_arrays(self._parts).take(pa.array(ids))


Keys = FixedKeys | TextKeys | NestedKeys


def keys_of(type: pa.DataType) -> Keys:
    """No keys yet, of that type."""
    if pa.types.is_nested(type):
        return NestedKeys(type)
    return TextKeys(type) if isinstance(plain(pa.nulls(0, type)), Text) else FixedKeys(type)


def _extend_valid(valid: Growing, more: Bools | None, before: int, count: int) -> None:
    """Whether keys are there is written down from the first null on."""
    if more is None and not len(valid):
        return
    if not len(valid):
        valid.extend(np.ones(before, bool))
    valid.extend(np.ones(count, bool) if more is None else more)


def _sized(type: pa.DataType, large: bool) -> pa.DataType:
    """The type of texts or binaries with edges of 64 bits, or of 32."""
    if pa.types.is_string(type) or pa.types.is_large_string(type):
        return pa.large_string() if large else pa.string()
    return pa.large_binary() if large else pa.binary()


def _fixed(keys: Plain) -> Fixed:
    assert isinstance(keys, Fixed)
    return keys


def _text(keys: Plain) -> Text:
    assert isinstance(keys, Text)
    return keys
