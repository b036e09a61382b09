"""Shapes as SVG text, readable on light and dark pages."""

from __future__ import annotations

from html import escape

GREY, BLUE, DARK, TEXT = "#8c959f", "#2f81f7", "#0b3d91", "#7d8590"
SIZE = 12  # of letters
LETTER = 6.7  # what one of them takes, on the average


def document(width: float, height: float, shapes: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="{SIZE}">'
    )
    return "\n".join([head, *shapes, "</svg>"]) + "\n"


def text(
    x: float, y: float, said: str, *, room: float = 0.0, anchor: str = "start", bold: bool = False
) -> str:
    """A line of text; what does not fit its room ends in dots, and is told in full on pointing at it."""
    shown = fitted(said, room) if room else said
    title = f"<title>{escape(said)}</title>" if shown != said else ""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{TEXT}" text-anchor="{anchor}"{weight}>'
        f"{title}{escape(shown)}</text>"
    )


def fitted(said: str, room: float) -> str:
    most = max(1, int(room / LETTER))
    return said if len(said) <= most else said[: most - 1] + "…"


def box(x: float, y: float, width: float, height: float, shade: float = 0.1) -> str:
    """A frame, the darker the greater `shade`, from 0 to 1."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1.0):.1f}" height="{height:.1f}" rx="3" '
        f'fill="{BLUE}" fill-opacity="{0.08 + 0.72 * shade:.2f}" stroke="{BLUE}" stroke-opacity="0.6"/>'
    )


def tick(x: float, top: float, bottom: float, colour: str = GREY) -> str:
    return (
        f'<line x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}" '
        f'stroke="{colour}" stroke-opacity="0.7"/>'
    )


def ribbon(x: float, y: float, to_x: float, to_y: float, width: float) -> str:
    """A curve from one box to another."""
    middle = (x + to_x) / 2
    return (
        f'<path d="M {x:.1f} {y:.1f} C {middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}" '
        f'fill="none" stroke="{GREY}" stroke-opacity="0.45" stroke-width="{width:.1f}"/>'
    )
