from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import QueryError
from weft.kernels.columns import ColumnSpec
from weft.kernels.distinct import approx_count_distinct, count_distinct, owners, percentiles
from weft.kernels.sketches import precision_for
from weft.kernels.state import Answered, FeedState

COUNT = ColumnSpec("count(*)", "count")
COUNT_X = ColumnSpec("count(x)", "count")

Rows = list[tuple[int, str | None, int | None]]  # slice, key, x

rows = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(["a", "b", None]), st.none() | st.integers(0, 4)),
    max_size=25,
)


def states(batch: Rows) -> tuple[FeedState, FeedState]:
    """A feed by key and a feed by (key, x)."""
    slices = np.array([row[0] for row in batch], np.int64)
    key = pa.array([row[1] for row in batch], pa.string())
    x = pa.array([row[2] for row in batch], pa.int64())
    own, extra = FeedState(1), FeedState(2)
    own.fold(slices, [key], {COUNT: {"": pa.array(np.ones(len(batch), np.int64))}})
    seen = np.array([row[2] is not None for row in batch], np.int64)
    extra.fold(slices, [key, x], {COUNT_X: {"": pa.array(seen)}})
    return own, extra


def answers(
    batch: Rows,
) -> tuple[Answered, Answered, np.ndarray, FeedState]:
    own, extra = states(batch)
    ends = np.arange(1, 12)
    mine = own.answer(ends - 3, ends, COUNT, [])
    counted = extra.answer(ends - 3, ends, COUNT_X, [COUNT_X])
    return mine, counted, owners(mine, own, counted, extra), extra


def held(batch: Rows) -> dict[tuple[int, str | None], list[int]]:
    found: dict[tuple[int, str | None], list[int]] = defaultdict(list)
    for window, end in enumerate(range(1, 12)):
        for at, key, x in batch:
            if end - 3 <= at < end:
                found[(window, key)] += [x] if x is not None else []
    return found


@given(rows)
def test_distinct_values_are_counted_per_window_and_group(
    batch: Rows,
) -> None:
    own, _ = states(batch)
    mine, _, owner, _ = answers(batch)
    keys = own.keys(mine.group)[0].to_pylist()
    got = dict(zip(zip(mine.window.tolist(), keys), count_distinct(owner, len(mine.window)).tolist()))
    assert got == {at: len(set(values)) for at, values in held(batch).items()}


@given(rows, st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), min_size=1, max_size=3))
def test_percentiles_have_the_right_rank(batch: Rows, wanted: list[float]) -> None:
    own, _ = states(batch)
    mine, counted, owner, extra = answers(batch)
    keys = own.keys(mine.group)[0].to_pylist()
    buckets, count = extra.keys(counted.group)[1], counted.values[COUNT_X][0]
    got = percentiles(owner, buckets.cast(pa.int64()), count, len(keys), wanted).to_pylist()
    one = percentiles(owner, buckets.cast(pa.int64()), count, len(keys), wanted[0]).to_pylist()
    for at, window, key in zip(range(len(keys)), mine.window.tolist(), keys):
        values = sorted(held(batch)[(window, key)])
        ranks = [max(1, math.ceil(share * len(values))) for share in wanted]
        assert got[at] == ([values[rank - 1] for rank in ranks] if values else None)
        assert one[at] == (values[ranks[0] - 1] if values else None)


def test_percentiles_rank_nan_greatest() -> None:
    buckets = pa.array([math.nan, 1.0, -math.inf])
    found = percentiles(np.zeros(3, np.int64), buckets, np.array([1, 1, 1]), 1, [0.1, 0.5, 1.0])
    assert str(found.to_pylist()) == "[[-inf, 1.0, nan]]"


@pytest.mark.parametrize("rsd", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("distinct", [0, 1, 10, 1_000, 20_000])
def test_the_estimate_keeps_its_bound(rsd: float, distinct: int) -> None:
    """Many sketches at once: the standard deviation of their errors is within the bound, and no bias."""
    precision, sketches = precision_for(rsd), 60
    hashes = np.random.default_rng(distinct).integers(0, 2**64, (sketches, distinct), np.uint64)
    register = (hashes >> np.uint64(64 - precision)).astype(np.int64)
    rest = (hashes << np.uint64(precision)) | np.uint64(1 << (precision - 1))
    rho = 64 - np.floor(np.log2(rest.astype(np.longdouble))).astype(np.int64)
    best = np.zeros((sketches, 1 << precision), np.int64)
    np.maximum.at(best, (np.arange(sketches)[:, None], register), rho)
    sketch, which = np.nonzero(best)
    found = approx_count_distinct(sketch, pa.array(best[sketch, which]), sketches, precision)
    if not distinct:
        assert found.tolist() == [0] * sketches
        return
    error = found / distinct - 1
    assert np.sqrt(np.mean(error**2)) < 1.3 * rsd
    assert abs(error.mean()) < 0.5 * rsd


@settings(max_examples=20)
@given(st.floats(0.0022, 0.39))
def test_precision_meets_the_deviation_asked_for(rsd: float) -> None:
    assert 1.04 / math.sqrt(1 << precision_for(rsd)) <= rsd


@pytest.mark.parametrize("rsd", [0.002, 0.0, -1.0])
def test_a_deviation_that_takes_too_many_registers_is_refused(rsd: float) -> None:
    with pytest.raises(QueryError, match="registers"):
        precision_for(rsd)


@pytest.mark.parametrize("buckets", [pa.nulls(0), pa.array([], pa.float64())], ids=["no type yet", "double"])
def test_a_feed_with_nothing_in_it_gives_no_percentiles(buckets: pa.Array) -> None:
    nothing = np.zeros(0, np.int64)
    assert percentiles(nothing, buckets, nothing, 2, 0.5).cast(pa.float64()).to_pylist() == [None, None]
    several = percentiles(nothing, buckets, nothing, 2, (0.5, 0.9))
    assert several.cast(pa.list_(pa.float64())).to_pylist() == [None, None]


def test_values_of_groups_that_a_query_does_not_show_are_left_out() -> None:
    own, extra = FeedState(0), FeedState(1)
    own.fold(np.array([0, 5]), [], {COUNT: {"": pa.array([1, 0])}})
    extra.fold(np.array([0, 5]), [pa.array([7, 8])], {COUNT_X: {"": pa.array([1, 1])}})
    starts, ends = np.array([0, 5]), np.array([1, 6])
    mine = own.answer(starts, ends, COUNT, [])
    counted = extra.answer(starts, ends, COUNT_X, [])
    assert owners(mine, own, counted, extra).tolist() == [0, -1]
