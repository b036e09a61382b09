"""Signatures: which of some conditions hold of a row, one bit each.

bit        1           0
condition  qty > 5     venue <> 'X'
row        true        null             -> 2: what is null does not hold
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Signatures = npt.NDArray[np.int64]


def signatures(held: Sequence[Bools], rows: int) -> Signatures:
    """Of each row, with bit n set where the n-th condition holds."""
    found = np.zeros(rows, np.int64)
    for bit, holds in enumerate(held):
        found |= holds.astype(np.int64) << bit
    return found


def has_all(found: Signatures, mask: int) -> Bools:
    """Which signatures have all bits of a mask."""
    held: Bools = (found & mask) == mask
    return held


def covers(found: Signatures, masks: Iterable[int]) -> Bools:
    """Which signatures have all bits of at least one of the masks."""
    held = np.zeros(len(found), bool)
    for mask in masks:
        held |= has_all(found, mask)
    return held
