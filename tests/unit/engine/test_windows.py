"""Due windows against the obvious loop over all ends."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from weft.engine.windows import Reach, due, floored, late_slices, needed_from, widest_gap
from weft.times import BEGINNING

lengths = st.integers(1, 12)
bounds = st.one_of(st.just(BEGINNING), st.integers(-40, 40))


def ends_holding(at: int, range_: int, slide: int, offset: int) -> list[int]:
    return [e for e in range(at + 1, at + range_ + 1) if (e - offset) % slide == 0]


@given(
    st.sets(st.integers(-50, 50)), lengths, lengths, st.integers(0, 11), bounds, bounds, bounds, st.booleans()
)
def test_due_windows_are_those_that_hold_a_slice_and_lie_in_the_bounds(
    slices, range_, slide, offset, after, upto, floor, gap_known
):
    ordered = np.array(sorted(slices), np.int64)
    gap = widest_gap(ordered) if gap_known else None
    found = due(ordered, range_, slide, offset, after, upto, floor, gap=gap)
    expected = sorted(
        {
            end
            for at in slices
            for end in ends_holding(at, range_, slide, offset)
            if after < end <= upto and end - range_ > floor
        }
    )
    assert found.ends.tolist() == expected
    assert (found.ends - found.starts == range_).all()


@given(st.sets(st.integers(-20, 20)), lengths, lengths, bounds, st.integers(-40, 40), st.integers(-40, 40))
def test_every_window_is_due_when_empty_ones_are_asked_for(slices, range_, slide, after, upto, first):
    found = due(np.array(sorted(slices), np.int64), range_, slide, 0, after, upto, every_from=first)
    assert found.ends.tolist() == [e for e in range(max(after, first) + 1, upto + 1) if e % slide == 0]


@given(st.sets(st.integers(-50, 50)), lengths, lengths, st.integers(0, 11), st.integers(-40, 40), bounds)
def test_a_slice_is_late_when_an_answered_window_holds_it(slices, range_, slide, offset, upto, floor):
    ordered = sorted(slices)
    late = late_slices(np.array(ordered, np.int64), range_, slide, offset, upto, floor)
    expected = [
        any(floor + range_ < end <= upto for end in ends_holding(at, range_, slide, offset)) for at in ordered
    ]
    assert late.tolist() == expected


@given(lengths, lengths, st.integers(0, 11), st.integers(-40, 40))
def test_no_later_window_needs_an_older_row(range_, slide, offset, upto):
    next_end = next(end for end in range(upto + 1, upto + slide + 1) if (end - offset) % slide == 0)
    assert needed_from(range_, slide, offset, upto) == next_end - range_


def test_a_drain_answers_each_range_as_far_as_it_holds_the_last_row():
    reach = Reach(watermark=100, drained=130)
    assert reach.upto(10) == 140
    assert reach.upto(60) == 190
    assert Reach(watermark=100).upto(60) == 100
    assert Reach().upto(60) == BEGINNING


pairs = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 29)), min_size=1, max_size=4)


@given(st.lists(st.integers(-100, 100), max_size=20), pairs)
def test_slices_are_brought_to_the_last_edge_before_them(slices, pairs):
    found = floored(np.array(slices, np.int64), pairs)
    wanted = [max(at - (at - phase) % slide for slide, phase in pairs) for at in slices]
    assert found.tolist() == wanted
