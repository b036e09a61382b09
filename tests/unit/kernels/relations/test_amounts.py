from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import Bug
from weft.kernels.columns import ColumnSpec
from weft.kernels.distinct import approx_count_distinct
from weft.kernels.relations.amounts import Wanted, amounts
from weft.kernels.relations.asof import Aggregate

PRECISION = 4
SHARES = (0.0, 0.3, 0.5, 1.0)
PRESENT = Aggregate(ColumnSpec("count(*) where odd", "count"), where="odd")
RANK = Aggregate(ColumnSpec("max(rank)", "max", "int"), "rank", where="odd")
WANTED = [
    Wanted("different", "count_distinct", (PRESENT,), extra="v"),
    Wanted("median", "approx_percentile", (PRESENT,), "int", "int", extra="v", shares=0.5),
    Wanted("shares", "approx_percentile", (PRESENT,), "int", "array<int>", extra="v", shares=SHARES),
    Wanted("about", "approx_count_distinct", (PRESENT, RANK), extra="register", precision=PRECISION),
]

Cell = tuple[int, int | None, int, int, bool | None, int, int]
CELLS = st.lists(
    st.tuples(
        st.integers(0, 1), st.none() | st.integers(0, 4), st.integers(0, 15), st.integers(1, 5),
        st.none() | st.booleans(), st.integers(0, 5), st.integers(0, 5),
    ),
    max_size=14,
)  # fmt: skip


@given(CELLS)
def test_aggregates_of_values_are_those_of_the_rows_there_at_each_instant(cells: list[Cell]) -> None:
    columns = {
        "v": pa.array([cell[1] for cell in cells], pa.int32()),
        "register": pa.array([cell[2] for cell in cells], pa.int32()),
        "rank": pa.array([cell[3] for cell in cells], pa.int32()),
        "odd": pa.array([cell[4] for cell in cells], pa.bool_()),
    }
    groups, firsts, behinds = (np.array([cell[at] for cell in cells], np.int64) for at in (0, 5, 6))
    found = amounts(columns, groups, firsts, behinds, WANTED)
    assert found.failed is None
    stretches, instants = found.stretches.expand()
    for stretch, at in zip(stretches.tolist(), instants.tolist()):
        there = [c for c in cells if c[0] == found.stretches.groups[stretch] and c[5] <= at < c[6] and c[4]]
        values = sorted(cell[1] for cell in there if cell[1] is not None)
        ranked = [values[max(math.ceil(share * len(values)), 1) - 1] for share in SHARES] if values else None
        assert found.columns["different"][stretch].as_py() == len(set(values))
        assert found.columns["median"][stretch].as_py() == (ranked[2] if ranked else None)
        assert found.columns["shares"][stretch].as_py() == ranked
        registers = {
            register: max(c[3] for c in there if c[2] == register) for register in {c[2] for c in there}
        }
        ranks = pa.array(list(registers.values()), pa.int32())
        about = approx_count_distinct(np.zeros(len(ranks), np.int64), ranks, 1, PRECISION)
        assert found.columns["about"][stretch].as_py() == about[0]


def test_an_aggregate_that_no_kernel_knows_is_a_bug() -> None:
    wanted = Wanted("x", "mode", (PRESENT,), extra="v")
    columns = {"v": pa.array([1]), "odd": pa.array([True])}
    with pytest.raises(Bug, match="`mode` has no key of its own"):
        amounts(columns, np.array([0]), np.array([0]), np.array([1]), [wanted])
