"""The comparison sees what must not be: a row lost, doubled or changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.compare import Row, compare
from tests.chaos.program import QUERIES, program, write_files
from weft.lang.parse import parse_program
from weft.lang.statements import CreateQuery

ROWS: list[Row] = [
    {"window_end": 10, "sym": "A", "n": 3, "p": 0.1, "v_pop": 2.0},
    {"window_end": 10, "sym": "B", "n": 4, "p": float("nan"), "v_pop": None},
    {"window_end": 20, "sym": "A", "n": 3, "p": 0.3, "v_pop": 2.0},
]


def changed(at: int, **values: object) -> list[Row]:
    return [row | values if number == at else row for number, row in enumerate(ROWS)]


def test_the_order_of_rows_does_not_matter() -> None:
    assert list(compare(ROWS, ROWS[::-1])) == []


@pytest.mark.parametrize(
    "found",
    [
        ROWS[1:],
        [*ROWS, ROWS[0]],
        changed(0, n=4),
        changed(0, p=0.1 + 1e-11),
        changed(0, v_pop=2.0 + 1e-8),
        changed(0, p=None),
        changed(1, p=0.0),
        changed(2, sym=""),
    ],
)
def test_a_row_lost_doubled_or_changed_is_told(found: list[Row]) -> None:
    assert list(compare(ROWS, found))


def test_floating_sums_and_variances_have_their_bounds() -> None:
    assert list(compare(ROWS, changed(0, p=0.1 + 1e-14, v_pop=2.0 + 1e-10))) == []


def test_there_are_fifty_queries_and_files_that_are_the_same_every_time(tmp_path: Path) -> None:
    statements = parse_program(program())
    assert sum(isinstance(statement, CreateQuery) for statement in statements) == QUERIES == 50
    one, other = (write_files(tmp_path / name, 3, 50, seed=1) for name in ("one", "other"))
    assert [path.read_text() for path in one] == [path.read_text() for path in other]
