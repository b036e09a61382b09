"""Columns that several tables have in common: not equal ones, but parts of the very same memory.

window_end of a     [ 10:05 10:05 10:10 10:10 10:15 10:15 ]
window_start of b               [ 10:10 10:10 10:15 10:15 ]      a span of the same
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

MANY_ROWS = 4096  # below this many rows a stream of its own costs more to set up than its bytes to write

Memory = tuple[Any, ...]  # type, and address and size of each buffer


@dataclass(frozen=True, slots=True)
class Span:
    """A column as a part of some memory."""

    memory: Memory
    chunk: Any
    start: int
    stop: int

    def array(self) -> Any:
        rows, buffers = self.stop - self.start, self.chunk.buffers()
        return pa.Array.from_buffers(self.chunk.type, rows, buffers, -1, self.start)

    def joined(self, other: Span) -> Span:
        """From where the first of both starts to where the last stops."""
        if self.start <= other.start and other.stop <= self.stop:
            return self
        return replace(self, start=min(self.start, other.start), stop=max(self.stop, other.stop))


def common_columns(
    tables: Iterable[Sequence[Span | None]], written: Mapping[Memory, Span]
) -> dict[Memory, Span]:
    """What several tables have as a column, as far as any of them has it; tables as `spans` gives them.

    What is `written` already counts as one of them, and is given as it is where it is enough.
    """
    seen: dict[Memory, Span] = dict(written)
    common: dict[Memory, Span] = {}
    for columns in tables:
        for span in columns:
            if span is not None and (known := seen.setdefault(span.memory, span)) is not span:
                seen[span.memory] = common[span.memory] = known.joined(span)
    return common


def spans(table: Any) -> list[Span | None]:
    """The columns that others may have too. The last one is a table's own, or it would have no rows."""
    return [_span(column) for column in table.columns[:-1]] if table.num_rows >= MANY_ROWS else []


def _span(column: Any) -> Span | None:
    if column.num_chunks != 1 or column.type.num_fields or pa.types.is_dictionary(column.type):
        return None
    chunk = column.chunk(0)
    parts = ((0, 0) if buffer is None else (buffer.address, buffer.size) for buffer in chunk.buffers())
    return Span((column.type, *parts), chunk, chunk.offset, chunk.offset + len(chunk))


def new_bytes(table: Any, columns: Sequence[Span | None], known: set[Memory]) -> int:
    """What a table takes beside the memory that is known; its own is known from now on."""
    if not columns:
        return int(table.nbytes)
    total = 0
    for at in range(table.num_columns):
        span = columns[at] if at < len(columns) else None
        if span is None:
            total += table.column(at).nbytes
        elif span.memory not in known:
            known.add(span.memory)
            total += sum(size for _, size in span.memory[1:])
    return total


def nbytes(tables: Iterable[Any]) -> int:
    """What tables take in memory, columns that they have in common counted once."""
    chunks = (chunk for table in tables for column in table.columns for chunk in column.chunks)
    buffers = (buffer for chunk in chunks for buffer in chunk.buffers() if buffer is not None)
    return sum({buffer.address: buffer.size for buffer in buffers}.values())
