"""Distinct counts, sketches and percentiles: answers of a feed with an extra key, brought to a query's own.

    feed of the query       window, group                      one row per answer
    feed with extra key     window, group + value              many rows per answer: `owner` says which

Each function takes the owners and gives one value per answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.kernels.arrow import numbers, valid_of
from weft.kernels.combine import Bools, Floats, Ints
from weft.kernels.orders import order_of
from weft.kernels.state import Answered, FeedState

_HASH_BITS = 64


def owners(rows: Answered, own: FeedState, counted: Answered, extra: FeedState) -> Ints:
    """For each row of `counted` the place of its window and group in `rows`; -1 where they are not there.

    `own` and `extra` are the states that gave them; the keys of `extra` are those of `own` and one more.
    """
    _, first, which = np.unique(extra.groups.family(counted.group), return_index=True, return_inverse=True)
    group = own.lookup(extra.keys(counted.group[first])[:-1], len(first))[which]
    width = int(max(group.max(initial=0), rows.group.max(initial=0))) + 1
    wanted = counted.window * width + group
    known = rows.window * width + rows.group
    places = np.minimum(np.searchsorted(known, wanted), max(0, len(known) - 1))
    if not len(known):
        return np.full(len(wanted), -1, np.int64)
    return np.where((group >= 0) & (known[places] == wanted), places, -1)


def count_distinct(owner: Ints, rows: int) -> Ints:
    """How many extra keys each answer has."""
    return np.bincount(owner[owner >= 0], minlength=rows).astype(np.int64)


def approx_count_distinct(owner: Ints, rho: pa.Array, rows: int, precision: int) -> Ints:
    """The estimated number of distinct values, of registers whose greatest ranks are `rho`."""
    highest = _HASH_BITS - precision + 1
    used = owner >= 0
    valid = valid_of(rho)
    used = used if valid is None else used & valid
    ranks = numbers(rho, np.int64, 0)[used]
    counts = np.bincount(owner[used] * (highest + 1) + ranks, minlength=rows * (highest + 1))
    histogram = counts.reshape(rows, highest + 1).astype(np.float64)
    histogram[:, 0] = (1 << precision) - histogram.sum(axis=1)
    return np.rint(estimate(histogram)).astype(np.int64)


def estimate(histogram: Floats) -> Floats:
    """How many distinct values filled the registers; `histogram[answer, rank]` counts them, rank 0 is empty.

    The improved estimator of Ertl: unbiased from nothing to far more values than registers, without tables.
    """
    registers = histogram.sum(axis=1)
    total = registers * _tau(1.0 - histogram[:, -1] / registers)
    for rank in range(histogram.shape[1] - 2, 0, -1):
        total = 0.5 * (total + histogram[:, rank])
    total = total + registers * _sigma(histogram[:, 0] / registers)
    found: Floats = registers * registers / (2.0 * np.log(2.0) * total)
    return found


def _sigma(x: Floats) -> Floats:
    """x + sum of x^(2^k) * 2^(k-1) for k >= 1; infinite at 1."""
    with np.errstate(under="ignore"):
        power, weight, total = np.where(x == 1.0, 0.0, x), 1.0, np.where(x == 1.0, np.inf, x)
        while True:
            power = power * power
            more = total + power * weight
            if bool((more == total).all()):
                return more
            total, weight = more, weight * 2


def _tau(x: Floats) -> Floats:
    """(1 - x - sum of (1 - x^(2^-k))^2 * 2^-k for k >= 1) / 3; 0 at 0 and 1."""
    inside = (x > 0.0) & (x < 1.0)
    root, weight, total = np.where(inside, x, 1.0), 1.0, np.where(inside, 1.0 - x, 0.0)
    while True:
        root, weight = np.sqrt(root), weight * 0.5
        less = total - (1.0 - root) ** 2 * weight
        if bool((less == total).all()):
            return less / 3.0
        total = less


def percentiles(
    owner: Ints, buckets: pa.Array, counts: Ints, rows: int, wanted: float | Sequence[float]
) -> pa.Array:
    """The bucket of the value at each percentage, by its exact rank: ceil(percentage * values), at least 1.

    One percentage gives values, several give lists of them; null where there is no value at all.
    """
    several = isinstance(wanted, Sequence)
    shares = np.atleast_1d(np.asarray(wanted, np.float64))
    places, some = _ranked(owner, buckets, counts, rows, shares)
    values = buckets.take(pa.array(places.ravel(), mask=np.repeat(~some, places.shape[1])))
    if not several:
        return values
    offsets = np.arange(rows + 1, dtype=np.int32) * places.shape[1]
    lists = pa.ListArray.from_arrays(pa.array(offsets), values)
    return lists.take(pa.array(np.arange(rows), mask=~some))


def _ranked(owner: Ints, buckets: pa.Array, counts: Ints, rows: int, shares: Floats) -> tuple[Ints, Bools]:
    """For each answer and percentage the place of its bucket; and which answers have any."""
    valid = valid_of(buckets)
    used = np.flatnonzero((owner >= 0) & (counts > 0) & (True if valid is None else valid))
    codes, _ = order_of(buckets.type).encode(buckets)
    used = used[np.lexsort((codes[used], owner[used]))]
    running = np.cumsum(counts[used])
    ends = np.searchsorted(owner[used], np.arange(rows), side="right")
    upto = np.concatenate(([0], running))[ends]
    before = np.concatenate(([0], upto[:-1]))
    totals = upto - before
    ranks = np.maximum(np.ceil(totals[:, None] * shares[None, :]).astype(np.int64), 1)
    at = np.searchsorted(running, before[:, None] + ranks)
    places = used[np.minimum(at, max(0, len(used) - 1))] if len(used) else np.zeros_like(at)
    return places, totals > 0
