"""The footer of a Parquet file, taken apart and put together, so that row groups can be added to a file.

A Parquet library writes a file from beginning to end; the footer, which says where each column chunk lies,
comes last and once. To let a file grow by row groups that are encoded only once, weft has the library write
each new row group as a small file of its own, puts its bytes behind those that are there, and moves the
offsets in its footer likewise. The footer is a Thrift struct in the compact protocol; what weft does not know
in it stays.

Numbers of fields are those of `parquet.thrift` in the Apache Parquet format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)

_NUM_ROWS, _ROW_GROUPS = 3, 4  # FileMetaData
_COLUMNS, _GROUP_OFFSET, _ORDINAL = 1, 5, 7  # RowGroup
_META_DATA, _CHUNK_OFFSETS = (
    3,
    (2, 4, 6),
)  # ColumnChunk: of the chunk, of its offset index, of its column index
_META_OFFSETS = (9, 10, 11, 14)  # ColumnMetaData: data page, index page, dictionary page, bloom filter

MAGIC = b"PAR1"

Field = tuple[
    int, Any
]  # Thrift type, and the value: an int, a list of structs, a struct, or bytes left as they are
Struct = dict[int, Field]
Wanted = Mapping[
    int, Any
]  # the fields of a struct to take apart: None for a number, else those of a struct below

_OFFSETS_OF_META: Wanted = dict.fromkeys(_META_OFFSETS)
_OFFSETS_OF_CHUNK: Wanted = dict.fromkeys(_CHUNK_OFFSETS) | {_META_DATA: _OFFSETS_OF_META}
_OFFSETS_OF_GROUP: Wanted = {_COLUMNS: _OFFSETS_OF_CHUNK, _GROUP_OFFSET: None, _ORDINAL: None}
_ROW_GROUPS_OF_FILE: Wanted = {_NUM_ROWS: None, _ROW_GROUPS: _OFFSETS_OF_GROUP}


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
    fields = _Reader(footer).struct({})
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
    reader = _Reader(footer, len(like.head) if known else 0)
    fields = reader.struct(_ROW_GROUPS_OF_FILE, _NUM_ROWS - 1 if known else 0, _ROW_GROUPS)
    moved = [_encode(_moved_group(group, by, first + at)) for at, group in enumerate(fields[_ROW_GROUPS][1])]
    return moved, int(fields[_NUM_ROWS][1])


def join_footer(around: Frame, row_groups: list[bytes], rows: int) -> bytes:
    """The end of a file that holds these row groups: its footer, the length of that, the magic."""
    out = bytearray(around.head)
    _write_fields(out, {_NUM_ROWS: (_I64, rows)}, _NUM_ROWS - 1)
    out.append(1 << 4 | _LIST)
    _write_list_header(out, len(row_groups))
    out += b"".join(row_groups)
    out += around.end
    return bytes(out) + len(out).to_bytes(4, "little") + MAGIC


def _moved_group(group: Struct, by: int, ordinal: int) -> Struct:
    moved = _moved(group, (_GROUP_OFFSET,), by)
    moved[_COLUMNS] = (_LIST, [_moved_chunk(chunk, by) for chunk in group[_COLUMNS][1]])
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
    """Reads the compact protocol, taking apart only what is wanted."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._at = at

    def struct(self, wanted: Wanted, number: int = 0, last: int | None = None) -> Struct:
        """The fields after `number`, to the end of the struct or up to the field `last`."""
        fields: Struct = {}
        while number != last and (header := self._byte()):
            number = number + (header >> 4) if header >> 4 else self._zigzag()
            kind = header & 15
            if number in wanted:
                fields[number] = (kind, self._value(kind, wanted[number]))
            else:
                start = self._at
                self._skip(kind, in_struct=True)
                fields[number] = (kind, self._data[start : self._at])
        return fields

    def _value(self, kind: int, wanted: Wanted | None) -> Any:
        if wanted is None:
            return self._zigzag()
        if kind == _STRUCT:
            return self.struct(wanted)
        return [self.struct(wanted) for _ in range(self._list_header()[1])]

    def _skip(self, kind: int, in_struct: bool = False) -> None:
        if kind in (_I16, _I32, _I64):
            while self._byte() > 127:
                pass
        elif kind == _BINARY:
            length = self._varint()
            self._at += length
        elif kind == _STRUCT:
            self._skip_struct()
        elif kind in (_LIST, _SET):
            element, count = self._list_header()
            for _ in range(count):
                self._skip(element)
        elif kind in (_DOUBLE, _BYTE):
            self._at += 8 if kind == _DOUBLE else 1
        elif kind in (_TRUE, _FALSE):
            self._at += 0 if in_struct else 1  # the value of a field is in its header
        else:
            raise ValueError(f"a Parquet footer with a field of type {kind}")

    def _skip_struct(self) -> None:
        while header := self._byte():
            if not header >> 4:
                self._zigzag()
            self._skip(header & 15, in_struct=True)

    def _list_header(self) -> tuple[int, int]:
        header = self._byte()
        return header & 15, header >> 4 if header >> 4 < 15 else self._varint()

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

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
        assert 0 < number - last < 16, "footers have no gaps of fifteen fields"
        out.append((number - last) << 4 | kind)
        last = number
        match value:
            case bytes():
                out += value
            case int():
                _write_varint(out, value << 1 ^ value >> 63)
            case dict():
                _write_struct(out, value)
            case _:
                _write_list_header(out, len(value))
                for element in value:
                    _write_struct(out, element)


def _write_list_header(out: bytearray, count: int) -> None:
    """Of a list of structs."""
    out.append(min(count, 15) << 4 | _STRUCT)
    if count >= 15:
        _write_varint(out, count)


def _write_varint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
