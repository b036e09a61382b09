"""The engine tells the answers of the worked examples, a row at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.examples.relations import golab, joins
from tests.examples.relations.example import COLUMNS, STREAMS, Example, Row, table, when
from tests.properties.asks import Pick, text
from tests.unit.engine.relations.loom import Loom
from weft.lang.bodies import Emission
from weft.optimize.pipeline import optimize_program
from weft.plan.nodes import Related
from weft.plan.relations import Emitted
from weft.testing.compare import difference
from weft.testing.harness import bound
from weft.testing.values import rows_of

EXAMPLES = [  # tables come with their versions in tests of their own
    each for each in (*golab.EXAMPLES, *joins.EXAMPLES) if not each.versions and each.after is None
]


def declared() -> str:
    columns = ", ".join(f"{name} {type_.upper()}" for name, type_ in COLUMNS.items())
    return "".join(
        f"CREATE STREAM {stream} ({columns}) TIMESTAMP BY at DELAY 0 SECONDS MAX AHEAD OFF "
        "FROM parquet OPTIONS ('path' = 'rows');\n"
        for stream in STREAMS
    )


def told(example: Example, emission: Emission) -> list[Row]:
    """All that is told of an example, whose rows come one by one."""
    program = optimize_program(bound(f"{declared()}CREATE QUERY q AS {text(example.asked)};"))
    (query,) = program.queries
    assert isinstance(query.plan, Related)
    assert isinstance(query.plan.relation, Emitted)
    telling = Related(replace(query.plan.relation, emission=emission))
    loom = Loom(replace(program, queries=(replace(query, plan=telling),)))
    rows = [(row[0], stream, row) for stream, some in example.rows.items() for row in some]
    for _, stream, row in sorted(rows, key=lambda each: each[0]):
        loom.feed(stream, table([row]))
    loom.drain()
    return [tuple(row) for row in rows_of(loom.results()["q"])]


def bags(example: Example) -> dict[float, list[Row]]:
    """What is there as of each instant: all that has begun by then without what has ended."""
    begun, ended = told(example, Emission.ISTREAM), told(example, Emission.DSTREAM)
    return {at: list((_until(begun, at) - _until(ended, at)).elements()) for at in example.as_of}


def _until(changes: list[Row], at: float) -> Counter[Row]:
    return Counter(tuple(row) for time, *row in changes if time <= when(at))


def _is_distinct(example: Example) -> bool:
    return isinstance(example.asked.body, Pick) and example.asked.body.distinct


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_engine_tells_the_answers(example: Example) -> None:
    for at, rows in bags(example).items() if example.as_of else ():
        assert not difference(example.as_of[at], rows), at
    if example.lives is not None and not _is_distinct(example):
        lives = [(when(begin), end and when(end), *row) for begin, end, row in example.lives]
        assert not difference(lives, told(example, Emission.LIVES))
    elif example.lives is not None:  # its lives may be cut otherwise, and mean the same
        found = told(example, Emission.LIVES)
        for at, rows in example.as_of.items():
            there = [row for begin, end, *row in found if begin <= when(at) < end]
            assert not difference(rows, [tuple(row) for row in there]), at
    if example.begun is not None:
        begun = [(when(at), *row) for at, row in example.begun]
        assert not difference(begun, told(example, Emission.ISTREAM))
    if example.ended is not None:
        ended = [(when(at), *row) for at, row in example.ended]
        assert not difference(ended, told(example, Emission.DSTREAM))
    if example.windows is not None:
        ends = [(when(end), *row) for end, row in example.windows]
        found = [(end, *row) for _, end, *row in told(example, Emission.RSTREAM)]
        assert not difference(ends, found)
