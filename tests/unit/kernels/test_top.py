"""The first rows of every window against sorting them all in Python."""

import math

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.top import top

number = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.0, 2.5, math.inf, -math.inf, math.nan]))
text = st.one_of(st.none(), st.sampled_from(["", "a", "b", "Z", "ä", "a\U0001f600", "a\uffff"]))
rows = st.lists(st.tuples(st.integers(0, 3), number, text, st.integers(0, 5)), max_size=25)


def by_number(value, descending, nulls_first):
    if value is None:
        return (-1 if nulls_first else 1, 0, 0.0)
    rank = (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return (0, -rank[0], -rank[1]) if descending else (0, *rank)


def by_text(value):
    return (0, b"") if value is None else (1, value.encode())


@given(rows, st.booleans(), st.booleans(), st.integers(0, 4))
def test_takes_the_first_rows_of_each_window_in_order(table, descending, nulls_first, limit):
    expected = []
    for window in sorted({row[0] for row in table}):
        places = [at for at, row in enumerate(table) if row[0] == window]
        places.sort(
            key=lambda at: (
                by_number(table[at][1], descending, nulls_first),
                by_text(table[at][2]),
                table[at][3],
            )
        )
        expected += places[:limit]
    found = top(
        np.array([row[0] for row in table], np.int64),
        [(pa.array([row[1] for row in table], pa.float64()), descending, nulls_first)],
        [pa.array([row[2] for row in table], pa.string()), pa.array([row[3] for row in table], pa.int64())],
        limit,
    )
    assert found.tolist() == expected
