"""weft programs of many queries, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmarks.data import DISORDER, SCHEMA

SLIDES = (1, 2, 5, 7, 10, 11, 13, 15, 30, 60)
OVERLAPS = range(1, 51)
AGGREGATES = ("COUNT(*)", *(f"{f}({c})" for f, c in product(("SUM", "AVG", "MIN", "MAX"), ("price", "qty"))))


@dataclass(frozen=True, slots=True)
class WindowQuery:
    """One aggregate over a sliding window, per key; range and slide in seconds."""

    name: str
    aggregate: str
    range: int
    slide: int


def draw(count: int, seed: int = 1) -> tuple[WindowQuery, ...]:
    """`count` queries, no two with the same window and aggregate, each slide equally often.

    The first hundred of a thousand are the hundred: the larger program only adds to the smaller one.
    """
    choices = random.Random(seed)
    decks = {slide: list(product(OVERLAPS, AGGREGATES)) for slide in SLIDES}
    for deck in decks.values():
        choices.shuffle(deck)
    drawn = []
    for number in range(count):
        slide = SLIDES[number % len(SLIDES)]
        overlap, aggregate = decks[slide][number // len(SLIDES)]
        drawn.append(WindowQuery(f"q{number:04d}", aggregate, overlap * slide, slide))
    return tuple(drawn)


def program(queries: Sequence[WindowQuery], files: Path, *, into: str | None = None) -> str:
    """The queries over a stream of the files, one a batch; `into` names a sink, None the result store."""
    sink = f"\n  INTO {into}" if into else ""
    statements = [
        f"CREATE STREAM events ({SCHEMA})\n"
        f"  TIMESTAMP BY ts DELAY {DISORDER} MICROSECONDS MAX AHEAD OFF\n"
        f"  FROM parquet OPTIONS ('path' = '{files}', 'maxFilesPerTrigger' = '1');"
    ]
    statements += [
        f"CREATE QUERY {query.name} AS\n"
        f"  SELECT key, {query.aggregate} AS value\n"
        f"  FROM events [RANGE {query.range} SECONDS SLIDE {query.slide} SECONDS] GROUP BY key{sink};"
        for query in queries
    ]
    return "\n".join(statements) + "\n"
