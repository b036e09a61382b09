"""Which windows of a query are due, given how far its stream has come.

answered upto     W = 10:00:07               now  W' = 10:00:13
ends, slide 5 s      10:00:05 | 10:00:10 | 10:00:15
                                due
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from weft.share.slicing import Pair
from weft.times import BEGINNING, Duration, Instant

Times = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a stream's windows are answered: all that end by `watermark`, and all that start by `drained`.

    A drain answers every window that holds a row, however far beyond the watermark it ends.
    """

    watermark: Instant = BEGINNING
    drained: Instant = BEGINNING

    def upto(self, range_: Duration) -> Instant:
        """The greatest end of an answered window of this range."""
        return max(self.watermark, self.drained + range_ if self.drained > BEGINNING else BEGINNING)


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows `[starts[i], ends[i])`, in order."""

    starts: Times
    ends: Times

    def __len__(self) -> int:
        return len(self.ends)


def due(
    slices: Times,
    range_: Duration,
    slide: Duration,
    offset: Duration,
    after: Instant,
    upto: Instant,
    floor: Instant = BEGINNING,
    every_from: Instant | None = None,
    gap: Duration | None = None,
) -> Windows:
    """The windows with `after < end <= upto` and `start > floor` that hold one of the sorted `slices`.

    `every_from` asks for those as well that hold none, of all that end after that time. `gap`: the slices are
    known to lie no further apart; so a window that is as long holds one, wherever it lies between them.
    """
    if upto == BEGINNING:
        return Windows(np.empty(0, np.int64), np.empty(0, np.int64))
    low = max(after, floor + range_ if floor > BEGINNING else BEGINNING)
    last_end = _end_at_or_before(upto, slide, offset)
    if every_from is not None:
        first = np.array([_end_after(max(low, every_from), slide, offset)])
        last = np.array([last_end])
    elif gap is not None and gap <= range_ and len(slices):
        first, _ = _ends_of_slices(slices[:1], range_, slide, offset)
        _, last = _ends_of_slices(slices[-1:], range_, slide, offset)
    else:
        first, last = _ends_of_slices(slices, range_, slide, offset)
    if low > BEGINNING:
        first = np.maximum(first, _end_after(low, slide, offset))
    last = np.minimum(last, last_end)
    some = first <= last
    first, last = first[some], last[some]
    ends = _merge_ranges(first, last, slide)
    return Windows(ends - range_, ends)


def widest_gap(slices: Times) -> Duration:
    """How far apart neighbours among the sorted `slices` lie at most."""
    return int(np.diff(slices).max()) if len(slices) > 1 else 0


def _ends_of_slices(
    slices: Times, range_: Duration, slide: Duration, offset: Duration
) -> tuple[Times, Times]:
    """For each slice the first and the last window end whose window holds it (first > last: none)."""
    first = slices - (slices - offset) % slide + slide
    beyond = slices + range_
    return first, beyond - (beyond - offset) % slide


def _end_after(at: Instant, slide: Duration, offset: Duration) -> Instant:
    return at - (at - offset) % slide + slide


def _end_at_or_before(at: Instant, slide: Duration, offset: Duration) -> Instant:
    return at - (at - offset) % slide


def _merge_ranges(first: Times, last: Times, slide: Duration) -> Times:
    """The distinct ends in the union of `[first[i], last[i]]`, both of which ascend with i."""
    if len(first) <= 1:
        return np.arange(first[0], last[0] + 1, slide) if len(first) else np.empty(0, np.int64)
    fresh = np.maximum(first, np.concatenate(([first[0]], np.maximum.accumulate(last)[:-1] + slide)))
    counts = np.maximum((last - fresh) // slide + 1, 0)
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    ends: Times = np.repeat(fresh, counts) + offsets * slide
    return ends


def floored(slices: Times, pairs: Iterable[Pair]) -> Times:
    """For each slice the last edge at or before it."""
    if not len(slices):
        return slices
    low, high = int(slices.min()), int(slices.max())
    found = [np.arange(low - (low - phase) % slide, high + 1, slide) for slide, phase in pairs]
    edges = np.unique(np.concatenate(found))
    return edges[edges.searchsorted(slices, "right") - 1]


def late_slices(
    slices: Times,
    range_: Duration,
    slide: Duration,
    offset: Duration,
    upto: Instant,
    floor: Instant = BEGINNING,
) -> npt.NDArray[np.bool_]:
    """For each slice: does an answered window hold it, so that its rows came too late for that one?

    Only windows with `start > floor` are: those before a query was there were nobody's to answer.
    """
    first, last = _ends_of_slices(slices, range_, slide, offset)
    if floor > BEGINNING:
        first = np.maximum(first, _end_after(floor + range_, slide, offset))
    return (first <= last) & (first <= upto)


def needed_from(range_: Duration, slide: Duration, offset: Duration, upto: Instant) -> Instant:
    """The start of the first window not yet answered: no later window needs an older row."""
    return BEGINNING if upto == BEGINNING else _end_after(upto, slide, offset) - range_
