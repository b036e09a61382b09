from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.kernels.model import CASES, Case, Row, agree, evaluate, lowered
from tests.unit.kernels.relations.rows import columns_of, rows
from weft.kernels.combine import ADD, KINDS, LEAST_OF, MOMENTS, PAIR, SUM, Kind
from weft.kernels.distinct import count_distinct
from weft.kernels.relations.asof import Aggregate, Stretches, aggregate, covers
from weft.kernels.relations.covering import spread

LAST = 7
RANGES = st.tuples(st.integers(0, LAST), st.integers(0, LAST))
TIMES = st.lists(st.integers(-5, 15), max_size=8)


@given(TIMES, TIMES.map(sorted), st.integers(0, 6))
def test_a_row_covers_the_instants_of_its_life(begins: list[int], instants: list[int], length: int) -> None:
    starts = np.array(begins, np.int64)
    first, behind = covers(starts, starts + length, np.array(instants, np.int64))
    for at, begin in enumerate(begins):
        there = [place for place, instant in enumerate(instants) if begin <= instant < begin + length]
        assert list(range(first[at], behind[at])) == there


NUMBERS = {SUM: np.int64, ADD: np.float64, LEAST_OF: np.int64, MOMENTS: np.float64, PAIR: np.int64}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@given(st.lists(st.tuples(RANGES.map(sorted), st.integers(-9, 9)), max_size=12))
def test_cells_are_spread_over_all_they_cover(kind: Kind, cells: list[tuple[list[int], int]]) -> None:
    cells = [cell for cell in cells if cell[0][0] < cell[0][1]]
    lo, hi = (np.array([cell[0][at] for cell in cells], np.int64) for at in (0, 1))
    given_ = np.array([cell[1] for cell in cells], NUMBERS[kind])
    arrays = tuple(
        np.ones_like(given_) if kind is MOMENTS and not at else given_ for at in range(len(kind.dtypes))
    )
    found = spread(kind, arrays, lo, hi, LAST)
    for place in range(LAST):
        expected = kind.empty((1,))
        for at in range(len(cells)):
            if lo[at] <= place < hi[at]:
                expected = kind.combine(expected, tuple(array[at : at + 1] for array in arrays))
        for mine, theirs in zip(found, expected):
            assert mine[place] == pytest.approx(theirs[0])


def wanted(case: Case) -> Aggregate:
    where = "odd" if case.where(Row(1, ())) != case.where(Row(0, ())) else None
    return Aggregate(case.spec, case.column, case.by, where)


CELLS = st.lists(st.tuples(rows, st.integers(0, 2), RANGES), max_size=14)


@given(CELLS)
def test_aggregates_are_those_of_the_rows_there_at_each_instant(
    given_: list[tuple[Row, int, tuple[int, int]]],
) -> None:
    groups = np.array([cell[1] for cell in given_], np.int64)
    firsts, behinds = (np.array([cell[2][at] for cell in given_], np.int64) for at in (0, 1))
    columns = columns_of([cell[0] for cell in given_])
    found = aggregate(columns, groups, firsts, behinds, [wanted(case) for case in CASES])
    stretches, instants = found.expand()
    got = list(zip(found.groups[stretches].tolist(), instants.tolist()))
    expected = {
        (group, at): [row for row, mine, (lo, hi) in given_ if mine == group and lo <= at < hi]
        for group in range(3)
        for at in range(LAST)
    }
    expected = {cell: there for cell, there in expected.items() if there}
    assert got == sorted(expected)
    for case in CASES:
        values = lowered(case, found.values[case.spec])
        assert len(values) == len(found)
        for cell, stretch in zip(got, stretches.tolist()):
            assert agree(case, values[stretch], evaluate(case, expected[cell]), expected[cell])


def test_a_stretch_is_as_long_as_the_rows_stay_the_same() -> None:
    ones = np.zeros(3, np.int64)
    found = aggregate({}, ones, np.array([1, 1, 900_000]), np.array([500_000, 500_000, 900_001]), [])
    assert (found.firsts.tolist(), found.behinds.tolist()) == ([1, 900_000], [500_000, 900_001])


@given(CELLS)
def test_distinct_values_are_counted_by_stretches_of_their_own(
    given_: list[tuple[Row, int, tuple[int, int]]],
) -> None:
    groups = np.array([cell[1] for cell in given_], np.int64)
    values = np.array([cell[0].ts % 3 for cell in given_], np.int64)
    firsts, behinds = (np.array([cell[2][at] for cell in given_], np.int64) for at in (0, 1))
    own: Stretches = aggregate({}, groups, firsts, behinds, [])
    extra = aggregate({}, groups * 3 + values, firsts, behinds, [])
    _, owner = own.within(extra.groups // 3, extra.firsts, extra.behinds)
    counts = count_distinct(owner, len(own))
    for group, first, count in zip(own.groups.tolist(), own.firsts.tolist(), counts.tolist()):
        there = {row.ts % 3 for row, mine, (lo, hi) in given_ if mine == group and lo <= first < hi}
        assert count == len(there)


def test_a_sum_beyond_64_bits_does_not_spoil_its_neighbours() -> None:
    big = pa.array([2**63 - 1, 2**63 - 1, 5])
    spec = next(case.spec for case in CASES if case.spec.text == "sum(big)")
    found = aggregate(
        {"big": big}, np.zeros(3, int), np.array([0, 1, 2]), np.array([2, 3, 4]), [Aggregate(spec, "big")]
    )
    sums = lowered(next(case for case in CASES if case.spec == spec), found.values[spec])
    assert sums == [2**63 - 1, 2**64 - 2, 2**63 + 4, 5]
