"""Window queries as every contestant has them, and many of them drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmarks.data import Data

SLIDES = (1, 2, 5, 7, 10, 11, 13, 15, 30, 60)
OVERLAPS = range(1, 51)
AGGREGATES = (("COUNT", "*"), *product(("SUM", "AVG", "MIN", "MAX"), ("price", "qty")))


@dataclass(frozen=True, slots=True)
class WindowQuery:
    """One aggregate over a sliding window, for each `key` unless not `keyed`; range and slide in seconds."""

    name: str
    function: str
    column: str
    range: int
    slide: int
    where: str = ""
    keyed: bool = True

    @property
    def aggregate(self) -> str:
        return f"{self.function}({self.column})"

    @property
    def overlap(self) -> int:
        return self.range // self.slide


def draw(count: int, seed: int = 1) -> tuple[WindowQuery, ...]:
    """`count` queries, each slide equally often; no two have the same window and aggregate up to 4500.

    The first hundred of a thousand are the hundred: the larger program only adds to the smaller one.
    """
    choices = random.Random(seed)
    decks = {slide: list(product(OVERLAPS, AGGREGATES)) for slide in SLIDES}
    for deck in decks.values():
        choices.shuffle(deck)
    drawn = []
    for number in range(count):
        slide = SLIDES[number % len(SLIDES)]
        deck = decks[slide]
        overlap, (function, column) = deck[number // len(SLIDES) % len(deck)]
        drawn.append(WindowQuery(f"q{number:04d}", function, column, overlap * slide, slide))
    return tuple(drawn)


def program(queries: Sequence[WindowQuery], data: Data, files: Path, out: Path | None) -> str:
    """The queries over a stream of the files, one a batch; into Parquet below `out`, or made and dropped."""
    statements = [
        f"CREATE STREAM events ({_columns(data)})\n"
        f"  TIMESTAMP BY ts DELAY {data.disorder} SECONDS MAX AHEAD OFF\n"
        f"  FROM {data.format} OPTIONS ('path' = '{files}', 'maxFilesPerTrigger' = '1');"
    ]
    statements += [_statement(query, out) for query in queries]
    return "\n".join(statements) + "\n"


def _columns(data: Data) -> str:
    columns = [f"{name} {kind}" for name, kind in data.columns.items()]
    time = ["us BIGINT", "ts AS timestamp_micros(us)"] if data.format == "csv" else ["ts TIMESTAMP"]
    return ", ".join(columns + time)


def _statement(query: WindowQuery, out: Path | None) -> str:
    key, group = ("key, ", " GROUP BY key") if query.keyed else ("", "")
    where = f" WHERE {query.where}" if query.where else ""
    sink = f"parquet OPTIONS ('path' = '{out}/query={query.name}')" if out else "noop"
    return (
        f"CREATE QUERY {query.name} AS\n"
        f"  SELECT window_end, {key}{query.aggregate} AS value\n"
        f"  FROM events [RANGE {query.range} SECONDS SLIDE {query.slide} SECONDS]{where}{group}\n"
        f"  INTO {sink};"
    )
