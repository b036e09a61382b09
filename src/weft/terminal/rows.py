"""Rows of answers as a table for people."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.table import Table


def rich_table(rows: pa.Table, header: bool = True) -> Table:
    """Columns under their names, numbers to the right, nothing left out."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, show_header=header, header_style="bold")
    for field in rows.schema:
        table.add_column(field.name, justify="right" if _is_number(field.type) else "left", no_wrap=True)
    for row in rows.to_pylist():
        table.add_row(*map(cell, row.values()))
    return table


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def cell(value: Any) -> str:
    """One value, as SQL would show it."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case datetime():
            fraction = f".{value.microsecond:06d}".rstrip("0") if value.microsecond else ""
            return value.strftime("%Y-%m-%d %H:%M:%S") + fraction
        case bytes():
            return value.hex()
        case list():
            return "[" + ", ".join(map(cell, value)) + "]"
        case _:
            return str(value)
