"""The number of the interval that each value falls into: how many cuts of its column hold for it.

cuts         >= 10     > 10      >= 20         a cut that holds from some value on
intervals  0     |  1    |   2     |   3       10 falls into 1, NaN and whatever else is greatest into 3
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from weft.kernels.values import Data

Numbers = npt.NDArray[np.int64]


def numbered(values: Data, from_: Data, beyond: Data) -> Numbers:
    """For each value how many of `from_` it has reached and of `beyond` it has passed; both ascend."""
    number = np.zeros(len(values), np.int64)
    if len(from_):
        number += np.searchsorted(from_, values, side="right")
    if len(beyond):
        number += np.searchsorted(beyond, values, side="left")
    return number


def numbered_texts(values: pa.Array, from_: pa.Array, beyond: pa.Array) -> Numbers:
    """The same for texts, which order by their UTF-8 bytes; anything where they are null."""
    return _reached(values, from_, pc.greater_equal) + _reached(values, beyond, pc.greater)


def _reached(values: pa.Array, cuts: pa.Array, holds: Callable[..., pa.Array]) -> Numbers:
    """Before which cut each value stands: halving, all of them at once."""
    low, high = np.zeros(len(values), np.int64), np.full(len(values), len(cuts))
    while len(open := np.flatnonzero(low < high)):
        middle = (low[open] + high[open]) // 2
        held = holds(values.take(pa.array(open)), cuts.take(pa.array(middle)))
        further = held.fill_null(False).to_numpy(zero_copy_only=False)
        low[open[further]] = middle[further] + 1
        high[open[~further]] = middle[~further]
    return low
