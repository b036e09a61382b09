"""Which columns a program reads, told without its plan, are those that its plan reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import read_cases
from tests.plans.test_plans import FILES, OTHERS, STREAM
from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.plan.nodes import Program
from weft.share.build import build
from weft.share.reading import columns_read

CHANGES = """
CREATE STREAM changes (sym STRING, price INT, op STRING, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND
  FROM parquet OPTIONS ('path' = 'in');
CREATE TABLE prices KEY (sym) DELETE WHERE upper(op) = 'D' FROM STREAM changes;
"""


def program(text: str) -> Program:
    return optimize_program(bind_program(parse_program(STREAM + text)))


def read_by_plan(program: Program) -> dict[str, tuple[str, ...]]:
    return {plan.stream.name: plan.columns for plan in build(program).streams}


def read(program: Program) -> dict[str, tuple[str, ...]]:
    return {stream.name: columns for stream, columns in columns_read(program)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_columns_that_are_read_are_those_of_the_plan(path: Path) -> None:
    for case in read_cases(path):
        made = program(f"{OTHERS}CREATE QUERY q AS {case.given}")
        assert read(made) == read_by_plan(made), case.title


def test_what_several_queries_read_is_read_together() -> None:
    made = program(
        f"""{CHANGES}
        CREATE QUERY one AS SELECT symbol, SUM(qty) FILTER (WHERE live) AS n
          FROM trades [RANGE 1 MINUTE] GROUP BY symbol;
        CREATE QUERY two AS SELECT note FROM trades WHERE price > 1;
        """
    )
    assert read(made) == read_by_plan(made)
    assert read(made) == {
        "trades": ("symbol", "price", "qty", "live", "note", "ts"),
        "changes": ("sym", "price", "op", "ts"),
    }
