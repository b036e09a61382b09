"""Rows of text as aligned columns."""

from __future__ import annotations

from collections.abc import Sequence

WIDEST = 48


def table(rows: Sequence[tuple[str, ...]], indent: int) -> list[str]:
    """Rows as aligned columns; an over-long cell does not push the others away."""
    if not rows:
        return []
    widths = [min(WIDEST, max(len(row[at]) for row in rows)) for at in range(len(rows[0]))]
    return [
        " " * indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
