"""Random tables beside random streams: their versions, and from when each is in force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import pyarrow as pa

from weft.kernels.arrow import arrow_type
from weft.testing.values import micros

Feeds = Sequence[tuple[str, pa.Table]]

TABLES = ("t", "u")
TABLE = (("k", "string"), ("v", "int"))
DECLARATIONS = tuple(
    f"CREATE TABLE {table} ({', '.join(f'{name} {type.upper()}' for name, type in TABLE)}) "
    "FROM parquet OPTIONS ('path' = 'unread')"
    for table in TABLES
)


@dataclass(frozen=True)
class Version:
    """The rows of a table, in force from `begin` on, up to `end`, if there is one; both in microseconds."""

    begin: int
    end: int | None
    rows: pa.Table


def among(rng: Random, feeds: Feeds, keys: Sequence[str | None]) -> tuple[tuple[str, pa.Table], ...]:
    """The same batches, and before or between them what tables become."""
    made: list[tuple[str, pa.Table]] = [(table, _rows(rng, keys)) for table in TABLES if rng.random() < 0.8]
    for feed in feeds:
        made += [(table, _rows(rng, keys)) for table in TABLES if rng.random() < 0.15]
        made.append(feed)
    return tuple(made)


def began(feeds: Feeds) -> int:
    """An instant before all rows, which stands for the beginning of all time."""
    return min((at for name, rows in feeds if name not in TABLES for at in _times(rows)), default=0) - 1


def histories(feeds: Feeds) -> dict[str, list[Version]]:
    """Which rows each table had when: one that comes is in force after all rows that have come before it.

    Where no row of a stream ever comes there is no time, and nothing is told of tables either.
    """
    latest, found = began(feeds) - 1, {table: list[tuple[int, pa.Table]]() for table in TABLES}
    if not any(rows.num_rows for name, rows in feeds if name not in TABLES):
        return {table: [] for table in TABLES}
    for name, rows in feeds:
        if name in TABLES:
            found[name].append((latest + 1, rows))
        else:
            latest = max([latest, *_times(rows)])
    return {name: _in_turn(versions) for name, versions in found.items()}


def _in_turn(versions: Sequence[tuple[int, pa.Table]]) -> list[Version]:
    ends = [*(begin for begin, _ in versions[1:]), None]
    return [Version(begin, end, rows) for (begin, rows), end in zip(versions, ends)]


def _times(rows: pa.Table) -> list[int]:
    return [micros(at) for at in rows.column("at").to_pylist()]


def _rows(rng: Random, keys: Sequence[str | None]) -> pa.Table:
    """A few entries, some of them equal."""
    some = [(rng.choice(keys), rng.choice([0, 1, 1, 2, None])) for _ in range(rng.choice([0, 1, 2, 4]))]
    return pa.table(
        {name: pa.array([row[i] for row in some], arrow_type(type)) for i, (name, type) in enumerate(TABLE)}
    )
