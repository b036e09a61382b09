"""Queries that differ in their constants are read, bound and optimized as each would be by itself."""

from __future__ import annotations

import pickle

import pytest

from tests.unit.plan.programs import STREAM, WINDOW
from weft.errors import Errors, WeftError
from weft.lang.parse import parse_program
from weft.lang.patterns import Filled
from weft.lang.printer import print_statement
from weft.lang.statements import CreateQuery, Statement
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.plan.check import check
from weft.plan.nodes import Program

WHERES = {
    "equal": ["symbol = 'A'", "symbol = 'B'", "symbol = 'it''s'", "symbol = 'a\\\\b'", "symbol = ''",
              "symbol = 'A'"],
    "number": ["qty = 5", "qty = 7", "qty = 3000000000", "qty = 007", "5 = qty", "qty = -5", "qty = 5.5",
               "qty = 6.5"],
    "several": ["live AND qty > 5 AND symbol = 'A'", "live AND qty > 15 AND symbol = 'Z'"],
    "one column": ["qty > 5 AND qty > 10", "qty > 10 AND qty > 5", "qty > 5 AND qty > 5",
                   "qty > 100 AND qty > 20"],
    "fractions": ["price > 1.50", "price > 2.25", "price > 0.25", "price > 12.5", "fee < 1.50", "fee < 9.75"],
    "not": ["NOT qty > 5 AND live", "NOT qty > 6 AND live"],
    "other words": ["qty BETWEEN 1 AND 5", "qty BETWEEN 1 AND 6", "qty > 1 OR qty = 5", "qty > 1 OR qty = 6",
                    "qty IN (1, 2)", "qty IN (2, 1)", "(qty = 5)", "(qty = 6)", "qty + 1 = 5", "qty + 1 = 6"],
    "converted": ["ts > '2026-01-01'", "ts > '2026-02-01'"],
    "marks": ["qty = 2000000000 AND price > 5", "qty = 2000000001 AND price > 6",
              "qty = 1 AND price > 2000000000"],
    "failing": ["100 / qty > 1 AND qty <> 0", "100 / qty > 1 AND qty <> 7", "qty <> 0 AND 100 / qty > 2"],
}  # fmt: skip
HAVING = " GROUP BY symbol HAVING symbol = 'A' AND COUNT(*) > 1"


def read(wheres: list[str], above: str) -> tuple[Statement, ...]:
    queries = (
        f"CREATE QUERY q{at} AS SELECT COUNT(*) AS n FROM trades {WINDOW} WHERE {where}{above};\n"
        for at, where in enumerate(wheres)
    )
    return parse_program(STREAM + "".join(queries))


def planned(statements: tuple[Statement, ...]) -> Program:
    return optimize_program(bind_program(statements))


@pytest.mark.parametrize("above", ["", HAVING], ids=["plain", "having"])
@pytest.mark.parametrize("name", WHERES)
def test_each_is_planned_as_it_would_be_by_itself(name: str, above: str) -> None:
    together = read(WHERES[name], above)
    plans = planned(together).queries
    for at, where in enumerate(WHERES[name]):
        (_, alone) = read([where], above)
        (expected,) = planned((together[0], alone)).queries
        assert plans[at].plan == expected.plan
        check(plans[at].plan)
        mine = together[at + 1]
        assert isinstance(mine, CreateQuery)
        assert isinstance(alone, CreateQuery)
        assert mine.select == alone.select
        assert mine.select.where is not None
        assert alone.select.where is not None
        assert mine.select.where.tree == alone.select.where.tree


def test_what_a_pattern_fills_is_printed_placed_and_pickled() -> None:
    _, first, second = read(["symbol = 'A'", "symbol = 'it''s'"], "")
    assert isinstance(first, CreateQuery)
    assert isinstance(second, CreateQuery)
    where = second.select.where
    assert isinstance(where, Filled)
    assert not isinstance(first.select.where, Filled)
    assert where.place is not None
    assert "it''s" in where.place.source
    assert pickle.loads(pickle.dumps(where)) == where
    assert parse_program(print_statement(second)) == (second,)


def test_what_is_wrong_with_one_is_told_where_it_stands() -> None:
    with pytest.raises(Errors) as raised:
        planned(read(["symbl = 'A'", "symbl = 'B'", "symbol = 'C'"], ""))
    lines = [error.at.line for error in raised.value.errors if isinstance(error, WeftError) and error.at]
    assert len(lines) == len(set(lines)) == 2
