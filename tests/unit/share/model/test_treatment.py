"""Which treatment of conditions costs least, as rows, groups and values change."""

from __future__ import annotations

from itertools import combinations

import pytest

from weft.lang.parse import parse_expression
from weft.lang.statements import WindowSpec
from weft.share.model.constants import SHIPPED
from weft.share.model.load import Load
from weft.share.model.treatment import (
    Facts,
    Rest,
    Treatment,
    asking,
    by_intervals,
    by_key,
    by_signature,
    cheapest,
    signed,
)
from weft.share.nodes import Op, Partial
from weft.times import SECOND

ASK, KEY, INTERVALS, SIGNATURE = Treatment
PARTIALS = (Partial(Op.COUNT), Partial(Op.SUM_FLOAT, parse_expression("x"), type="double"))
WINDOW = WindowSpec(60 * SECOND, 10 * SECOND, 0)


def facts(rows: float, groups: float, batch: float = 10.0, measured: bool = True, **more: object) -> Facts:
    known = {"rows_by": "measured"} if measured else {}
    load = Load(rows=rows, groups=groups, batch=batch, **known, **more)  # type: ignore[arg-type]
    return Facts(load, SHIPPED, 0.1)


def rules(count: int, by: tuple[str, ...] = ("k",), windows: int = 1) -> list[Rest]:
    """Queries that differ in one condition, on as many windows."""
    spans = [WindowSpec((60 + 10 * at) * SECOND, 10 * SECOND, 0) for at in range(windows)]
    return [Rest(at, (), by, PARTIALS, spans[at % windows]) for at in range(count)]


def conjunctions(conditions: int, sizes: tuple[int, ...], most: int = 50) -> dict[str, Rest]:
    """Queries, each with some of so many conditions."""
    given = [parse_expression(f"c{at:02}") for at in range(conditions)]
    taken = [each for size in sizes for each in combinations(given, size)][:most]
    return {
        f"q{at}": Rest(frozenset(one.sql for one in each), each, ("k",), PARTIALS, WINDOW)
        for at, each in enumerate(taken)
    }


@pytest.mark.parametrize(
    ("rows", "groups", "count", "values", "found"),
    [
        (100_000, 1, 1000, 1000, KEY),
        (100_000, 1, 8, 10, KEY),
        (100_000, 1, 1, 2, ASK),
        (100_000, 1, 20, 900_000, ASK),  # nearly a cell for each row
        (100_000, 100, 20, 100_000, ASK),  # more groups than rows
        (10, 1, 1000, 50, KEY),
        (10, 1, 1000, 101, ASK),
    ],
)
def test_a_column_with_so_many_values(
    rows: float, groups: float, count: int, values: float, found: Treatment
) -> None:
    known, asked = facts(rows, groups), rules(count)
    assert cheapest([asking(asked, known), by_key(asked, values, known)], known).treatment is found


@pytest.mark.parametrize(
    ("rows", "groups", "count", "windows", "found"),
    [
        (100_000, 10, 200, 4, INTERVALS),
        (100_000, 10, 2, 1, ASK),
        (300, 10, 200, 200, ASK),  # each would read all intervals for itself
        (100, 100, 200, 1, ASK),  # more groups than rows
    ],
)
def test_a_column_with_so_many_ranges(
    rows: float, groups: float, count: int, windows: int, found: Treatment
) -> None:
    known, asked = facts(rows, groups), rules(count, windows=windows)
    ways = [asking(asked, known), by_intervals(asked, count + 1, known)]
    assert cheapest(ways, known).treatment is found


@pytest.mark.parametrize(
    ("rows", "groups", "conditions", "found"),
    [
        (100_000, 1, 6, SIGNATURE),
        (100_000, 100, 6, SIGNATURE),
        (100_000, 20_000, 6, ASK),  # more groups than rows
        (100_000, 1, 40, ASK),  # as many signatures as rows
        (10, 1, 6, SIGNATURE),
        (10, 2, 6, ASK),
    ],
)
def test_conditions_combined_in_many_ways(
    rows: float, groups: float, conditions: int, found: Treatment
) -> None:
    known, asked = facts(rows, groups), list(conjunctions(conditions, (2, 3, 4)).values())
    assert cheapest([asking(asked, known), by_signature(asked, known)], known).treatment is found


def test_conditions_that_hardly_a_row_passes_make_few_signatures() -> None:
    asked = conjunctions(30, (2,))
    passing = {f"c{at:02}": 0.001 for at in range(30)}
    assert len(signed(asked, facts(100_000, 1), 62)) < 30
    assert len(signed(asked, facts(100_000, 1, passing=passing), 62)) == 50


def test_where_nothing_was_counted_it_must_pay_plainly() -> None:
    asked = conjunctions(3, (1, 2))
    assert signed(asked, facts(10_000, 10), 62)
    assert not signed(asked, facts(10_000, 10, measured=False), 62)


def test_a_condition_that_one_query_has_is_left_to_it() -> None:
    odd = tuple(parse_expression(f"odd{at}") for at in range(8))
    asked = conjunctions(5, (2, 3)) | {"odd": Rest("odd", odd, ("k",), PARTIALS, WINDOW)}
    assert set(signed(asked, facts(100_000, 100), 62)) == asked.keys() - {"odd"}


def test_no_more_bits_than_there_may_be() -> None:
    asked = conjunctions(6, (1,)) | conjunctions(4, (2, 3))
    found = signed(asked, facts(1_000_000, 1), 3)
    assert found
    assert all(asked[name].predicate <= {"c00", "c01", "c02"} for name in found)  # type: ignore[operator]
