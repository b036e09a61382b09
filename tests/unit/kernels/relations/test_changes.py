from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.relations import changes as module
from weft.kernels.relations.changes import ChangeStore, consolidate, ordered
from weft.kernels.relations.tables import Changes

CHANGE = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.sampled_from([0.0, -0.0, math.nan, None]),
    st.integers(0, 3),
    st.integers(-2, 2),
)


def tabled(rows: list[tuple[Any, Any, int, int]]) -> Changes:
    table = pa.table(
        {
            "s": pa.array([row[0] for row in rows], pa.string()),
            "f": pa.array([row[1] for row in rows], pa.float64()),
        }
    )
    times, weights = (np.array([row[at] for row in rows], np.int64) for at in (2, 3))
    return Changes(table, times, weights)


def plain(changes: Changes) -> list[tuple[Any, str, int, int]]:
    floats = [repr(None if f is None else f + 0.0) for f in changes.table.column("f").to_pylist()]
    strings = changes.table.column("s").to_pylist()
    return list(zip(strings, floats, changes.times.tolist(), changes.weights.tolist()))


@given(st.lists(CHANGE, max_size=20))
def test_equal_rows_at_equal_times_are_put_together(rows: list[tuple[Any, Any, int, int]]) -> None:
    sums: Counter[tuple[Any, str, int]] = Counter()
    for *row, weight in plain(tabled(rows)):
        sums[tuple(row)] += weight  # type: ignore[arg-type]
    got = plain(consolidate(tabled(rows)))
    assert len({row[:3] for row in got}) == len(got)
    assert {row[:3]: row[3] for row in got} == {row: weight for row, weight in sums.items() if weight}


def test_rows_without_columns_are_put_together_by_time() -> None:
    bare = Changes(pa.table({}), np.array([1, 2, 1, 2]), np.array([1, 1, 1, -1]))
    left = consolidate(bare)
    assert (left.times.tolist(), left.weights.tolist()) == ([1], [2])


@given(st.lists(CHANGE, max_size=20))
def test_changes_are_ordered_by_time_and_what_ends_comes_first(rows: list[tuple[Any, Any, int, int]]) -> None:
    got = plain(ordered(tabled(rows)))
    assert [row[2:] for row in got] == sorted(row[2:] for row in rows)
    assert Counter(got) == Counter(plain(tabled(rows)))


# side, key, value, begin, length
LIVES = st.tuples(
    st.integers(0, 1),
    st.sampled_from([1, 2, None]),
    st.sampled_from("xy"),
    st.integers(0, 9),
    st.integers(1, 6),
)
SPANS = [(0, 3), (3, 4), (4, 9), (9, 20)]


def side(lives: list[tuple[int, Any, str, int, int]], which: int, since: int, upto: int) -> Changes:
    mine = [life[1:] for life in lives if life[0] == which]
    moved = [(key, value, begin, 1) for key, value, begin, _ in mine]
    moved += [(key, value, begin + length, -1) for key, value, begin, length in mine]
    moved = [change for change in moved if since <= change[2] < upto]
    table = pa.table(
        {
            "k": pa.array([change[0] for change in moved], pa.int64()),
            "v": pa.array([change[1] for change in moved], pa.string()),
        }
    )
    times, weights = (np.array([change[at] for change in moved], np.int64) for at in (2, 3))
    return Changes(table, times, weights)


def products(store: ChangeStore, probe: Changes, turned: bool) -> Iterable[tuple[int, tuple[Any, ...], int]]:
    """Time, the pair from left to right, weight."""
    found = store.pairs([probe.table.column("k")], probe)
    mine = probe.table.take(pa.array(found.rows))
    theirs = store.take(found.refs, ["k", "v"])
    for key, one, other_key, other, time, weight in zip(
        mine["k"].to_pylist(), mine["v"].to_pylist(), theirs["k"].to_pylist(), theirs["v"].to_pylist(),
        found.times.tolist(), found.weights.tolist(), strict=True,
    ):  # fmt: skip
        assert key == other_key
        yield time, (key, *((other, one) if turned else (one, other))), weight


@pytest.mark.parametrize("null_safe", [False, True])
@pytest.mark.parametrize("few", [0, 1024], ids=["settled at once", "settled late"])
@given(st.lists(LIVES, max_size=14))
def test_pairs_of_changes_are_what_a_join_gives_at_every_instant(
    null_safe: bool, few: int, lives: list[tuple[int, Any, str, int, int]]
) -> None:
    schema = pa.schema({"k": pa.int64(), "v": pa.string()})
    left, right = (ChangeStore(1, null_safe=null_safe, schema=schema) for _ in range(2))
    told: list[tuple[int, tuple[Any, ...], int]] = []
    with patch.object(module, "_FEW", few):
        for since, upto in SPANS:
            lefts, rights = (side(lives, which, since, upto) for which in (0, 1))
            right.add([rights.table.column("k")], rights)
            now = [*products(right, lefts, False), *products(left, rights, True)]
            left.add([lefts.table.column("k")], lefts)
            assert all(since <= time < upto for time, _, _ in now)
            told += now
            left.settle(upto)
            right.settle(upto)
    for at in range(20):
        held: Counter[tuple[Any, ...]] = Counter()
        for time, pair, weight in told:
            held[pair] += weight if time <= at else 0
        there = [
            [life[1:3] for life in lives if life[0] == n and life[3] <= at < sum(life[3:])] for n in (0, 1)
        ]
        joined = Counter(
            (key, one, two)
            for key, one in there[0]
            for other, two in there[1]
            if key == other and (null_safe or key is not None)
        )
        assert {pair: weight for pair, weight in held.items() if weight} == joined


def test_changes_that_cancel_are_not_held_for_long() -> None:
    store = ChangeStore(1)
    for at in range(0, 20_000, 100):
        values = pa.table({"k": np.arange(at, at + 100)})
        ones, times = np.ones(100, int), np.full(100, at)
        both = Changes.concat([Changes(values, times, ones), Changes(values, times + 50, -ones)])
        store.add([both.table.column("k")], both)
        store.settle(at + 100)
        assert len(store) <= 1024 + 200
    kept = Changes(pa.table({"k": [7]}), np.array([20_000]), np.array([3]))
    store.add([kept.table.column("k")], kept)
    found = store.pairs(
        [pa.array([7, 8])], Changes(pa.table({}), np.array([20_001, 20_001]), np.array([-2, 1]))
    )
    assert [found.times[found.rows == 0].max(), found.weights[found.rows == 0].sum()] == [20_001, -6]
    assert found.weights[found.rows == 1].sum() == 0
