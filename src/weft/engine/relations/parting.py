"""Rows of relations apart by bucket: each lies where the hash of its key says.

rows of a batch    A 9:00   B 9:00   C 9:01        by k, in two buckets
bucket 0           A 9:00            C 9:01        all that meets has the same key, so a bucket carries out
bucket 1                    B 9:00                 the relations of its rows alone
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from weft.engine.buckets import Places, Share
from weft.kernels.arrow import whole
from weft.kernels.hashing import hash_keys
from weft.kernels.relations.tables import take

RowsBy = Callable[[tuple[str, ...]], pa.Table]  # the rows of a batch as they lie by these expressions


def all_rows(rows: pa.Table) -> RowsBy:
    """The rows of a batch, where they are not parted."""
    return lambda by: rows


def part(rows: pa.Table, by: Sequence[str], share: Share) -> pa.Table:
    """Those of the rows that lie in a bucket; none if they are from before anyone asked for their key."""
    if not set(by) <= set(rows.column_names):
        return rows.slice(0, 0)
    place = places([rows.column(name) for name in by], rows.num_rows, share.buckets)
    return take(rows, np.flatnonzero(place == share.bucket))


def places(keys: Sequence[pa.ChunkedArray], rows: int, buckets: int) -> Places:
    """The bucket in which each row lies."""
    found: Places = (hash_keys([whole(key) for key in keys], rows) % np.uint64(buckets)).astype(np.int64)
    return found
