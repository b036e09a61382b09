"""Worked examples as data: rows, a query, and what is true of it; times are seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from tests.properties.asks import SECOND, Asked, Beside, Over, Pick
from weft.kernels.arrow import arrow_type
from weft.plan.nodes import Program
from weft.plan.relationpatterns import Pattern
from weft.testing.harness import bound
from weft.testing.values import DAY, micros

Row = tuple[Any, ...]
Life = tuple[float, float | None, Row]

STREAMS = ("s1", "s2", "s3")
COLUMNS = {"v": "string", "n": "int", "at": "timestamp"}
START = datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC)


@dataclass(frozen=True)
class Example:
    """What is None is not told. Rows are (second, v) or (second, v, n); without n it is the second."""

    name: str
    asked: Asked
    rows: Mapping[str, Sequence[Row]]
    versions: Sequence[Row] = ()  # of table t: v, from when, up to when
    pattern: Pattern | None = None
    as_of: Mapping[float, Sequence[Row]] = field(default_factory=dict)
    lives: Sequence[Life] | None = None
    begun: Sequence[tuple[float, Row]] | None = None
    ended: Sequence[tuple[float, Row]] | None = None
    windows: Sequence[tuple[float, Row]] | None = None  # with their ends
    after: float | None = None


def over(stream: str, seconds: float | None, internal: bool = False) -> Over:
    return Over(stream, None if seconds is None else int(seconds * SECOND), internal)


def join(one: Over, other: Over, on: str | None = "x0.v = x1.v", *items: str, **more: Any) -> Pick:
    """Pairs told by the numbers of their rows, unless `items` say otherwise."""
    return Pick(one, (Beside(other, on),), items=items or ("x0.n", "x1.n"), **more)


def declared() -> Program:
    """The streams of all examples."""
    return bound(
        "".join(
            f"CREATE STREAM {stream} (v STRING, n INT, at TIMESTAMP) TIMESTAMP BY at DELAY 0 SECONDS "
            "MAX AHEAD OFF FROM parquet OPTIONS ('path' = 'rows');\n"
            for stream in STREAMS
        )
    )


def table(rows: Sequence[Row]) -> pa.Table:
    """The rows of a stream as they are fed."""
    full = [(row[1], row[2] if len(row) > 2 else row[0], when(row[0])) for row in rows]
    return pa.table(
        {
            name: pa.array([row[i] for row in full], arrow_type(type))
            for i, (name, type) in enumerate(COLUMNS.items())
        }
    )


def when(second: float) -> datetime:
    return START + timedelta(microseconds=round(second * SECOND))


def instant(second: float) -> int:
    return micros(when(second))


def spread(*answers: tuple[int, int, Sequence[Row]]) -> dict[float, Sequence[Row]]:
    """`(first, last, rows)`: the same rows as of every second from the first up to the last."""
    return {at: rows for first, last, rows in answers for at in range(first, last + 1)}
