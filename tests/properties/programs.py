"""Random programs with the rows they are fed, and what is to come out: only what weft should accept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.properties.conjunctions import conditions, conjunction
from tests.properties.equals import rewritten
from tests.properties.expressions import (
    KEYS,
    aggregate,
    around,
    condition,
    equality,
    exact_number,
    having,
    plain,
    ranges,
)
from tests.properties.groupings import grouped_by, told_by
from tests.properties.rows import COLUMNS, Pace, batches, pace
from tests.sql.oracles import DuckOracle
from weft.testing.compare import bounds, difference
from weft.testing.harness import Adapter, bound
from weft.testing.values import rows_of, show_row

STREAM = "s"


@dataclass(frozen=True)
class Scenario:
    """A program, one stream, its batches; `name` says how to make it again."""

    name: str
    declaration: str
    queries: tuple[tuple[str, str], ...]
    feeds: tuple[pa.Table, ...]

    @property
    def text(self) -> str:
        queries = (f"CREATE QUERY {name} AS\n{sql};" for name, sql in self.queries)
        return "\n".join([f"{self.declaration};", *queries])

    def only(self, *names: str) -> Scenario:
        return replace(self, queries=tuple(query for query in self.queries if query[0] in names))


def scenarios(most_queries: int = 30, most_rows: int = 60) -> st.SearchStrategy[Scenario]:
    """Scenarios that hypothesis can shrink."""
    return st.builds(
        scenario,
        st.randoms(use_true_random=False),
        st.integers(1, most_queries),
        st.integers(0, most_rows),
    )


def scenario(
    rng: Random,
    queries: int,
    rows: int,
    name: str = "found by hypothesis",
    picking: float = 0.0,
    sets: float = 0.0,
    equals: int = 0,
    ranging: float = 0.0,
    pool: int = 0,
) -> Scenario:
    """`picking`: such a part of the queries has a condition that groups can be picked by.

    `sets`: such a part of those that have group keys has grouping sets.
    `equals`: so many more queries ask what one of the others asks, in other words.
    `ranging`: such a part has a range of a column.
    `pool`: predicates are conjunctions of some of so many conditions.
    """
    at = pace(rng)
    drawn = conditions(rng, pool)
    columns = ", ".join(f"{column} {type.upper()}" for column, type in COLUMNS.items())
    declaration = (
        f"CREATE STREAM {STREAM} ({columns}) TIMESTAMP BY at DELAY {at.delay} MICROSECONDS MAX AHEAD OFF "
        f"FROM parquet OPTIONS ('path' = 'rows')"
    )
    made = [(f"q{number}", query(rng, at, picking, sets, ranging, drawn)) for number in range(queries)]
    made += [(f"e{number}", rewritten(rng, rng.choice(made[:queries])[1])) for number in range(equals)]
    return Scenario(name, declaration, tuple(made), tuple(batches(rng, at, rows)))


def query(
    rng: Random,
    at: Pace,
    picking: float,
    sets: float = 0.0,
    ranging: float = 0.0,
    pool: Sequence[str] = (),
) -> str:
    """A windowed aggregate, or now and then a standing filter."""
    if pool:
        where = f" WHERE {conjunction(rng, pool)}" if rng.random() < 0.9 else ""
    else:
        where = f" WHERE {condition(rng)}" if rng.random() < 0.5 else ""
    if picking and rng.random() < picking:
        where = f" WHERE {equality(rng)}" + where.replace(" WHERE ", " AND ")
    if ranging and rng.random() < ranging:
        where = f" WHERE {ranges(rng)}" + (where.replace(" WHERE ", " AND ") if rng.random() < 0.4 else "")
    if rng.random() < 0.07:
        items = ", ".join(f"{plain(rng)} AS c{i}" for i in range(rng.randint(1, 3)))
        return f"SELECT {items} FROM {STREAM}{where}"
    return _windowed(rng, at, where, sets)


def _windowed(rng: Random, at: Pace, where: str, sets: float) -> str:
    keys = rng.sample(KEYS, rng.choice([0, 1, 1, 1, 2, 3]))
    keys = list(dict.fromkeys(keys))
    shown = [key for key in keys if rng.random() < 0.9]
    items = [f"{key} AS g{i}" for i, key in enumerate(shown)]
    items += [
        f"{aggregate(rng).sql if rng.random() < 0.7 else around(rng)} AS c{i}"
        for i in range(rng.randint(1, 4))
    ]
    if rng.random() < 0.1:
        items.insert(0, "window_end")
    in_sets = bool(sets and keys and rng.random() < sets)
    items += told_by(rng, keys) if in_sets else []
    text = f"SELECT {', '.join(items)} FROM {STREAM} {window(rng, at)}{where}"
    text += f" GROUP BY {grouped_by(rng, keys) if in_sets else ', '.join(keys)}" if keys else ""
    text += f" HAVING {having(rng)}" if rng.random() < 0.25 else ""
    text += _top(rng, shown) if keys and rng.random() < 0.2 else ""
    return text + (" EMIT EMPTY" if not keys and rng.random() < 0.15 else "")


def _top(rng: Random, keys: list[str]) -> str:
    order = [exact_number(rng).sql, *(rng.choice(keys) for _ in keys[:1])]
    way = rng.choice(["", " DESC", " DESC NULLS FIRST", " ASC NULLS LAST"])
    return f" ORDER BY {', '.join(f'{one}{way}' for one in order)} LIMIT {rng.randint(1, 4)}"


def window(rng: Random, at: Pace) -> str:
    """Any whole microseconds: tumbling, overlapping, with gaps, off the grid, with an offset."""
    slide = at.unit * rng.choice([1, 1, 2, 3, 5, 7, 10])
    length = rng.choice([slide, slide * rng.randint(2, 12), at.unit * rng.randint(1, 25), max(1, slide // 3)])
    if rng.random() < 0.2:
        length += rng.randint(1, max(1, at.unit // 2))
    if rng.random() < 0.1:
        slide += rng.randint(1, max(1, at.unit // 3))
    parts = [f"RANGE {_interval(length)}"]
    parts += [f"SLIDE {_interval(slide)}"] if slide != length or rng.random() < 0.5 else []
    parts += [f"OFFSET {_interval(rng.randrange(1, 2 * slide + 1))}"] if rng.random() < 0.2 else []
    return f"[{' '.join(parts)}]"


def _interval(micros: int) -> str:
    for size, name in ((60_000_000, "MINUTES"), (1_000_000, "SECONDS"), (1_000, "MILLISECONDS")):
        if micros % size == 0:
            return f"{micros // size} {name}"
    return f"{micros} MICROSECONDS"


def run(made: Scenario, adapter: Adapter) -> dict[str, pa.Table]:
    """All answers of all queries, after every batch and a drain."""
    adapter.start(made.text)
    for feed in made.feeds:
        adapter.ingest(STREAM, feed)
    adapter.drain(None)
    return {name: adapter.results(name) for name, _ in made.queries}


def disagreements(made: Scenario, found: dict[str, pa.Table]) -> dict[str, str]:
    """The queries whose answers are not those of the reference, each with the difference."""
    plans = {query.name: query for query in bound(made.text).queries}
    expected = run(made, DuckOracle())
    differences = {
        name: difference(rows_of(expected[name]), rows_of(found[name]), bounds(plans[name]))
        for name, _ in made.queries
    }
    return {name: text for name, text in differences.items() if text}


def assert_right(made: Scenario, wrong: dict[str, str]) -> None:
    """Nothing is wrong with any query; else it is shown, as a case to be kept and as differences."""
    assert not wrong, as_case(made.only(*wrong)) + "\n".join(wrong.values())


def as_case(made: Scenario) -> str:
    """The scenario as the text of a `.test` file, with the rows that the reference expects."""
    expected: dict[str, Any] = run(made, DuckOracle())
    lines = [f"case {made.name}", f"{made.declaration};"]
    for name, sql in made.queries:
        lines += [f"query {name}", sql]
    for feed in made.feeds:
        lines += [f"feed {STREAM}", *(show_row(row) for row in rows_of(feed))]
    lines.append("drain")
    for name, _ in made.queries:
        lines += [f"rows {name}", *(show_row(row) for row in rows_of(expected[name]))]
    return "\n".join(lines) + "\n"
