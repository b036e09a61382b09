"""How many different values there are, by the least of their hashes.

Hashes lie evenly on their range. If the k-th least of them, each taken once, lies at a part p of the range,
there are about k / p values; where there are less than k, their number is exact. Sketches of parts of the
values are put together to that of all. Standard error 1 / sqrt(k), 2 % (Bar-Yossef et al., "Counting distinct
elements in a data stream", RANDOM 2002).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.kernels.hashing import hash_keys
from weft.kernels.plain import Words

KEPT = 2048  # k
_RANGE = 2.0**64


def least_hashes(values: pa.Array) -> Words:
    """The sketch of some values; nulls are none."""
    there = values.drop_null()
    return _least(hash_keys([there], len(there)))


def together(sketches: Sequence[Words]) -> Words:
    """The sketch of all values."""
    return _least(np.concatenate(sketches))


def count_of(sketch: Words) -> float:
    """About how many values there are."""
    if len(sketch) < KEPT:
        return float(len(sketch))
    return (KEPT - 1) * _RANGE / float(sketch[-1])


def _least(hashes: Words) -> Words:
    found: Words = np.unique(hashes)[:KEPT]
    return found
