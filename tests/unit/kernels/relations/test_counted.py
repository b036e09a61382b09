from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.relations import counted
from weft.kernels.relations.counted import Counting, Function, count
from weft.kernels.relations.tables import Changes

# time, side, row: a life that begins; how long it lasts
STARTS = st.tuples(st.integers(0, 9), st.integers(0, 1), st.sampled_from(["a", "b", None]), st.integers(1, 6))
SPANS = [(0, 3), (3, 4), (4, 9), (9, 20)]

MEANINGS = {
    counted.distinct: lambda a, b: int(a + b > 0),
    counted.except_all: lambda a, b: max(a - b, 0),
    counted.except_distinct: lambda a, b: int(a > 0 and b == 0),
    counted.intersect_all: min,
    counted.intersect_distinct: lambda a, b: int(a > 0 and b > 0),
    counted.semi: lambda a, b: a if b > 0 else 0,
    counted.anti: lambda a, b: a if b == 0 else 0,
}


def changes(lives: list[tuple[int, int, str | None, int]], side: int, since: int, upto: int) -> Changes:
    moved = [(row, begin, 1) for begin, mine, row, _ in lives if mine == side]
    moved += [(row, begin + length, -1) for begin, mine, row, length in lives if mine == side]
    moved = [change for change in moved if since <= change[1] < upto]
    rows, times, weights = zip(*moved) if moved else ((), (), ())
    table = pa.table({"v": pa.array(rows, pa.string())})
    return Changes(table, np.array(times, np.int64), np.array(weights, np.int64))


@pytest.mark.parametrize("function", MEANINGS, ids=lambda function: function.__name__)
@given(st.lists(STARTS, max_size=12))
def test_what_is_told_is_the_function_of_both_counts_at_every_instant(
    function: Function, lives: list[tuple[int, int, str | None, int]]
) -> None:
    state, told = Counting(function, 1), defaultdict[int, Counter[str | None]](Counter)
    for since, upto in SPANS:
        moved = state.step(changes(lives, 0, since, upto), changes(lives, 1, since, upto))
        for row, time, weight in zip(
            moved.table["v"].to_pylist(), moved.times.tolist(), moved.weights.tolist()
        ):
            assert since <= time < upto
            assert weight != 0
            assert row not in told[time]
            told[time][row] = weight
    held: Counter[str | None] = Counter()
    for at in range(20):
        for row, weight in told[at].items():
            held[row] += weight
        for row in ("a", "b", None):
            sides = [
                sum(
                    begin <= at < begin + length
                    for begin, mine, value, length in lives
                    if (mine, value) == (side, row)
                )
                for side in (0, 1)
            ]
            assert held[row] == MEANINGS[function](*sides)
    assert len(state) == 0


def test_nothing_is_told_of_what_comes_and_goes_at_one_instant() -> None:
    ids, times, weights = np.array([1, 1]), np.array([5, 5]), np.array([1, -1])
    moved, held = count(counted.distinct, ids, times, np.zeros(2, int), weights, np.zeros((2, 3), int))
    assert len(moved) == 0
    assert held.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_equal_rows_are_equal_in_all_columns_null_and_nan_to_themselves() -> None:
    table = pa.table({"n": [1, 1, None, None, 1], "f": [math.nan, math.nan, 0.0, -0.0, 2.0]})
    moved = Counting(counted.distinct, 2).step(Changes(table, np.arange(5), np.ones(5, int)))
    assert sorted(moved.times.tolist()) == [0, 2, 4]
    assert moved.weights.tolist() == [1, 1, 1]


def test_rows_that_are_gone_are_forgotten() -> None:
    state = Counting(counted.distinct, 1)
    for first in range(0, 100_000, 10_000):
        rows = pa.table({"n": np.arange(first, first + 10_000)})
        ones, times = np.ones(10_000, int), np.full(10_000, first)
        come, gone = Changes(rows, times, ones), Changes(rows, times + 5_000, -ones)
        assert len(state.step(Changes.concat([come, gone]))) == 20_000
    assert len(state) == 0
    assert state.nbytes < 2_000_000
