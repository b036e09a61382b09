"""Times by row are those that repeating them gives; queries of one beat have them in common."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.timerows import TimeRows

ASKED = st.tuples(
    st.integers(-50, 50), st.integers(1, 9), st.sampled_from([1, 2, 5]), st.integers(1, 4), st.booleans()
)


@given(st.lists(ASKED, max_size=12))
def test_rows_are_times_repeated(asked: list[tuple[int, int, int, int, bool]]) -> None:
    made = TimeRows()
    for first, count, step, groups, even in asked:
        times = first + step * np.arange(count)
        if not even:
            times = np.delete(times, slice(1, 2))
        rows = made.rows(times, groups)
        assert rows.cast("int64").to_pylist() == np.repeat(times, groups).tolist()


def test_starts_and_ends_of_one_beat_are_parts_of_one_array() -> None:
    made = TimeRows()
    ends = np.arange(100, 200, 5)
    addresses = set()
    for length in (5, 10, 20, 40, 60, 80, 90, 95):  # the farther back, the more is made at once
        made.rows(ends - length, 3)
    for length in (0, 5, 10, 20, 40, 60, 80, 90, 95):
        addresses.add(made.rows(ends - length, 3).buffers()[1].address)
    assert len(addresses) == 1
