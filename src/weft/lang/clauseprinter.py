"""Parts of clauses -> canonical text."""

from __future__ import annotations

from weft.lang.names import shown
from weft.lang.statements import Item, OrderKey
from weft.times import DAY, HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND, Duration

_UNITS = (
    (DAY, "DAY"), (HOUR, "HOUR"), (MINUTE, "MINUTE"), (SECOND, "SECOND"), (MILLISECOND, "MILLISECOND"),
    (MICROSECOND, "MICROSECOND"),
)  # fmt: skip


def print_duration(length: Duration) -> str:
    """`1 HOUR 30 MINUTES`: what the language reads as this length."""
    if length < 0:
        return f"-{-length} MICROSECONDS"
    parts, rest = [], length
    for size, unit in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}{'S' if count > 1 else ''}")
    return " ".join(parts) or "0 SECONDS"


def print_item(item: Item) -> str:
    return item.expr.sql if item.alias is None else f"{item.expr.sql} AS {shown(item.alias)}"


def print_order_key(key: OrderKey) -> str:
    text = key.expr.sql + (" DESC" if key.descending else "")
    if key.nulls_first == key.descending:
        text += " NULLS FIRST" if key.nulls_first else " NULLS LAST"
    return text
