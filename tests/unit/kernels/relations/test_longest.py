from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import Bug
from weft.kernels.relations.longest import Longest
from weft.kernels.relations.tables import NEVER, Lives
from weft.times import BEGINNING

Life = tuple[Any, Any, int, int]
LIVES = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.sampled_from([1, None]),
    st.integers(0, 19),
    st.integers(0, 7) | st.just(NEVER),
).map(lambda row: (*row[:3], NEVER if row[3] == NEVER else row[2] + row[3]))
SPANS = [(BEGINNING, 3), (3, 4), (4, 11), (11, 20)]


def tabled(rows: list[Life]) -> Lives:
    table = pa.table(
        {
            "s": pa.array([row[0] for row in rows], pa.string()),
            "n": pa.array([row[1] for row in rows], pa.int32()),
        }
    )
    begins, ends = (np.array([row[at] for row in rows], np.int64) for at in (2, 3))
    return Lives(table, begins, ends)


def plain(lives: Lives) -> list[Life]:
    columns = (
        *(column.to_pylist() for column in lives.table.columns),
        lives.begins.tolist(),
        lives.ends.tolist(),
    )
    return list(zip(*columns, strict=True))


def told_one_by_one(rows: list[Life]) -> list[Life]:
    """The obvious loop: instant by instant, the longest of what is there when nothing is told."""
    told: list[Life] = []
    for value in {row[:2] for row in rows}:
        until = -1
        for at in range(20):
            ends = [end for *mine, begin, end in rows if tuple(mine) == value and begin <= at < end]
            if at >= until and ends:
                until = max(ends)
                told.append((*value, at, until))
    return told


@pytest.mark.parametrize("restart", [False, True])
@given(st.lists(LIVES, max_size=30))
def test_each_value_is_told_with_one_life_after_the_other(restart: bool, rows: list[Life]) -> None:
    state, told = Longest(2), list[Life]()
    for since, upto in SPANS:
        told += plain(state.step(tabled([row for row in rows if since <= row[2] < upto]), since, upto))
        there = sum(begin < upto <= end for *_, begin, end in told)
        assert len(state) <= 2 * there
        if restart:
            state = Longest.restored(state.state())
    assert sorted(told, key=repr) == sorted(told_one_by_one(rows), key=repr)


def test_a_row_that_comes_late_counts_from_then_on() -> None:
    state = Longest(2)
    state.step(tabled([]), 0, 10)
    assert plain(state.step(tabled([("a", 1, 3, 12), ("b", 1, 3, 9)]), 10, 11)) == [("a", 1, 10, 12)]


def test_a_value_with_very_many_short_lives_takes_few_rounds() -> None:
    begins = np.arange(0, 400_000, 2)
    table = pa.table({"v": pa.array(np.zeros(len(begins), np.int64))})
    told = Longest(1).step(Lives(table, begins, begins + 3), 0, 400_000)
    assert told.begins.tolist() == [0, *range(3, 400_000, 2)]
    assert told.ends.tolist() == [*range(3, 400_000, 2), 400_001]


def test_values_that_are_gone_are_forgotten() -> None:
    state = Longest(1)
    for since in range(0, 100_000, 10_000):
        begins = np.arange(since, since + 10_000)
        lives = Lives(pa.table({"v": begins}), begins, begins + 5)
        assert len(state.step(lives, since, since + 10_000)) == 10_000
    assert len(state) == 5
    assert state.nbytes < 2_000_000


def test_a_state_that_holds_a_value_twice_is_refused() -> None:
    state = Longest(2)
    state.step(tabled([("a", 1, 3, 12), ("b", None, 3, 12)]), 0, 10)
    with pytest.raises(Bug, match="4 values were saved, 2 of them different"):
        Longest.restored(pa.concat_tables([state.state(), state.state()]))
