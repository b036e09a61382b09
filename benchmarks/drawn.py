"""Random programs for the contest of ways: what windows, aggregates, groups and rows they have is drawn."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.model import KEYS, WHERES, Data, program

INVERTIBLE = ("COUNT(*)", "SUM(qty)", "AVG(qty)", "COUNT(name)")
OTHERS = ("MIN(price)", "MAX(qty)", "SUM(price)", "AVG(price)", "STDDEV(price)", "LAST(price)")
AGGREGATES = {"with an inverse": INVERTIBLE, "without": OTHERS, "of both kinds": INVERTIBLE + OTHERS}
CLOCK = (5, 10, 15, 20, 30, 60)  # slides, in seconds
MOST_ANSWERS = 600_000
EVERY_SPARK = 6  # each so manieth program is read by Spark, and run natively


@dataclass(frozen=True, slots=True)
class Input:
    """Rows in files, each a batch."""

    data: Data
    place: Path

    @property
    def files(self) -> list[Path]:
        return sorted(self.place.glob("*.parquet"))

    @property
    def rows(self) -> int:
        return self.data.rows

    @property
    def seconds(self) -> int:
        return self.data.seconds


@dataclass(frozen=True, slots=True)
class Query:
    """One query in parts, for those who have other words for a window. Times in milliseconds."""

    name: str
    range: int
    slide: int
    items: tuple[str, ...]
    key: str | None
    where: str

    @property
    def shown(self) -> str:
        """The aggregates, named."""
        return ", ".join(f"{item} AS a{at}" for at, item in enumerate(self.items))

    def __str__(self) -> str:
        key, where = self.key, f" WHERE {self.where}" if self.where else ""
        return (
            f"CREATE QUERY {self.name} AS SELECT window_end, {f'{key}, ' if key else ''}{self.shown} "
            f"FROM rows [RANGE {self.range} MILLISECONDS SLIDE {self.slide} MILLISECONDS]{where}"
            f"{f' GROUP BY {key}' if key else ''};"
        )


@dataclass(frozen=True, slots=True)
class Drawn:
    """A program, and the rows it is run over."""

    title: str
    queries: tuple[Query, ...]
    input: Input
    by_spark: bool  # and natively as well

    @property
    def names(self) -> list[str]:
        return [query.name for query in self.queries]

    def text(self, names: Sequence[str]) -> str:
        """The program of some of the queries; where Spark reads the rows it is declared so."""
        mine = [str(query) for query in self.queries if query.name in set(names)]
        text = program(mine, self.input.place)
        return re.sub("FROM parquet OPTIONS.*;", "FROM rate;", text, count=1) if self.by_spark else text


def inputs(scale: float, place: Path) -> list[Input]:
    """Different rates: from a few rows a second to thousands."""
    sizes = ((60_000, 3000, 6), (200_000, 2000, 6), (400_000, 300, 6))
    made = [Data(round(rows * scale), seconds, files) for rows, seconds, files in sizes]
    return [Input(data, data.write(place / str(at))) for at, data in enumerate(made)]


def draw(choose: random.Random, number: int, all_inputs: Sequence[Input]) -> Drawn:
    """The program of a number: drawn again until it has no more than so many answers."""
    by_spark = number % EVERY_SPARK == EVERY_SPARK - 1
    while True:
        taken = choose.choice(all_inputs)
        count = choose.choice([2, 4, 8] if by_spark else [2, 4, 8, 16, 30, 60])
        keys, kind = _keys(choose), choose.choice(list(AGGREGATES))
        is_odd = choose.random() < 0.5
        queries = [_query(choose, at, keys, AGGREGATES[kind], is_odd, taken) for at in range(count)]
        if sum(_answers(query, taken) for query in queries) <= MOST_ANSWERS:
            groups = max(KEYS[key] if key else 1 for key in keys)
            windows = "odd" if is_odd else "clock-like"
            title = f"{count} {windows} queries, aggregates {kind}, {groups:,} groups"
            title += (
                f", {taken.rows / taken.seconds:,.0f} rows/s, read {'by Spark' if by_spark else 'by columns'}"
            )
            return Drawn(title, tuple(queries), taken, by_spark)


def _keys(choose: random.Random) -> list[str | None]:
    return choose.choice([[None], ["few"], ["some"], ["many"], ["most"], [None, "few"], ["few", "some"]])


def _query(
    choose: random.Random,
    number: int,
    keys: Sequence[str | None],
    items: Sequence[str],
    is_odd: bool,
    taken: Input,
) -> Query:
    longest = taken.seconds * 1000 // 3
    slide = choose.randint(7_000, 60_000) if is_odd else choose.choice(CLOCK) * 1000
    most = max(1, min(30, longest // slide))
    range_ = choose.randint(slide, most * slide) if is_odd else choose.randint(1, most) * slide
    chosen = tuple(choose.sample(items, choose.randint(1, 2)))
    return Query(f"q{number}", range_, slide, chosen, choose.choice(keys), choose.choice(WHERES))


def _answers(query: Query, taken: Input) -> float:
    groups = KEYS[query.key] if query.key else 1
    within = taken.rows / taken.seconds * query.range / 1000
    return min(groups, within) * taken.seconds * 1000 / query.slide
