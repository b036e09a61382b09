"""Event time: whole microseconds since 1970 UTC, intervals half-open `[start, end)`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

Instant = int
Duration = int

MICROSECOND: Duration = 1
MILLISECOND: Duration = 1_000
SECOND: Duration = 1_000_000
MINUTE: Duration = 60 * SECOND
HOUR: Duration = 60 * MINUTE
DAY: Duration = 24 * HOUR
WEEK: Duration = 7 * DAY

BEGINNING: Instant = -(2**63)  # before every instant that a row can have

UNITS: dict[str, Duration] = {
    "microsecond": MICROSECOND,
    "millisecond": MILLISECOND,
    "second": SECOND,
    "minute": MINUTE,
    "hour": HOUR,
    "day": DAY,
    "week": WEEK,
}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHORT = (
    (DAY, "d"),
    (HOUR, "h"),
    (MINUTE, "min"),
    (SECOND, "s"),
    (MILLISECOND, "ms"),
    (MICROSECOND, "us"),
)


def instant(text: str) -> Instant:
    """The instant an ISO 8601 text names; UTC unless the text says otherwise."""
    when = datetime.fromisoformat(text)
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    return (when - _EPOCH) // timedelta(microseconds=1)


def show_instant(at: Instant) -> str:
    """`2026-11-15 20:17:00`, with as many fractional digits as it takes."""
    try:
        when = _EPOCH + timedelta(microseconds=at)
    except OverflowError:
        return f"{at} us"
    text = when.strftime("%Y-%m-%d %H:%M:%S").rjust(19, "0")
    return f"{text}.{when.microsecond:06d}".rstrip("0") if when.microsecond else text


def show_duration(length: Duration) -> str:
    """`90 s`, `1 h`, `1 h 30 min`: the fewest units that say it exactly."""
    if length == 0:
        return "0 s"
    parts, rest = [], abs(length)
    for size, name in _SHORT:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {name}")
    return ("-" if length < 0 else "") + " ".join(parts)


def duration(text: str) -> Duration | None:
    """`10s`, `1 min`, `250ms`, `2 hours` as a duration, or None if it is none."""
    match = re.fullmatch(r"\s*(\d+)\s*([a-z]+)\s*", text.lower())
    if not match:
        return None
    count, unit = int(match[1]), match[2]
    short = {name: size for size, name in _SHORT} | {"m": MINUTE, "sec": SECOND, "hr": HOUR, "w": WEEK}
    size = short.get(unit) or UNITS.get(unit.removesuffix("s"))
    return None if size is None else count * size


def trigger(text: str) -> str | None:
    """`1s` as Spark's triggers want it, `1000 milliseconds`; None if these are not whole milliseconds."""
    length = duration(text)
    return None if length is None or length % MILLISECOND else f"{length // MILLISECOND} milliseconds"
