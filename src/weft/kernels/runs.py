"""Partials of neighbours in a row, so that any range of them is a few look-ups.

values           a b c d | e f g          | where a stretch ends
running sums     0 a ab abc abcd ...      a range is the difference of two
to the end       abcd bcd cd d | efg fg g
from the begin   a ab abc abcd | e ef efg
runs of 2        ab bc cd de ...          and of 4, 8, ...: a range is one for each bit of its length
"""

from __future__ import annotations

import numpy as np

from weft.kernels.combine import Arrays, Column, Ints, Kind


def running_sums(values: Column) -> Column:
    """The sums of the first 0, 1, 2, ... values. They may overflow; differences that fit are right."""
    sums = np.zeros(len(values) + 1, values.dtype)
    np.cumsum(values, out=sums[1:])
    return sums


def to_end(kind: Kind, arrays: Arrays, stretch: Ints) -> Arrays:
    """From each place to the end of its stretch: what is covered doubles with each step."""
    arrays, step = tuple(array.copy() for array in arrays), 1
    while len(inside := np.flatnonzero(stretch[step:] == stretch[:-step])):
        _put(arrays, inside, _combined(kind, _at(arrays, inside), _at(arrays, inside + step)))
        step *= 2
    return arrays


def from_begin(kind: Kind, arrays: Arrays, stretch: Ints) -> Arrays:
    """From the begin of its stretch to each place."""
    turned = to_end(kind, tuple(array[::-1] for array in arrays), stretch[::-1])
    return tuple(array[::-1] for array in turned)


def all_runs(kind: Kind, arrays: Arrays, longest: int) -> list[Arrays]:
    """All runs of 1, 2, 4, ... neighbours that are no longer than `longest`, wherever they begin."""
    levels, half = [arrays], 1
    while 2 * half <= longest:
        below = levels[-1]
        left, right = tuple(array[:-half] for array in below), tuple(array[half:] for array in below)
        levels.append(_combined(kind, left, right))
        half *= 2
    return levels


def between(kind: Kind, runs: list[Arrays], lo: Ints, hi: Ints) -> Arrays:
    """The ranges [lo, hi), none empty, of the runs that make them up."""
    out, at, length = kind.empty((len(lo),)), lo.copy(), hi - lo
    for level, run in enumerate(runs):
        size = 1 << level
        if kind.idempotent:  # two of the longest that fit; they may overlap
            taken = np.flatnonzero((size <= length) & (length < 2 * size))
            _put(out, taken, _combined(kind, _at(run, lo[taken]), _at(run, hi[taken] - size)))
        else:
            taken = np.flatnonzero(length & size)
            _put(out, taken, _combined(kind, _at(out, taken), _at(run, at[taken])))
            at[taken] += size
    return out


def _combined(kind: Kind, left: Arrays, right: Arrays) -> Arrays:
    with np.errstate(invalid="ignore", over="ignore"):
        return kind.combine(left, right)


def _at(arrays: Arrays, places: Ints) -> Arrays:
    return tuple(array.take(places) for array in arrays)


def _put(arrays: Arrays, places: Ints, parts: Arrays) -> None:
    for array, part in zip(arrays, parts):
        array[places] = part
