from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kernels.columns import ColumnSpec
from weft.kernels.relations.amounts import Wanted
from weft.kernels.relations.asof import Aggregate
from weft.kernels.relations.grouped import Grouping
from weft.kernels.relations.tables import Changes, Lives

COUNT = Aggregate(ColumnSpec("count(*)", "count"))
SUM = Aggregate(ColumnSpec("sum(n)", "sum_int", "int"), "n")
FLOATS = Aggregate(ColumnSpec("sum(f)", "sum_float", "double"), "f")
LEAST = Aggregate(ColumnSpec("min(s)", "min", "string"), "s")
MOMENTS = Aggregate(ColumnSpec("moments(n)", "moments", "int"), "n")
VALUES = Aggregate(ColumnSpec("count(*) by n", "count"))
WANTED = [
    Wanted("rows", "count_star", (COUNT,)),
    Wanted("total", "sum", (SUM,), "int", "bigint"),
    Wanted("least", "min", (LEAST,), "string", "string"),
    Wanted("spread", "var_pop", (MOMENTS,), "int", "double"),
    Wanted("different", "count_distinct", (VALUES,), "int", "bigint", extra="n"),
]

# key, number, text, begin, length
LIVES = st.lists(
    st.tuples(
        st.sampled_from(["x", "y", None]),
        st.none() | st.integers(0, 2),
        st.sampled_from(["a", "b", None]),
        st.integers(0, 19),
        st.integers(1, 9),
    ),
    max_size=16,
)
SPANS = [(0, 3), (3, 4), (4, 5), (5, 11), (11, 30)]


def tabled(lives: list[tuple[Any, ...]]) -> Lives:
    names = {"k": pa.string(), "n": pa.int32(), "s": pa.string()}
    table = pa.table(
        {name: pa.array([row[at] for row in lives], type) for at, (name, type) in enumerate(names.items())}
    )
    begins, lengths = (np.array([row[at] for row in lives], np.int64) for at in (3, 4))
    return Lives(table, begins, begins + lengths)


def grouped(rows: list[tuple[Any, ...]], keyed: bool) -> dict[Any, tuple[Any, ...]]:
    """By key: count, sum, least, variance, distinct."""
    found = {}
    for key in {row[0] for row in rows} if keyed else ({None} if rows else ()):
        mine = [row for row in rows if row[0] == key or not keyed]
        numbers = [row[1] for row in mine if row[1] is not None]
        texts = [row[2] for row in mine if row[2] is not None]
        found[key] = (
            len(mine),
            sum(numbers) if numbers else None,
            min(texts, default=None),
            pytest.approx(statistics.pvariance(numbers)) if numbers else None,
            len(set(numbers)),
        )
    return found


def plain(changes: Changes) -> list[tuple[tuple[Any, ...], int, int]]:
    rows = list(zip(*(column.to_pylist() for column in changes.table.columns)))
    return list(zip(rows, changes.times.tolist(), changes.weights.tolist(), strict=True))


@pytest.mark.parametrize("count", [2, len(WANTED)], ids=["held as totals", "held as rows"])
@pytest.mark.parametrize("keyed", [True, False])
@given(LIVES)
@settings(max_examples=40)
def test_a_group_has_one_row_while_its_values_hold(
    count: int, keyed: bool, lives: list[tuple[Any, ...]]
) -> None:
    grouping = Grouping(["k"] if keyed else [], WANTED[:count])
    told = []
    for since, upto in SPANS:
        changes, failing = grouping.step(tabled(lives).changes(since, upto), upto)
        assert len(failing) == 0
        assert all(since <= time < upto for time in changes.times.tolist())
        told += plain(changes)
    assert len(told) == len({(row, time) for row, time, _ in told})  # nothing comes and goes at one instant
    for at in range(30):
        held: Counter[tuple[Any, ...]] = Counter()
        for row, time, weight in told:
            held[row] += weight if time <= at else 0
        assert set(held.values()) <= {0, 1}
        there = [row for row in lives if row[3] <= at < row[3] + row[4]]
        got = {row[0] if keyed else None: row[int(keyed) :] for row, count in held.items() if count}
        assert len(got) == sum(held.values())
        assert got == {key: values[:count] for key, values in grouped(there, keyed).items()}


def test_floats_are_taken_back_as_they_were_told() -> None:
    grouping = Grouping([], [Wanted("total", "sum", (FLOATS,), "double", "double")])
    rng = np.random.default_rng(3)
    lives = Lives(
        pa.table({"f": rng.random(300) * 10.0 ** rng.integers(-9, 9, 300)}),
        np.arange(300),
        np.arange(300) + 40,
    )
    held: Counter[tuple[Any, ...]] = Counter()
    for since in range(0, 400, 7):
        for row, _, weight in plain(grouping.step(lives.changes(since, since + 7), since + 7)[0]):
            held[row] += weight
        assert set(held.values()) <= {0, 1}
    assert sum(held.values()) == 0


def test_a_group_whose_sum_overflows_has_no_row_until_it_fits_again() -> None:
    wide = Aggregate(ColumnSpec("sum(n)", "sum_long", "bigint"), "n")
    grouping = Grouping(["k"], [Wanted("total", "sum", (wide,), "bigint", "bigint")])
    table = pa.table({"k": ["x", "x"], "n": pa.array([2**63 - 1, 1])})
    lives = Lives(table, np.array([1, 3]), np.array([9, 5]))
    first, none = grouping.step(lives.changes(0, 2), 2)
    gone, failing = grouping.step(lives.changes(2, 4), 4)
    back, _ = grouping.step(lives.changes(4, 9), 9)
    row = ("x", 2**63 - 1)
    assert plain(first) == [(row, 1, 1)]
    assert len(none) == 0
    assert plain(gone) == [(row, 3, -1)]
    assert plain(failing) == [(("x",), 3, 1)]
    assert plain(back) == [(row, 5, 1)]


def test_a_span_without_changes_tells_nothing_with_the_same_columns() -> None:
    grouping = Grouping(["k"], WANTED)
    none, _ = grouping.step(tabled([]).changes(0, 1), 1)
    some, _ = grouping.step(tabled([("x", 1, "a", 1, 5)]).changes(1, 2), 2)
    assert len(none) == 0
    assert none.table.schema == some.table.schema
    assert plain(some) == [(("x", 1, 1, "a", 0.0, 1), 1, 1)]


MOST = Aggregate(ColumnSpec("max(k)", "max", "bigint"), "k")


@pytest.mark.parametrize("wanted", [WANTED[0], Wanted("most", "max", (MOST,), "bigint", "bigint")])
def test_a_group_that_comes_and_goes_leaves_nothing_behind(wanted: Wanted) -> None:
    grouping = Grouping(["k"], [wanted])
    for at in range(0, 60_000, 500):
        keys = pa.table({"k": np.arange(at, at + 500)})
        lives = Lives(keys, np.full(500, at), np.full(500, at + 100))
        assert len(grouping.step(lives.changes(at, at + 500), at + 500)[0]) == 1000
        assert len(grouping) < 5_000
        assert grouping.nbytes < 2_000_000


def test_groups_that_only_add_up_hold_no_rows() -> None:
    grouping = Grouping(["k"], WANTED[:2])
    lives = tabled([("x", n % 5, "a", n, 5_000) for n in range(3_000)])
    grouping.step(lives.changes(0, 3_000), 3_000)
    assert len(grouping._held) == 1
