"""Groups in buckets: which bucket a group lives in, and the cells of a batch apart by bucket.

    cells of a batch    A 9:00   B 9:00   C 9:00   A 9:01
    bucket 0            A 9:00   A 9:01                       every group lies whole in one bucket,
    bucket 1            B 9:00   C 9:00                       so a bucket answers for its groups alone

A feed is spread by its own group keys. One with an extra key is spread by the others: what is counted
distinct for a group lies with the group. So do groups that differ only in inner keys: they are one for a
query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.engine.ingest import FeedKey, Fold, described_key
from weft.kernels.arrow import whole
from weft.kernels.hashing import hash_keys
from weft.share.nodes import Feed, StreamPlan

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Share:
    """One bucket of so many."""

    bucket: int
    buckets: int

    def of(self, key: FeedKey, cells: Fold) -> Fold:
        """Those of the cells whose groups live here."""
        mine = self.holds(key, cells.keys, len(cells.slices))
        rows = pa.array(np.flatnonzero(mine))
        columns = {
            spec: {part: array.take(rows) for part, array in parts.items()}
            for spec, parts in cells.columns.items()
        }
        return Fold(cells.slices[mine], [each.take(rows) for each in cells.keys], columns)

    def answers(self, feed: Feed) -> bool:
        """Are its queries answered here? Those without groups are in one bucket, empty windows included."""
        return len(feed.keys) > feed.inner or bool(self.holds((False, (), 0, 0), [], 1)[0])

    def holds(self, key: FeedKey, keys: Sequence[pa.Array], rows: int) -> npt.NDArray[np.bool_]:
        """For each row of group keys of a feed: does the group live here?"""
        mine: npt.NDArray[np.bool_] = places(key, keys, rows, self.buckets) == self.bucket
        return mine


def places(key: FeedKey, keys: Sequence[pa.Array], rows: int, buckets: int) -> Places:
    """The bucket of each row of group keys of a feed."""
    extra, _, inner, _ = key
    spread_by = keys[: len(keys) - extra - inner]
    found: Places = (hash_keys(spread_by, rows) % np.uint64(buckets)).astype(np.int64)
    return found


def spread(plan: StreamPlan) -> StreamPlan:
    """The plan with all feeds that are read made from rows: one combined from a finer would cross buckets."""
    read = (feed for feed in plan.feeds if not feed.common)
    return replace(plan, feeds=tuple(replace(feed, parent=None) for feed in read))


def split(cells: pa.Table, described: Iterable[Mapping[str, Any]], buckets: int) -> dict[str, pa.Table]:
    """The cells of a batch by bucket, under the names of their tables; a bucket without cells has none."""
    feed = cells.column("feed").to_numpy()
    place = np.zeros(len(feed), np.int64)
    for about in described:
        rows = np.flatnonzero(feed == about["root"])
        at = pa.array(rows)
        keys = [whole(cells.column(name).take(at)) for name in about["key_columns"]]
        place[rows] = places(described_key(about), keys, len(rows), buckets)
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(buckets + 1))
    found = {}
    for bucket in range(buckets):
        if ends[bucket] < ends[bucket + 1]:
            found[name_of(bucket)] = cells.take(pa.array(order[ends[bucket] : ends[bucket + 1]]))
    return found


CELLS = "cells"  # the table of a batch with the cells of all groups


def name_of(bucket: int) -> str:
    """The table of a batch with the cells of a bucket."""
    return f"{CELLS}:{bucket}"


def is_cells(name: str) -> bool:
    return name == CELLS or name.startswith(f"{CELLS}:")
