"""Ranges of a number that groups are picked by, against the obvious loop; and what is kept for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.kernels.model import CASES, GRAIN, PRESENT, Row
from tests.unit.kernels.test_state import STATES, Model, rows, windows
from weft.kernels import state as states
from weft.kernels.columns import ColumnSpec
from weft.kernels.combine import ADD, KINDS, Arrays, Kind
from weft.kernels.picks import Choice, OneOf, Within
from weft.kernels.runs import all_runs, between, from_begin, running_sums, to_end
from weft.kernels.state import FeedState

LAST = 9


class Numbered(Model):
    """With a text and a number as keys."""

    key_types = (pa.string(), pa.int32())


keys = st.tuples(st.sampled_from(["x", "y", None]), st.none() | st.integers(0, LAST))
batches = st.lists(st.builds(lambda row, key: replace(row, key=key), rows, keys), min_size=1, max_size=25)
picks = st.builds(lambda first, last: Within(1, first, last), st.integers(0, LAST + 1), st.integers(0, LAST))
SEEN = st.sampled_from([(), (0,)])


@pytest.mark.parametrize("kind", STATES)
@settings(max_examples=50, deadline=None, report_multiple_bugs=False)
@given(
    folded=st.lists(st.tuples(batches, st.integers(0, len(CASES))), min_size=1, max_size=3),
    ranges=st.lists(picks, min_size=1, max_size=3),
    seen=SEEN,
)
def test_ranges_answer_as_if_only_their_rows_had_come(
    kind: str, folded: list[tuple[list[Row], int]], ranges: list[Within], seen: tuple[int, ...]
) -> None:
    model = Numbered(STATES[kind](2))
    for batch, count in folded:
        model.fold(batch, count)
        for pick in ranges:
            model.check(PRESENT, *windows(3, 1), Choice((pick,), seen))
    for pick in ranges:
        model.check(PRESENT, *windows(5, 2), Choice((pick,), seen))
        model.check(PRESENT, *windows(5, 2), Choice((pick, OneOf(0, ("x", "z"))), seen))
        model.check(PRESENT, *windows(5, 2), Choice((pick,), (*seen, 1)))
    model.expire(2 * GRAIN)
    model.check(PRESENT, *windows(5, 2), Choice((ranges[0],), seen))


COUNT, TOTAL = ColumnSpec("count(*)", "count"), ColumnSpec("sum(i)", "sum_int", "int")


def filled(numbers: int) -> FeedState:
    """In each of two slices one row of every number."""
    state, values = FeedState(1), pa.array(np.arange(numbers, dtype=np.int32))
    ones = pa.array(np.ones(numbers, np.int64))
    for slice in (20, 30):
        state.fold(
            np.full(numbers, slice), [values], {COUNT: {"": ones}, TOTAL: {"": values.cast(pa.int64())}}
        )
    return state


def read(state: FeedState, first: int, last: int) -> list[int]:
    starts, ends = np.array([10, 20]), np.array([30, 40])
    found = state.answer(starts, ends, COUNT, [TOTAL], Choice((Within(0, first, last),), ()))
    return found.values[TOTAL][0].tolist()  # type: ignore[no-any-return]


def test_a_range_of_nothing_has_no_answer() -> None:
    state = filled(5)
    assert read(state, 3, 2) == read(state, 5, 9) == []
    assert (
        FeedState(1)
        .answer(np.array([0]), np.array([1]), COUNT, [TOTAL], Choice((Within(0, 0, 9),), ()))
        .window.tolist()
        == []
    )


def test_many_ranges_keep_no_more_than_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    state = filled(1000)
    for allowed in (1 << 20, 0):
        monkeypatch.setattr(states, "_REMEMBERED", allowed)
        for first in range(0, 1000, 100):
            assert read(state, first, 998) == [sum(range(first, 999)), 2 * sum(range(first, 999))]
            assert state._remembered <= max(allowed, 200_000)
    assert state._selections == {}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("size", [1, 2, 7, 64, 100])
def test_runs_against_the_obvious_loop(kind: Kind, size: int) -> None:
    rng = np.random.default_rng(size)
    values = tuple(rng.integers(1, 1000, size).astype(dtype) for dtype in kind.dtypes)
    stretch = np.sort(rng.integers(0, 1 + size // 10, size))

    def together(lo: int, hi: int) -> Arrays:
        total = kind.empty((1,))
        for at in range(lo, hi):
            total = kind.combine(total, tuple(array[at : at + 1] for array in values))
        return tuple(array[0] for array in total)

    ends, begins = to_end(kind, values, stretch), from_begin(kind, values, stretch)
    for at in range(size):
        begin, end = np.searchsorted(stretch, stretch[at]), np.searchsorted(stretch, stretch[at], "right")
        assert np.allclose(tuple(array[at] for array in ends), together(at, end))
        assert np.allclose(tuple(array[at] for array in begins), together(begin, at + 1))
    lo = rng.integers(0, size, 50)
    hi = np.array([rng.integers(at, size) + 1 for at in lo])
    found = between(kind, all_runs(kind, values, size), lo, hi)
    for at, (first, last) in enumerate(zip(lo, hi)):
        assert np.allclose(tuple(array[at] for array in found), together(first, last))


def test_running_sums_may_overflow() -> None:
    sums = running_sums(np.array([2**62, 2**62, 2**62, -5]))
    assert (sums[[4, 2]] - sums[[2, 1]]).tolist() == [2**62 - 5, 2**62]


def test_what_is_not_in_a_range_does_not_touch_it() -> None:
    values = np.array([1.0, np.inf, 2.0, np.nan, 4.0])
    runs = all_runs(ADD, (values,), 5)
    assert between(ADD, runs, np.array([0, 2, 4]), np.array([1, 3, 5]))[0].tolist() == [1.0, 2.0, 4.0]
    (ends,) = to_end(ADD, (values,), np.array([0, 0, 1, 1, 2]))
    assert ends[4] == 4.0
