"""The footer of a Parquet file, taken apart and put together, so that row groups can be added to a file.

A Parquet library writes a file from beginning to end; the footer, which says where each column chunk lies,
comes last and once. To let a file grow by row groups that are encoded only once, weft has the library write
each new row group as a small file of its own, puts its bytes behind those that are there, and moves the
offsets in its footer likewise. The footer is a Thrift struct in the compact protocol; what weft does not know
in it stays.

Numbers of fields are those of `parquet.thrift` in the Apache Parquet format.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)

_NUM_ROWS, _ROW_GROUPS = 3, 4  # FileMetaData
_COLUMNS, _GROUP_OFFSET, _ORDINAL = 1, 5, 7  # RowGroup
_CHUNK_OFFSETS, _META_DATA = (
    (2, 4, 6),
    3,
)  # ColumnChunk: of the chunk, of its offset index, of its column index
_META_OFFSETS = (9, 10, 11, 14)  # ColumnMetaData: data page, index page, dictionary page, bloom filter

MAGIC = b"PAR1"

Field = tuple[int, Any]  # Thrift type and value
Struct = dict[int, Field]


@dataclass(frozen=True, slots=True)
class Listed:
    """A Thrift list: the type of its elements, and the elements."""

    kind: int
    values: list[Any]


@dataclass(frozen=True, slots=True)
class Frame:
    """What is around the row groups in a footer: version and schema before them, metadata after them."""

    head: bytes
    end: bytes


def split_file(data: bytes) -> tuple[bytes, bytes]:
    """The bytes of a Parquet file between magic and footer, and the footer."""
    length = int.from_bytes(data[-8:-4], "little")
    return data[4 : -8 - length], data[-8 - length : -8]


def frame(footer: bytes) -> Frame:
    """The frame of a footer."""
    fields = _Reader(footer).struct()
    head, end = bytearray(), bytearray()
    _write_fields(head, {number: field for number, field in fields.items() if number < _NUM_ROWS}, 0)
    _write_fields(
        end, {number: field for number, field in fields.items() if number > _ROW_GROUPS}, _ROW_GROUPS
    )
    end.append(0)
    return Frame(bytes(head), bytes(end))


def moved_row_groups(footer: bytes, like: Frame, by: int, first: int) -> tuple[list[bytes], int]:
    """The row groups of a footer, encoded, after their bytes have moved, and how many rows they hold.

    They are numbered from `first` on. What the footer has in common with `like` is not read again.
    """
    known = footer.startswith(like.head)
    fields = _Reader(footer, len(like.head) if known else 0).struct(
        _NUM_ROWS - 1 if known else 0, _ROW_GROUPS
    )
    groups = fields[_ROW_GROUPS][1].values
    moved = [_encode(_moved_group(group, by, first + at)) for at, group in enumerate(groups)]
    return moved, int(fields[_NUM_ROWS][1])


def join_footer(around: Frame, row_groups: list[bytes], rows: int) -> bytes:
    """The end of a file that holds these row groups: its footer, the length of that, the magic."""
    out = bytearray(around.head)
    _write_field(out, 1, _I64, rows)
    _write_header(out, 1, _LIST)
    _write_list_header(out, _STRUCT, len(row_groups))
    out += b"".join(row_groups)
    out += around.end
    return bytes(out) + len(out).to_bytes(4, "little") + MAGIC


def _moved_group(group: Struct, by: int, ordinal: int) -> Struct:
    moved = _moved(group, (_GROUP_OFFSET,), by)
    columns = [_moved_chunk(chunk, by) for chunk in group[_COLUMNS][1].values]
    moved[_COLUMNS] = (_LIST, Listed(_STRUCT, columns))
    if _ORDINAL in moved:
        moved[_ORDINAL] = (_I16, ordinal)
    return moved


def _moved_chunk(chunk: Struct, by: int) -> Struct:
    moved = _moved(chunk, _CHUNK_OFFSETS, by)
    if _META_DATA in moved:
        moved[_META_DATA] = (_STRUCT, _moved(moved[_META_DATA][1], _META_OFFSETS, by))
    return moved


def _moved(fields: Struct, offsets: tuple[int, ...], by: int) -> Struct:
    # Some writers put 0 for an offset they do not give.
    return fields | {
        number: (fields[number][0], fields[number][1] + by)
        for number in offsets
        if number in fields and fields[number][1] > 0
    }


class _Reader:
    """Reads the compact protocol."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._at = at

    def struct(self, number: int = 0, last: int | None = None) -> Struct:
        """The fields after `number`, to the end of the struct or up to the field `last`."""
        fields: Struct = {}
        while number != last and (header := self._byte()):
            number = number + (header >> 4) if header >> 4 else self._zigzag()
            kind = header & 15
            fields[number] = (kind, kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind))
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (_I16, _I32, _I64):
            return self._zigzag()
        if kind == _BINARY:
            return self._take(self._varint())
        if kind == _STRUCT:
            return self.struct()
        if kind in (_LIST, _SET):
            return self._list()
        if kind == _DOUBLE:
            return struct.unpack("<d", self._take(8))[0]
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        raise ValueError(f"a Parquet footer with a field of type {kind}")

    def _list(self) -> Listed:
        header = self._byte()
        count = header >> 4 if header >> 4 < 15 else self._varint()
        return Listed(header & 15, [self._value(header & 15) for _ in range(count)])

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _take(self, length: int) -> bytes:
        self._at += length
        return self._data[self._at - length : self._at]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


def _encode(fields: Struct) -> bytes:
    out = bytearray()
    _write_struct(out, fields)
    return bytes(out)


def _write_struct(out: bytearray, fields: Struct) -> None:
    _write_fields(out, fields, 0)
    out.append(0)


def _write_fields(out: bytearray, fields: Struct, last: int) -> None:
    for number, (kind, value) in sorted(fields.items()):
        _write_field(out, number - last, kind, value)
        last = number


def _write_field(out: bytearray, step: int, kind: int, value: Any) -> None:
    _write_header(out, step, kind)
    if kind not in (_TRUE, _FALSE):
        _write_value(out, kind, value)


def _write_header(out: bytearray, step: int, kind: int) -> None:
    assert 0 < step < 16, "footers have no gaps of fifteen fields"
    out.append(step << 4 | kind)


def _write_value(out: bytearray, kind: int, value: Any) -> None:
    if kind in (_I16, _I32, _I64):
        _write_varint(out, value << 1 ^ value >> 63)
    elif kind == _BINARY:
        _write_varint(out, len(value))
        out += value
    elif kind == _STRUCT:
        _write_struct(out, value)
    elif kind in (_LIST, _SET):
        _write_list_header(out, value.kind, len(value.values))
        for element in value.values:
            _write_value(out, value.kind, element)
    elif kind == _DOUBLE:
        out += struct.pack("<d", value)
    else:
        out.append(value)


def _write_list_header(out: bytearray, kind: int, count: int) -> None:
    if count < 15:
        out.append(count << 4 | kind)
    else:
        out.append(15 << 4 | kind)
        _write_varint(out, count)


def _write_varint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
