"""The reference gives the answers of the worked examples."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.examples.relations import golab, joins
from tests.examples.relations.example import Example, Row, declared, instant, table, when
from tests.properties.meant import related
from tests.properties.relationtruth import DuckTruth
from weft.lang.bodies import Emission
from weft.lang.statements import CreateTable
from weft.plan.nodes import Column, Program, Table
from weft.plan.relationpatterns import relation_pattern
from weft.plan.relations import Emitted
from weft.testing.compare import difference

EXAMPLES = [*golab.EXAMPLES, *joins.EXAMPLES]
T = Table("t", (Column("v", "string"),), CreateTable("t", (), "parquet"))


def program() -> Program:
    return replace(declared(), tables=(T,))


def truth(example: Example) -> DuckTruth:
    known = DuckTruth(program().streams, (T,))
    for stream, rows in example.rows.items():
        known.feed(stream, table(rows))
    versions = [(v, instant(first), last and instant(last)) for v, first, last in example.versions]
    known.versions("t", versions)
    return known


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_reference_gives_the_answers(example: Example) -> None:
    relation, known = related(example.asked, program()), truth(example)
    if example.pattern is not None:
        assert relation_pattern(relation) is example.pattern
    for at, bag in known.bags(relation, [instant(at) for at in example.as_of]).items():
        expected = next(rows for second, rows in example.as_of.items() if instant(second) == at)
        assert not difference(expected, bag), at
    check_told(example, relation, known)


def check_told(example: Example, relation: Emitted, known: DuckTruth) -> None:
    bounds = {} if example.after is None else {"after": dict.fromkeys(example.rows, instant(example.after))}

    def told(emission: Emission) -> list[Row]:
        return known.told(replace(relation, emission=emission), **bounds)

    if example.lives is not None:
        lives = [(when(begin), end and when(end), *row) for begin, end, row in example.lives]
        assert not difference(lives, told(Emission.LIVES))
    if example.begun is not None:
        assert not difference([(when(at), *row) for at, row in example.begun], told(Emission.ISTREAM))
    if example.ended is not None:
        assert not difference([(when(at), *row) for at, row in example.ended], told(Emission.DSTREAM))
    if example.windows is not None:
        windows = [(when(end), *row) for end, row in example.windows]
        assert not difference(windows, [row[1:] for row in told(Emission.RSTREAM)])


def test_every_example_says_something() -> None:
    assert len({example.name for example in EXAMPLES}) == len(EXAMPLES)
    for example in EXAMPLES:
        told = (example.lives, example.begun, example.ended, example.windows)
        assert example.as_of or any(part is not None for part in told), example.name
