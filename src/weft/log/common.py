"""Columns that several tables have in common: not equal ones, but parts of the very same memory.

window_end of a     [ 10:05 10:05 10:10 10:10 10:15 10:15 ]
window_start of b               [ 10:10 10:10 10:15 10:15 ]      a span of the same
"""

from __future__ import annotations

from collections.abc import Iterable
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

    def joined(self, other: Span | None) -> Span:
        """From where the first of both starts to where the last stops."""
        if other is None:
            return self
        return replace(self, start=min(self.start, other.start), stop=max(self.stop, other.stop))


def common_columns(tables: Iterable[Any]) -> dict[Memory, Span]:
    """What several tables have as a column, as far as any of them has it."""
    seen: dict[Memory, Span] = {}
    common: dict[Memory, Span] = {}
    for table in tables:
        for span in spans(table):
            if span is not None:
                if span.memory in seen:
                    common[span.memory] = span.joined(seen[span.memory])
                seen[span.memory] = span.joined(seen.get(span.memory))
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


def nbytes(tables: Iterable[Any]) -> int:
    """What tables take in memory, columns that they have in common counted once."""
    total = 0
    common: dict[Memory, Span] = {}
    for table in tables:
        total += int(table.nbytes)
        for span in spans(table):
            if span is not None:
                total -= int(span.chunk.nbytes)
                common[span.memory] = span.joined(common.get(span.memory))
    return total + sum(int(span.array().nbytes) for span in common.values())
