"""Random rows in random batches: ties, nulls, gaps, bursts, skew, out of order within the delay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa

from weft.kernels.arrow import arrow_type

COLUMNS = {
    "k": "string",
    "u": "string",
    "j": "int",
    "t": "tinyint",
    "h": "smallint",
    "n": "bigint",
    "b": "boolean",
    "d": "decimal(10,2)",
    "e": "double",
    "f": "float",
    "w": "double",
    "day": "date",
    "stamp": "timestamp",
    "at": "timestamp",
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ODD = (float("nan"), float("inf"), float("-inf"), -0.0)


@dataclass(frozen=True)
class Pace:
    """How event times go: in steps of `unit` microseconds from `start`, out of order by at most `delay`."""

    unit: int
    start: int
    delay: int


def pace(rng: Random) -> Pace:
    unit = rng.choice([1, 7, 1_000, 250_000, 1_000_000, 1_000_000, 7_000_000, 60_000_000])
    start = rng.choice([1_735_725_600, 1_735_725_600, 951_782_400, -1_000_003, 0]) * 1_000_000
    return Pace(unit, start + rng.randrange(unit), unit * rng.choice([0, 0, 1, 3, 10]))


def batches(rng: Random, at: Pace, count: int) -> list[pa.Table]:
    """Rows in arrival order, cut at random; no row is later than the delay."""
    times = _times(rng, at, count)
    late_by = [(time + rng.randint(0, at.delay), time) for time in times]
    arrived = [time for _, time in sorted(late_by)]
    weird = rng.random() < 0.5
    keys = rng.choice(
        [["A"] * 8 + ["B", "C", None], ["A", "B", "C", "", None, "é"], [f"k{i}" for i in range(20)]]
    )
    rows = [_row(rng, keys, weird, time) for time in arrived]
    return [_table(chunk) for chunk in cut(rng, rows)]


def _times(rng: Random, at: Pace, count: int) -> list[int]:
    times, now = [], at.start
    for _ in range(count):
        step = rng.choices([0, 0.3, 1, 5, 200], [4, 5, 6, 2, 0.2])[0]
        now += int(step * at.unit * rng.random() * 2)
        times.append(now - now % at.unit if rng.random() < 0.3 else now)
    return times


def cut(rng: Random, rows: Sequence[Any]) -> list[Sequence[Any]]:
    cuts = sorted(rng.randint(0, len(rows)) for _ in range(rng.randint(0, 4)))
    edges = [0, *cuts, len(rows)]
    return [rows[a:b] for a, b in pairwise(edges)]


def _row(rng: Random, keys: Sequence[str | None], weird: bool, time: int) -> tuple[Any, ...]:
    row = (
        rng.choice(keys),
        f"{rng.choice('abc')}{rng.randint(1, 30)}",
        rng.randint(-3, 6),
        rng.randint(-128, 127),
        rng.randint(-300, 300),
        rng.choice([2**63 - 1, -(2**63), 2**62]) if weird and rng.random() < 0.03 else rng.randint(-9, 9),
        rng.random() < 0.5,
        Decimal(rng.randint(-99_999, 99_999)).scaleb(-2),
        rng.choice(_ODD) if weird and rng.random() < 0.1 else rng.randint(-80, 80) / 8,
        rng.choice(_ODD) if weird and rng.random() < 0.1 else rng.randint(-40, 40) / 4,
        rng.randint(-100_000, 100_000) / 100,
        date(2024, 6, rng.randint(10, 20)),
        EPOCH + timedelta(seconds=rng.randint(-5, 5), microseconds=rng.randint(0, 3)),
    )
    return (*(value if rng.random() > 0.08 else None for value in row), EPOCH + timedelta(microseconds=time))


def _table(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    return pa.table(
        {
            name: pa.array([row[i] for row in rows], arrow_type(type))
            for i, (name, type) in enumerate(COLUMNS.items())
        }
    )
