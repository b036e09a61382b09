"""Numbers, sizes and times as people read them on a board: short, and of steady width."""

from __future__ import annotations

from collections.abc import Sequence

from weft.times import Duration, Instant, show_instant

_BARS = " ▁▂▃▄▅▆▇█"


def count(number: float) -> str:
    """`1,234,567`, and from ten million on `12.3 M`."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(number) >= max(size, 1e7):
            return f"{number / size:,.1f} {unit}"
    return f"{round(number):,}"


def many(number: int, one: str, more: str = "") -> str:
    """`1 row`, `1,234 rows`."""
    return f"{count(number)} {one if number == 1 else more or one + 's'}"


def times(ratio: float) -> str:
    """`5.6 x`; from ten on without fraction."""
    return f"{ratio:,.0f} x" if ratio >= 10 else f"{ratio:.1f} x"


def size(number: int) -> str:
    """`512 B`, `12.3 MB`: powers of 1000."""
    value = float(number)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"


def span(seconds: float) -> str:
    """`0.38 s`, `12 s`, `5 min 3 s`, `2 h 5 min`, `3 d 4 h`: two units at most."""
    if seconds < 0:
        return "-" + span(-seconds)
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    first = next(at for at, (number, _) in enumerate(parts) if number)
    return " ".join(f"{number} {unit}" for number, unit in parts[first : first + 2] if number)


def clock(seconds: float) -> str:
    """`0:00:12` since the start."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def of_day(at: Instant | None) -> str:
    """The time of day, `10:00:07`; nothing yet: a dash."""
    return "-" if at is None else show_instant(at)[11:19]


def seconds(length: Duration) -> float:
    return length / 1e6


def bar(part: float, whole: float, width: int) -> str:
    """`part` of `whole` as a bar of `width` characters; the smallest part is still seen."""
    if whole <= 0:
        return "·" * width
    filled = max(1 if part > 0 else 0, round(width * min(1.0, part / whole)))
    return "█" * filled + "·" * (width - filled)


def spark_line(values: Sequence[float], width: int) -> str:
    """The last `width` values, each as a block in proportion to the greatest."""
    shown = list(values)[-width:]
    top = max(shown, default=0.0)
    if top <= 0:
        return " " * width
    return "".join(_BARS[max(1, round(8 * value / top)) if value > 0 else 0] for value in shown).rjust(width)
