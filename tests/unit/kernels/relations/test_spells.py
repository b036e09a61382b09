from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import Bug
from weft.kernels.relations.spells import spells
from weft.kernels.relations.tables import Changes, Lives

LIVES = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 6), st.integers(0, 5)), max_size=12
)


@given(LIVES)
def test_rows_are_there_in_their_spells_as_often_as_changes_say(
    lives: list[tuple[str | None, int, int]],
) -> None:
    begins, lengths = (np.array([life[at] for life in lives], np.int64) for at in (1, 2))
    table = pa.table({"v": pa.array([life[0] for life in lives], pa.string())})
    changes = Lives(table, begins, begins + lengths).changes(0, 9)
    rows, starts, ends = spells(changes, 9)
    values = changes.table.column("v").take(pa.array(rows)).to_pylist()
    for at in range(9):
        there = [value for value, begin, length in lives if begin <= at < begin + length]
        got = [
            value for value, begin, end in zip(values, starts.tolist(), ends.tolist()) if begin <= at < end
        ]
        assert sorted(got, key=repr) == sorted(there, key=repr)
    assert all(begin < end <= 9 for begin, end in zip(starts.tolist(), ends.tolist()))


def test_what_ends_before_it_began_is_a_bug() -> None:
    with pytest.raises(Bug, match="more have ended than began"):
        spells(Changes(pa.table({"v": ["a", "b"]}), np.array([1, 2]), np.array([1, -1])), 5)
