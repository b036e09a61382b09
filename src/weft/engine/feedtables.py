"""The cells of feeds as tables of a snapshot, whole or one for each bucket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from weft.engine.buckets import Share
from weft.engine.ingest import FeedKey, described_key
from weft.kernels.arrow import whole
from weft.kernels.state import FeedState
from weft.log.snapshots import Snapshot


def table_name(stream: str, feed: int, bucket: int | None = None) -> str:
    """The table with the cells of a feed, or of one of its buckets."""
    return f"{stream}/{feed}" if bucket is None else f"{stream}/{feed}:{bucket}"


def described_feeds(snapshot: Snapshot, stream: str) -> list[Mapping[str, Any]]:
    return [about for about in snapshot.meta["feeds"] if about["stream"] == stream]


def load_feeds(snapshot: Snapshot, stream: str, share: Share | None = None) -> dict[FeedKey, FeedState]:
    """The cells of a stream in a snapshot; those of a `share` alone, if one is given."""
    return {
        described_key(about): FeedState.from_tables(len(about["keys"]), _tables(snapshot, about, share))
        for about in described_feeds(snapshot, stream)
    }


def _tables(snapshot: Snapshot, about: Mapping[str, Any], share: Share | None) -> Iterator[pa.Table]:
    stream, feed, buckets = about["stream"], about["feed"], about["buckets"]
    if not buckets:
        names = [table_name(stream, feed)]
    elif share is not None and share.buckets == buckets:
        names, share = [table_name(stream, feed, share.bucket)], None
    else:
        names = [table_name(stream, feed, bucket) for bucket in range(buckets)]
    for name in names:
        table = snapshot.table(name)
        yield table if share is None else _mine(table, described_key(about), share)


def _mine(table: pa.Table, key: FeedKey, share: Share) -> pa.Table:
    keys = [whole(table.column(f"k{place}")) for place in range(len(key[1]))]
    return table.take(pa.array(np.flatnonzero(share.holds(key, keys, table.num_rows))))
