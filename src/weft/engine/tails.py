"""The growing tail of a dataset: its newest file, kept encoded in memory, only ever extended.

    file now      [ rows of flush 1 ][ rows of flush 2 ][ end ]
    next time     [ rows of flush 1 ][ rows of flush 2 ][ rows of flush 3 ][ end ]

What has been written keeps its place in the file. So a flush encodes only what is new; and a reader that has
looked at the file just before it was replaced (its length, or its footer) still finds there what it saw. Only
packing many small pieces into few moves them; it makes the file shorter, and thirty times cheaper to read.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from weft.engine.footer import MAGIC, Frame, frame, join_footer, moved_row_groups, split_file

MOST_ROW_GROUPS = 64  # beyond this many, footer and reading cost more than encoding all rows anew
WHOLE_ROW_GROUP = 131_072  # rows: no use in joining row groups of this size
SMALL_ROW_GROUP = WHOLE_ROW_GROUP // 4  # of which it pays to make larger ones
_SAMPLE = 512  # rows that tell whether a column repeats itself


class Tail(Protocol):
    """Rows of one schema, encoded."""

    @property
    def nbytes(self) -> int: ...

    def load(self, data: bytes) -> Any | None:
        """Go on from the bytes of a whole file; gives its schema, if the format has one."""

    def add(self, table: Any) -> None:
        """Encode more rows behind those that are there."""

    def compact(self) -> None:
        """Encode for good what is now in small pieces."""

    def chunks(self) -> list[bytes]:
        """The bytes of the whole file."""


class ParquetTail:
    """A Parquet file that grows by row groups."""

    def __init__(self, compression: str) -> None:
        self._compression = compression
        self._clear()

    def _clear(self) -> None:
        self._data: list[bytes] = [MAGIC]
        self._groups: list[bytes] = []
        self._frame: Frame | None = None
        self._rows = 0
        self._size = len(MAGIC)

    @property
    def nbytes(self) -> int:
        return self._size + sum(len(group) for group in self._groups)

    def load(self, data: bytes) -> Any | None:
        self._clear()
        self._append(data)
        return pq.read_schema(pa.BufferReader(data)).remove_metadata()

    def add(self, table: Any) -> None:
        if len(self._groups) >= MOST_ROW_GROUPS and self._rows < WHOLE_ROW_GROUP * MOST_ROW_GROUPS:
            self.compact()
        self._append(self._encode(table))

    def _append(self, file: bytes) -> None:
        data, footer = split_file(file)
        self._frame = self._frame or frame(footer)
        groups, rows = moved_row_groups(footer, self._frame, self._size - len(MAGIC), len(self._groups))
        self._groups += groups
        self._data.append(data)
        self._size += len(data)
        self._rows += rows

    def compact(self) -> None:
        if len(self._groups) > 1 + self._rows // SMALL_ROW_GROUP:
            table = pq.ParquetFile(pa.BufferReader(b"".join(self.chunks()))).read()
            self._clear()
            self.add(table)

    def _encode(self, table: Any) -> bytes:
        out = pa.BufferOutputStream()
        repeating = _repeating(table)
        pq.write_table(
            table,
            out,
            compression=self._compression,
            row_group_size=WHOLE_ROW_GROUP,
            use_dictionary=repeating,
        )
        return bytes(out.getvalue())

    def chunks(self) -> list[bytes]:
        assert self._frame is not None, "a tail without rows"
        return [*self._data, join_footer(self._frame, self._groups, self._rows)]


def _repeating(table: Any) -> list[str] | bool:
    """The columns worth a dictionary: it costs three times as much as the rest where most values are new.

    Few rows are not worth the question.
    """
    if table.num_rows < 8 * _SAMPLE:
        return True
    sample = table.take(np.linspace(0, table.num_rows - 1, _SAMPLE, dtype=np.int64))
    flat = [name for name in table.column_names if not pa.types.is_nested(table.schema.field(name).type)]
    return [name for name in flat if len(sample.column(name).unique()) <= _SAMPLE // 4]


class TextTail:
    """A file of lines. `encode` gives the lines of a table, and is told whether they are the first ones."""

    def __init__(self, encode: Callable[[Any, bool], bytes], compressed: bool) -> None:
        self._encode = encode
        self._compressed = compressed
        self._data: list[bytes] = []

    @property
    def nbytes(self) -> int:
        return sum(len(chunk) for chunk in self._data)

    def load(self, data: bytes) -> Any | None:
        self._data = [data]
        return None

    def add(self, table: Any) -> None:
        lines = self._encode(table, not self._data)
        self._data.append(gzip.compress(lines, mtime=0) if self._compressed else lines)

    def compact(self) -> None:
        self._data = [b"".join(self._data)]

    def chunks(self) -> list[bytes]:
        return list(self._data)


def plain_table(table: Any) -> Any:
    """The table in types that every reader knows: instants in microseconds, no dictionaries, no metadata."""
    fields = [pa.field(field.name, _plain_type(field.type), field.nullable) for field in table.schema]
    schema = pa.schema(fields)
    return (table if table.schema.equals(schema) else table.cast(schema, safe=False)).replace_schema_metadata(
        None
    )


def _plain_type(kind: Any) -> Any:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_list(kind):  # `element` is what Parquet calls it
        return pa.list_(pa.field("element", _plain_type(kind.value_type), kind.value_field.nullable))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _plain_type(field.type), field.nullable) for field in kind])
    return kind
