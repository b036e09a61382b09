"""Rows as text and as Arrow: the words of a `.test` file.

    A 10 10:00:01          a string, a number, a time of the day that all cases live on
    null NaN -inf true     as they are
    "" "two words" "null"  strings that would read as something else are quoted, as in JSON
    [1,2]                  an array, without spaces

Timestamps are in UTC, as everywhere.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from weft.kernels.arrow import arrow_type

DAY = date(2025, 1, 1)
WORDS = ("null", "true", "false", "NaN", "inf", "-inf")
SETTING, HAPPENING = ("case", "stream", "query", "oracle"), ("feed", "table", "watermark", "drain")
EXPECTED = ("rows", "late", "dead", "error")
DIRECTIVES = SETTING + HAPPENING + EXPECTED

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\[[^\]]*\]|\S+')
_BARE = re.compile(r"[^\W\d][\w./:+-]*")


def read_table(lines: Sequence[str], names: Sequence[str], types: Sequence[str]) -> pa.Table:
    """Lines of values as a table with these columns."""
    rows = [read_row(line, types) for line in lines]
    columns = [pa.array([row[i] for row in rows], arrow_type(type)) for i, type in enumerate(types)]
    return pa.table(dict(zip(names, columns)))


def read_row(line: str, types: Sequence[str]) -> tuple[Any, ...]:
    tokens = _TOKEN.findall(line)
    if len(tokens) != len(types):
        raise ValueError(f"{len(types)} values wanted, {len(tokens)} found: {line!r}")
    return tuple(read_value(token, type) for token, type in zip(tokens, types))


def read_value(token: str, type: str) -> Any:
    if token == "null":
        return None
    if type.startswith("array<"):
        inner = [part for part in token[1:-1].split(",") if part]
        return [read_value(part, type[6:-1]) for part in inner]
    match type:
        case "string":
            return json.loads(token) if token.startswith('"') else token
        case "boolean":
            return {"true": True, "false": False}[token]
        case "float" | "double":
            return float(token)
        case "date":
            return date.fromisoformat(token)
        case "timestamp":
            return read_time(token)
        case _ if type.startswith("decimal("):
            return Decimal(token)
        case _:
            return int(token)


def read_time(token: str) -> datetime:
    """`10:00:01.5` on the day of all cases, or a whole ISO timestamp."""
    text = token if "T" in token else f"{DAY}T{token}"
    whole, _, fraction = text.partition(".")
    when = datetime.fromisoformat(whole)
    return when.replace(microsecond=int(fraction.ljust(6, "0")) if fraction else 0, tzinfo=UTC)


def micros(when: datetime) -> int:
    delta = when.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows as tuples of Python values; timestamps with their zone, zeros without a sign."""
    columns = [_values(column) for column in table.columns]
    return list(zip(*columns)) if columns else []


def _values(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", tz="UTC"))
    values: list[Any] = column.to_pylist()
    if pa.types.is_floating(column.type):
        return [value + 0.0 if value is not None else None for value in values]
    return values


def show_row(row: Sequence[Any]) -> str:
    return " ".join(show_value(value) for value in row)


def show_value(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return "NaN" if math.isnan(value) else repr(value)
        case str():
            bare = _BARE.fullmatch(value) and value not in WORDS and value not in DIRECTIVES
            return value if bare else json.dumps(value, ensure_ascii=False)
        case Decimal():
            return format(value, "f")
        case datetime():
            return show_time(value)
        case list():
            return "[" + ",".join(show_value(part) for part in value) + "]"
        case _:
            return str(value)


def show_time(when: datetime) -> str:
    clock = when.strftime("%H:%M:%S") + (f".{when.microsecond:06d}".rstrip("0") if when.microsecond else "")
    return clock if when.date() == DAY else f"{when.date()}T{clock}"
