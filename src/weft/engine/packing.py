"""State that goes from one process to the next by way of a file: pickled, its arrays beside it.

A slice of an Arrow table goes without the rest of the table, an expression as its text.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import lru_cache
from io import BytesIO
from typing import Any

import pyarrow as pa

from weft.lang.parse import parse_expression
from weft.lang.statements import Expr

Keep = Callable[[pickle.PickleBuffer], None]


def packed(state: object, keep: Keep) -> bytes:
    """The state without its arrays, which `keep` is given one by one."""
    out = BytesIO()
    _Pickler(out, protocol=5, buffer_callback=keep).dump(state)
    return out.getvalue()


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: object) -> Any:
        match obj:
            case pa.Table():
                return _table, (pickle.PickleBuffer(_written(obj)),)
            case pa.Array() | pa.ChunkedArray() if obj.get_total_buffer_size() > obj.nbytes:
                make = _array if isinstance(obj, pa.Array) else _chunked
                return make, (pickle.PickleBuffer(_written(pa.table({"": obj}))),)
            case Expr():
                return _expression, (obj.sql,)
            case _:
                return NotImplemented


def _written(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _table(buffer: Any) -> pa.Table:
    return pa.ipc.open_stream(pa.py_buffer(buffer)).read_all()


def _chunked(buffer: Any) -> pa.ChunkedArray:
    return _table(buffer).column(0)


def _array(buffer: Any) -> pa.Array:
    return _chunked(buffer).combine_chunks()


@lru_cache(maxsize=65_536)
def _expression(sql: str) -> Expr:
    return parse_expression(sql)
