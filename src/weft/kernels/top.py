"""The first rows of every window, in the order a query asks for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]


def top(
    window: Ints, order: Sequence[tuple[pa.Array, bool, bool]], ties: Sequence[pa.Array], limit: int
) -> Ints:
    """The places of the first `limit` rows of each window, by window and rank.

    `order` holds (column, descending, nulls first); rows that are alike in it go by `ties`, ascending, nulls
    first, so that the same rows are taken however they came.

        window  1 1 1 2 2     limit 2, by x descending     takes  0 2 | 4 3
        x       9 3 7 1 4
    """
    ranks = [_rank(column, descending, first) for column, descending, first in order]
    ranks += [_rank(column, False, True) for column in ties]
    by_rank = np.lexsort((*reversed(ranks), window))
    ordered = window[by_rank]
    begins = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1)) if len(ordered) else np.empty(0, int)
    place = np.arange(len(ordered)) - np.repeat(begins, np.diff(begins, append=len(ordered)))
    return by_rank[place < limit]


def _rank(column: pa.Array, descending: bool, nulls_first: bool) -> Ints:
    """For each row a number that sorts as the column does: NaN greatest, -0.0 and 0.0 alike."""
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 + 0.0 is 0.0
    codes = column.dictionary_encode()
    values = codes.dictionary
    rank = np.empty(len(values), np.int64)
    rank[_sorted(values)] = np.arange(len(values))
    rank = -rank if descending else rank
    null = codes.indices.is_null().to_numpy(zero_copy_only=False)
    found = np.zeros(len(column), np.int64)
    if len(values):
        found = rank[codes.indices.fill_null(0).to_numpy(zero_copy_only=False)]
    outside = len(values) + 1
    return np.where(null, -outside if nulls_first else outside, found)


def _sorted(values: pa.Array) -> Ints:
    """Places in ascending order; Arrow puts NaN last, as Spark does, and orders strings by their bytes."""
    places: Ints = pc.sort_indices(values).to_numpy().astype(np.int64)
    return places
