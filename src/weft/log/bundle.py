"""Several Arrow tables in one file: IPC streams one after the other, and an index of where each lies.

    [ stream of table a ][ stream of table b ][ ... ]        index: a -> (offset, length, rows, checksum)

One file instead of one per table keeps small steps cheap: what a write costs is the sync, not the bytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from weft.log.durable import Chunks, checksum, damaged

_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_WORTH_COMPRESSING = 4096  # below this many rows a stream costs more to set up than its bytes to write
# Handing columns to threads costs more than packing them.
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)


@dataclass(frozen=True, slots=True)
class Slot:
    """Where one table lies in its file."""

    offset: int
    length: int
    rows: int
    checksum: str

    def to_json(self) -> list[Any]:
        return [self.offset, self.length, self.rows, self.checksum]


def pack(tables: Mapping[str, Any]) -> tuple[Chunks, dict[str, Slot]]:
    """The bytes of a file that holds all tables, and its index."""
    chunks: list[Any] = []
    index: dict[str, Slot] = {}
    offset = 0
    for name, table in tables.items():
        stream = _stream(table)
        length = sum(len(chunk) for chunk in stream)
        index[name] = Slot(offset, length, table.num_rows, checksum(stream))
        chunks += stream
        offset += length
    return chunks, index


def _stream(table: Any) -> Chunks:
    has_dictionary = any(pa.types.is_dictionary(kind) for kind in table.schema.types)
    if table.num_rows >= _WORTH_COMPRESSING or has_dictionary:
        return [memoryview(_written_stream(table))]
    # A stream is its schema message, its batches and a mark; put together by hand, a third of the time.
    batches = [memoryview(batch.serialize()) for batch in table.combine_chunks().to_batches()]
    return [memoryview(table.schema.serialize()), *batches, _END_OF_STREAM]


def _written_stream(table: Any) -> Any:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema, options=_OPTIONS) as writer:
        writer.write_table(table)
    return out.getvalue()


def unpack(path: Path, slot: Slot) -> Any:
    """One table of a file, checked against its index entry."""
    data = _read(path, slot)
    if len(data) != slot.length:
        raise damaged(path, f"it ends at byte {slot.offset + len(data)} of {slot.offset + slot.length}")
    if checksum([data]) != slot.checksum:
        raise damaged(
            path, f"the checksum of bytes {slot.offset} to {slot.offset + slot.length} does not match"
        )
    return pa.ipc.open_stream(data).read_all()


def _read(path: Path, slot: Slot) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        raise damaged(path, "it is missing") from None
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from error
    with open(handle, "rb", buffering=0) as file:
        file.seek(slot.offset)
        return _read_all(file, slot.length)


def _read_all(file: Any, length: int) -> bytes:
    parts = []
    while length > 0 and (part := file.read(length)):
        parts.append(part)
        length -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
