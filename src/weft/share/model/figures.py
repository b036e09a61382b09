"""Costs and counts in words that a person believes: units, and two digits."""

from __future__ import annotations

from math import floor, log10

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def rounded(number: float) -> float:
    """To two digits."""
    return round(number, 1 - floor(log10(abs(number)))) if number else 0.0


def plain(number: float) -> str:
    """`0.34`, `7.4`, `27`, `1,100`."""
    short = rounded(number)
    return f"{short:,.0f}" if abs(short) >= 10 or short == int(short) else f"{short:g}"


def counted(number: float) -> str:
    """`0.25`, `2.457`, `1,000,000`, `12,096 trillion`: four digits, or all that stand before the point."""
    if number >= 1e15:
        return f"{counted(number / 1e12)} trillion"
    return f"{number:,.0f}" if number >= 1000 else f"{number:.4g}"


def cpu(seconds: float) -> str:
    """`27 s`, `340 ms`, `4.2 µs`: CPU time."""
    short = rounded(seconds)
    for size, unit in _UNITS:
        if short >= size:
            return f"{plain(short / size)} {unit}"
    return "0 s"


def share(part: float, whole: float) -> str:
    """`34 %`, `3.1 %`, `below 0.1 %`."""
    percent = 100 * part / whole if whole else 0.0
    if percent and percent < 0.1:
        return "below 0.1 %"
    return f"{plain(percent)} %"


def against(cost: float, ours: float) -> str:
    """`79 times more`, `12 % more`, `the same`: a cost beside that of the plan in force."""
    if not ours or abs(cost / ours - 1) < 0.01:
        return "the same"
    if cost >= 2 * ours:
        return f"{plain(cost / ours)} times more"
    return f"{plain(100 * abs(cost / ours - 1))} % {'more' if cost > ours else 'less'}"
