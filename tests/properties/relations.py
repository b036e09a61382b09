"""Random programs over two or three streams, with their rows: joins, absence, DISTINCT, set operations.

Where they read tables, what these become stands among the batches.

Event times lie on a grid that windows are multiples of, so that rows come and go at the same instants; keys
are few, skewed and now and then null; rows come out of order within the delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.properties import relationtables
from tests.properties.asks import Asked, Body, body_text, text, views
from tests.properties.meant import related
from tests.properties.relationqueries import query
from tests.properties.relationqueries import views as random_views
from tests.properties.relationsizes import Sizes
from tests.properties.relationtables import TABLES, began, histories
from tests.properties.relationtruth import DuckTruth
from tests.properties.rows import EPOCH, Pace, cut
from weft.kernels.arrow import arrow_type
from weft.lang.bodies import Emission
from weft.plan.nodes import Program
from weft.plan.relations import Emitted
from weft.plan.relationtree import streams
from weft.testing.compare import Row
from weft.testing.harness import Adapter, bound
from weft.testing.lives import relation_difference
from weft.testing.values import rows_of, show_row

COLUMNS = {"k": "string", "v": "int", "w": "bigint", "at": "timestamp"}
STREAMS = ("a", "b", "c")
_KEYS = (("A",) * 6 + ("B", None), ("A", "B", "C", None), tuple(f"k{number}" for number in range(12)))


@dataclass(frozen=True)
class Scenario:
    """Streams and tables, queries, and batches in the order they come; `name` says how to make it again.

    `feeds` has rows of streams, and all rows that a table has from then on.
    """

    name: str
    declarations: tuple[str, ...]
    queries: tuple[tuple[str, Asked], ...]
    feeds: tuple[tuple[str, pa.Table], ...]

    @cached_property
    def streams(self) -> Program:
        return bound("".join(f"{one};\n" for one in self.declarations))

    @cached_property
    def relations(self) -> dict[str, Emitted]:
        program = self.streams
        return {name: related(asked, program) for name, asked in self.queries}

    @property
    def views(self) -> dict[str, Body]:
        return {name: body for _, asked in self.queries for name, body in views(asked.body).items()}

    @property
    def declared(self) -> list[str]:
        """All that queries read from."""
        named = (f"CREATE VIEW {name} AS {body_text(body)}" for name, body in self.views.items())
        return [f"{one};" for one in (*self.declarations, *named)]

    @property
    def text(self) -> str:
        queries = (f"CREATE QUERY {name} AS\n{text(asked)};" for name, asked in self.queries)
        return "\n".join([*self.declared, *queries])

    @cached_property
    def read(self) -> tuple[tuple[str, pa.Table], ...]:
        """The batches of streams that some query reads, and what becomes of tables."""
        known = {stream for relation in self.relations.values() for stream in streams(relation)}
        return tuple(feed for feed in self.feeds if feed[0] in known or feed[0] in TABLES)

    @cached_property
    def truth(self) -> DuckTruth:
        return truth(self)

    def only(self, *names: str) -> Scenario:
        return replace(self, queries=tuple(query for query in self.queries if query[0] in names))


def scenarios(
    most_queries: int = 4, most_rows: int = 24, sizes: Sizes | None = None
) -> st.SearchStrategy[Scenario]:
    """Scenarios that hypothesis can draw."""
    return st.builds(
        scenario,
        st.randoms(use_true_random=False),
        st.integers(1, most_queries),
        st.integers(0, most_rows),
        sizes=st.just(sizes),
    )


def scenario(
    rng: Random, queries: int, rows: int, name: str = "found by hypothesis", sizes: Sizes | None = None
) -> Scenario:
    """So many queries over `rows` rows; `sizes`: what they are made of, and how often."""
    at = _pace(rng)
    streams = STREAMS[: rng.choice([2, 2, 3])]
    columns = ", ".join(f"{column} {type.upper()}" for column, type in COLUMNS.items())
    delays = {stream: at.delay * rng.choice([0, 1, 1]) for stream in streams}
    declarations = tuple(
        f"CREATE STREAM {stream} ({columns}) TIMESTAMP BY at DELAY {delay} MICROSECONDS MAX AHEAD OFF "
        "FROM parquet OPTIONS ('path' = 'rows')"
        for stream, delay in delays.items()
    )
    sizes = sizes or Sizes()
    known = random_views(rng, at, streams, sizes)
    asked = [(f"q{number}", query(rng, at, streams, sizes, known)) for number in range(queries)]
    keys = rng.choice(_KEYS)
    feeds = _feeds(rng, at, delays, rows, keys)
    if sizes.table:
        feeds, declarations = (
            relationtables.among(rng, feeds, keys),
            declarations + relationtables.DECLARATIONS,
        )
    return Scenario(name, declarations, tuple(asked), feeds)


def truth(made: Scenario) -> DuckTruth:
    """The whole history, to be asked."""
    program = made.streams
    known = DuckTruth(program.streams, program.tables, began(made.read))
    for stream in program.streams:
        if batches := [rows for name, rows in made.feeds if name == stream.name]:
            known.feed(stream.name, pa.concat_tables(batches))
    for table, versions in histories(made.read).items() if program.tables else ():
        entries = [(*row, each.begin, each.end) for each in versions for row in rows_of(each.rows)]
        known.versions(table, entries)
    return known


def run(made: Scenario, adapter: Adapter) -> dict[str, pa.Table]:
    """All that is told of all queries, after every batch of a stream that one of them reads, and a drain."""
    adapter.start(made.text)
    for name, rows in made.read:
        if name in TABLES:
            adapter.revise(name, rows)
        else:
            adapter.ingest(name, rows)
    adapter.drain(None)
    return {name: adapter.results(name) for name, _ in made.queries}


def disagreements(made: Scenario, found: dict[str, pa.Table], lives: bool = True) -> dict[str, str]:
    """The queries of which something else is told than the reference tells, each with the difference.

    Without `lives` it need not be told how long rows live: then it counts when they begin.
    """
    known = made.truth
    compared = _difference if lives else _begun_difference
    differences = {
        name: compared(known, relation, rows_of(found[name])) for name, relation in made.relations.items()
    }
    return {name: text for name, text in differences.items() if text}


def _difference(known: DuckTruth, relation: Emitted, told: Sequence[Row]) -> str:
    return relation_difference(relation, known.told(relation), told)


def _begun_difference(known: DuckTruth, relation: Emitted, told: Sequence[Row]) -> str:
    if relation.emission is not Emission.LIVES or any(row[1] is not None for row in told):
        return _difference(known, relation, told)
    begins = replace(relation, emission=Emission.ISTREAM)
    return relation_difference(begins, known.told(begins), [(row[0], *row[2:]) for row in told])


def assert_right(made: Scenario, wrong: dict[str, str]) -> None:
    """Nothing is wrong with any query; else it is shown, as a case to be kept and as differences."""
    assert not wrong, as_case(made.only(*wrong)) + "\n".join(wrong.values())


def as_case(made: Scenario) -> str:
    """The scenario as the text of a `.test` file, with what the reference tells."""
    known = truth(made)
    lines = [f"case {made.name}", *made.declared]
    for name, asked in made.queries:
        lines += [f"query {name}", text(asked)]
    for name, rows in made.feeds:
        lines += [
            f"{'table' if name in TABLES else 'feed'} {name}",
            *(show_row(row) for row in rows_of(rows)),
        ]
    lines.append("drain")
    for name, relation in made.relations.items():
        lines += [f"rows {name}", *(show_row(row) for row in known.told(relation))]
    return "\n".join(lines) + "\n"


def _pace(rng: Random) -> Pace:
    unit = rng.choice([1, 7, 1_000, 1_000_000, 1_000_000, 60_000_000])
    start = rng.choice([1_735_725_600, 1_735_725_600, -1_000_003, 0]) * 1_000_000
    return Pace(unit, start, unit * rng.choice([0, 1, 3]))


def _feeds(
    rng: Random, at: Pace, delays: dict[str, int], rows: int, keys: tuple[str | None, ...]
) -> tuple[tuple[str, pa.Table], ...]:
    """Rows in the order they arrive, cut at random; no row is later than the delay of its stream."""
    now, arriving = at.start, []
    busy = rng.choices(list(delays), [rng.choice([1, 1, 6]) for _ in delays], k=rows)
    for stream in busy:
        now += at.unit * rng.choices([0, 1, 2, 9], [5, 6, 3, 0.4])[0]
        time = now + (rng.randrange(at.unit) if rng.random() < 0.1 else 0)
        arriving.append((time + rng.randint(0, delays[stream]), stream, _row(rng, keys, time)))
    feeds = []
    for chunk in cut(rng, sorted(arriving, key=lambda one: one[0])):
        for stream in delays:
            mine = [row for _, of, row in chunk if of == stream]
            feeds += [(stream, _table(mine))] if mine or rng.random() < 0.2 else []
    return tuple(feeds)


def _row(rng: Random, keys: tuple[str | None, ...], time: int) -> tuple[Any, ...]:
    number = rng.choice([0, 0, 1, 1, 2, -1, None])
    large = rng.choice([0, 1, 2, 2, None, 10**12])
    return rng.choice(keys), number, large, EPOCH + timedelta(microseconds=time)


def _table(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.table(
        {
            name: pa.array([row[i] for row in rows], arrow_type(type))
            for i, (name, type) in enumerate(COLUMNS.items())
        }
    )
