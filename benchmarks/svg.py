"""Bars as SVG text, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

ROW, LABEL, BAR, VALUE = 24, 230, 380, 110
GREY, BLUE, TEXT = "#8c959f", "#2f81f7", "#7d8590"


def bars(title: str, values: Sequence[tuple[str, float]], marked: str) -> str:
    """A bar for each value, all from zero and on one scale; that of `marked` in another colour."""
    longest = max(value for _, value in values)
    height = ROW * (len(values) + 1) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LABEL + BAR + VALUE}" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        f'<text x="0" y="16" fill="{TEXT}" font-weight="bold">{escape(title)}</text>',
    ]
    for number, (label, value) in enumerate(values, start=1):
        lines += _bar(label, value, value / longest, ROW * number, BLUE if label == marked else GREY)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _bar(label: str, value: float, share: float, top: int, colour: str) -> list[str]:
    width = max(1.0, BAR * share)
    return [
        f'<text x="0" y="{top + 17}" fill="{TEXT}">{escape(label)}</text>',
        f'<rect x="{LABEL}" y="{top + 5}" width="{width:.1f}" height="{ROW - 8}" fill="{colour}"/>',
        f'<text x="{LABEL + width + 6:.1f}" y="{top + 17}" fill="{TEXT}">{value:,.2f}</text>',
    ]
