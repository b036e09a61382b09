"""Every place of absence says the same: random relations, as SQL over random rows in DuckDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.lang.bodies import JoinKind
from weft.lang.parse import parse_expression
from weft.plan.nodes import Named
from weft.plan.relationplacing import places
from weft.plan.relations import Distinct, Kept, Paired, Relation, Rows, Whether
from weft.plan.relationtree import columns
from weft.times import SECOND

STREAMS = ("s0", "s1", "s2", "s3", "s4", "s5")
Data = dict[str, list[tuple[int | None, int | None]]]


def sql(relation: Relation) -> str:
    """The relation as of one instant, where every row of its streams is there."""
    match relation:
        case Rows(stream=stream, items=items):
            return f"SELECT {', '.join(f'{item.expr.sql} AS {item.name}' for item in items)} FROM {stream}"
        case Kept(source=source, predicate=predicate):
            return f"SELECT * FROM ({sql(source)}) WHERE {predicate.sql}"
        case Paired(kind=kind, left=left, right=right, on=on):
            join = f"{kind.value.upper()} JOIN"
            return f"SELECT * FROM ({sql(left)}) {join} ({sql(right)}) ON {on.sql if on else 'TRUE'}"
        case Whether(source=source, other=other, on=on, negated=negated):
            match = f"SELECT 1 FROM ({sql(other)}) WHERE {on.sql if on else 'TRUE'}"
            return f"SELECT * FROM ({sql(source)}) WHERE {'NOT ' * negated}EXISTS ({match})"
        case Distinct(source=source):
            return f"SELECT DISTINCT * FROM ({sql(source)})"
        case _:
            raise AssertionError(relation)


@st.composite
def some_relation(draw: st.DrawFn, fresh: Iterator[int], depth: int) -> Relation:
    """Joins, absence, filters and DISTINCT over streams, each read once."""
    kind = (
        draw(st.sampled_from(["rows", "kept", "paired", "outer", "whether", "distinct"])) if depth else "rows"
    )

    def below() -> Relation:
        return draw(some_relation(fresh, depth - 1))

    def column(*relations: Relation) -> str:
        return draw(st.sampled_from([each.name for one in relations for each in columns(one)]))

    match kind:
        case "kept":
            source = below()
            operator = draw(st.sampled_from(["> 1", "IS NULL", "= 2", f"<> {column(source)}"]))
            return Kept(source, parse_expression(f"{column(source)} {operator}"))
        case "paired" | "outer":
            left, right = below(), draw(some_relation(fresh, 0))
            on = parse_expression(f"{column(left)} = {column(right)}")
            outer = draw(st.sampled_from([JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL]))
            return Paired(JoinKind.INNER if kind == "paired" else outer, left, right, on)
        case "whether":
            source, other = below(), draw(some_relation(fresh, 0))
            on = parse_expression(f"{column(source)} = {column(other)}")
            return Whether(source, other, on, draw(st.booleans()))
        case "distinct":
            return Distinct(below())
        case _:
            number = next(fresh)
            named = tuple(Named(f"_s{number}_{name}", parse_expression(name), "bigint") for name in "ab")
            return Rows(f"s{number}", named, None, 10 * SECOND)


relations = st.deferred(lambda: st.builds(lambda: iter(range(6))).flatmap(lambda new: some_relation(new, 4)))
cell = st.sampled_from([None, 1, 2, 3])
some_data = st.fixed_dictionaries({stream: st.lists(st.tuples(cell, cell), max_size=5) for stream in STREAMS})


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("SET threads = 1")
        for stream in STREAMS:
            opened.execute(f"CREATE TABLE {stream} (a BIGINT, b BIGINT)")
        yield opened


def answer(database: duckdb.DuckDBPyConnection, relation: Relation) -> Counter[tuple[object, ...]]:
    names = ", ".join(column.name for column in columns(relation))
    return Counter(database.execute(f"SELECT {names} FROM ({sql(relation)})").fetchall())


@settings(deadline=None, max_examples=80)
@given(relations, some_data)
def test_all_places_say_the_same(database: duckdb.DuckDBPyConnection, relation: Relation, data: Data) -> None:
    for stream, rows in data.items():
        database.execute(f"DELETE FROM {stream}")
        if rows:
            database.executemany(f"INSERT INTO {stream} VALUES (?, ?)", rows)
    expected = answer(database, relation)
    for way in places(relation):
        assert [each.name for each in columns(way)] == [each.name for each in columns(relation)]
        assert answer(database, way) == expected, sql(way)
