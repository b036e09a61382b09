"""How partials combine: a *kind* says what two partials make together and what adds nothing.

Every aggregate is laid out as one or more *components* of a kind. All kinds are associative and commutative,
so a window may be put together from any disjoint pieces that cover it.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Column = npt.NDArray[Any]
Arrays = tuple[Column, ...]

_MANY = 4096

GREATEST = int(np.iinfo(np.int64).max)  # the code of what is absent; no value is ever coded so
LEAST = int(np.iinfo(np.int64).min)  # the code of a null that takes part, in `val` of MIN_BY and its like


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A way to combine. Each component is a tuple of arrays, one per dtype."""

    name: str
    dtypes: tuple[type[Any], ...]
    identity: tuple[float | int, ...]
    combine: Callable[[Arrays, Arrays], Arrays]
    ufunc: np.ufunc | None = None  # the same as `combine`, where one ufunc does it
    idempotent: bool = False  # a value combined with itself is itself

    def empty(self, shape: tuple[int, ...]) -> Arrays:
        """Arrays of that shape in which nothing is present."""
        return tuple(_filled(shape, dtype, fill) for dtype, fill in zip(self.dtypes, self.identity))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by name: there is one of each, told apart by identity."""
        return kind_named, (self.name,)


def _apply(ufunc: np.ufunc) -> Callable[[Arrays, Arrays], Arrays]:
    return lambda left, right: (ufunc(left[0], right[0]),)


def _merge_moments(left: Arrays, right: Arrays) -> Arrays:
    """Count, mean and sum of squared distances from the mean of two sets together (Chan, Golub, LeVeque)."""
    n_left, mean_left, m2_left = left
    n_right, mean_right, m2_right = right
    n = n_left + n_right
    with np.errstate(invalid="ignore", over="ignore"):
        share = n_right / np.where(n == 0, 1, n)
        delta = mean_right - mean_left
        mean = mean_left + delta * share
        m2 = m2_left + m2_right + delta * delta * n_left * share
    left_only, right_only = n_right == 0, n_left == 0
    # What has no rows must not touch the other side: 0 * infinity is NaN.
    mean = np.where(left_only, mean_left, np.where(right_only, mean_right, mean))
    m2 = np.where(left_only, m2_left, np.where(right_only, m2_right, m2))
    return n, mean, m2


def _lesser_pair(left: Arrays, right: Arrays) -> Arrays:
    """The pair that comes first: by its first part, then by its second."""
    take_left = (left[0] < right[0]) | ((left[0] == right[0]) & (left[1] <= right[1]))
    return np.where(take_left, left[0], right[0]), np.where(take_left, left[1], right[1])


SUM = Kind("sum", (np.int64,), (0,), _apply(np.add), np.add)
# -0.0 + x is x for every x, and a sum is -0.0 only if every term is: with terms made +0.0 it means "no term".
ADD = Kind("add", (np.float64,), (-0.0,), _apply(np.add), np.add)
LEAST_OF = Kind("least", (np.int64,), (GREATEST,), _apply(np.minimum), np.minimum, idempotent=True)
MOMENTS = Kind("moments", (np.float64, np.float64, np.float64), (0.0, 0.0, 0.0), _merge_moments)
PAIR = Kind("pair", (np.int64, np.int64), (GREATEST, GREATEST), _lesser_pair, idempotent=True)

KINDS = (SUM, ADD, LEAST_OF, MOMENTS, PAIR)


def kind_named(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)


def combine_runs(kind: Kind, arrays: Arrays, starts: Ints) -> Arrays:
    """Each run of neighbours on the last axis made one; runs begin at `starts`."""
    if kind.ufunc is not None:
        with np.errstate(invalid="ignore", over="ignore"):
            return (kind.ufunc.reduceat(arrays[0], starts, axis=-1),)
    lengths = np.diff(starts, append=arrays[0].shape[-1])
    while lengths.size and lengths.max() > 1:
        arrays, lengths = _halve_runs(kind, arrays, lengths)
    return arrays


def _halve_runs(kind: Kind, arrays: Arrays, lengths: Ints) -> tuple[Arrays, Ints]:
    """Neighbours at even and odd places of a run combined, so that every run is half as long."""
    starts = np.cumsum(lengths) - lengths
    place = np.arange(arrays[0].shape[-1]) - np.repeat(starts, lengths)
    even = np.flatnonzero(place % 2 == 0)
    paired = place[even] + 1 < np.repeat(lengths, lengths)[even]
    halved = tuple(array[..., even] for array in arrays)
    both = even[paired]
    together = kind.combine(
        tuple(array[..., both] for array in arrays), tuple(array[..., both + 1] for array in arrays)
    )
    for array, part in zip(halved, together):
        array[..., paired] = part
    return halved, (lengths + 1) // 2


def distinct(values: Ints) -> Ints:
    """The distinct values, ascending. Few ones among many are found by Arrow, at a tenth of numpy's price."""
    if len(values) < _MANY:
        return np.unique(values)
    found: Ints = np.sort(pc.unique(pa.array(values)).to_numpy())
    return found


def enlarged(array: Column, shape: tuple[int, ...], fill: float | int, used: int) -> Column:
    """A larger array with the first `used` positions (axis 1) of `array` in its corner, `fill` around them.

    Positions beyond are left unwritten: spare room that is never touched costs no memory.
    """
    out = room(shape, array.dtype)
    old = array.shape
    corner = (slice(old[0]), slice(used), *(slice(length) for length in old[2:]))
    out[corner] = array[:, :used]
    out[old[0] :, :used] = fill
    if len(shape) > 2:
        out[: old[0], :used, old[2] :] = fill
    return out


def assign(target: Arrays, parts: Sequence[Any]) -> None:
    """Put arrays, or one value for each, into others."""
    for array, part in zip(target, parts):
        array[...] = part


def room(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Column:
    """Memory that is taken page by page as it is touched.

    Numpy asks for pages of 2 MB, of which a spare position between two components fills one.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < 1 << 22:
        return np.empty(shape, dtype)
    return np.frombuffer(mmap.mmap(-1, size), dtype).reshape(shape)


def more_positions(needed: int, capacity: int) -> int:
    """A capacity that holds `needed`: four times as much, for spare positions cost nothing and copies do."""
    return capacity if needed <= capacity else max(needed, 4 * capacity, 16)


def more_groups(needed: int, capacity: int) -> int:
    """A capacity that holds `needed`: spare groups are written in every position, so only a quarter more."""
    return capacity if needed <= capacity else max(needed, capacity + capacity // 4, 16)


def _filled(shape: tuple[int, ...], dtype: npt.DTypeLike, fill: float | int) -> Column:
    zero = fill == 0 and not np.signbit(fill)
    return np.zeros(shape, dtype) if zero else np.full(shape, fill, dtype)
