"""Base intervals: partials of all aligned blocks of 1, 2, 4, ... positions, for what cannot be subtracted.

B-INT of Arasu and Widom, "Resource Sharing in Continuous Sliding-Window Aggregates" (VLDB 2004). Departures:
positions are slices; a late value recomputes the blocks from its position on; levels are plain arrays that
grow, and the oldest positions are dropped by the half.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from weft.kernels.bounds import Bounds
from weft.kernels.combine import Arrays, Ints, Kind, assign, enlarged, more_groups, more_positions, room
from weft.kernels.running import Running
from weft.kernels.spans import Spans


class Dyadic:
    """Components by position, and by group in a third axis where there is one (`trail`).

    positions   0 1 2 3 4 5 6 7
    level 1     [ ] [ ] [ ] [ ]
    level 2     [     ] [     ]
    window        [ . . . . )  1..6    = 1, [2 3], [4 5]
    """

    def __init__(self, kind: Kind, trail: tuple[int, ...] = ()) -> None:
        self.kind = kind
        self.levels: list[Arrays] = [kind.empty((0, 0, *trail))]
        self.size = 0
        self.clean = 0  # positions whose blocks are up to date
        self.blank = 0  # positions from here on hold nothing
        self._spans, self._running = Spans(kind), Running(kind)

    @property
    def nbytes(self) -> int:
        used = [array[:, : self.size >> at] for at, level in enumerate(self.levels) for array in level]
        return sum(int(array.nbytes) for array in used) + self._spans.nbytes + self._running.nbytes

    @property
    def width(self) -> int:
        return len(self.levels[0][0])

    def widen(self, width: int) -> None:
        """At least so many components; in the new ones nothing is present."""
        if width > self.width:
            self._reshape(lambda shape: (width, *shape[1:]))

    def widen_groups(self, groups: int) -> None:
        spare = more_groups(groups, self.levels[0][0].shape[2])
        if spare > self.levels[0][0].shape[2]:
            self._reshape(lambda shape: (*shape[:2], spare))

    def append(self, count: int) -> None:
        """So many positions more, holding nothing."""
        shape = self.levels[0][0].shape
        capacity = more_positions(self.size + count, shape[1])
        if capacity > shape[1]:
            self.levels[0] = self._enlarge(self.levels[0], (shape[0], capacity, *shape[2:]), self.size)
        for array, identity in zip(self.levels[0], self.kind.identity):
            array[:, self.size : self.size + count] = identity
        self.size += count

    def insert(self, places: Ints) -> None:
        """New positions holding nothing; `places` are their final positions, ascending."""
        first = int(places[0])
        self.append(len(places))
        after = np.arange(first, self.size)
        old = after - np.searchsorted(places, after)
        for array, identity in zip(self.levels[0], self.kind.identity):
            array[:, first : self.size] = array[:, np.minimum(old, self.size - len(places) - 1)]
            array[:, places] = identity
        self.clean = min(self.clean, first)
        self.blank = self.size
        self._touch(first)

    def put(self, rows: Ints, groups: Ints, comps: Ints, arrays: Arrays) -> None:
        """Combine `arrays` [component, cell] into the cells (row, group); no cell twice."""
        at = (comps[:, None], rows, groups)
        first = int(rows.min())
        if first < self.blank:
            with np.errstate(invalid="ignore", over="ignore"):
                arrays = self.kind.combine(tuple(array[at] for array in self.levels[0]), arrays)
        for array, part in zip(self.levels[0], arrays):
            array[at] = part
        self.clean = min(self.clean, first)
        self.blank = max(self.blank, int(rows.max()) + 1)
        self._touch(first)

    def load(self, arrays: Arrays) -> None:
        """Begin anew from the values [component, position, ...]."""
        self.levels = [arrays]
        self.size = self.blank = arrays[0].shape[1]
        self.clean = 0
        self._clear()

    def base(self, first: int = 0) -> Arrays:
        """The values themselves, from position `first` on."""
        return tuple(array[:, first : self.size] for array in self.levels[0])

    def drop(self, count: int) -> None:
        """Forget the first positions."""
        for array in self.levels[0]:
            array[:, : self.size - count] = array[:, count : self.size]
        self.size -= count
        self.blank = self.size
        self.clean = 0
        self._clear()

    def keep(self, comps: Ints) -> None:
        self._clear()
        self.levels = [tuple(array[comps] for array in level) for level in self.levels]

    def keep_groups(self, groups: Ints) -> None:
        self.load(tuple(array.take(groups, axis=2) for array in self.base()))

    def __getstate__(self) -> dict[str, Any]:
        """The values alone, without spare room and in one piece: all else is made of them."""
        values = tuple(np.ascontiguousarray(array) for array in self.base())
        return {"kind": self.kind, "levels": [values], "size": self.size, "clean": 0, "blank": self.blank}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._spans, self._running = Spans(self.kind), Running(self.kind)

    def ranges(self, bounds: Bounds, comps: Ints, groups: int | None = None) -> Arrays:
        """The windows combined: [component, window, ...]."""
        self._refresh()
        trail = self.levels[0][0].shape[2:] if groups is None else (groups,)
        out = tuple(np.empty((len(comps), len(bounds), *trail), dtype) for dtype in self.kind.dtypes)
        cut = ... if groups is None else (..., slice(groups))
        with np.errstate(invalid="ignore", over="ignore"):
            if len(bounds) <= 4 * len(comps) + 4:
                self._few(bounds, comps, out, cut)
            else:
                for place, comp in enumerate(comps.tolist()):
                    self._one(comp, bounds, tuple(array[place] for array in out), cut)
        return out

    def _touch(self, first: int) -> None:
        """The values from position `first` on have changed."""
        self._spans.touch(first)
        self._running.touch(first)

    def _clear(self) -> None:
        """Positions, components or groups have moved."""
        self._spans.clear()
        self._running.clear()

    def _one(self, comp: int, bounds: Bounds, out: Arrays, cut: Any) -> None:
        """All windows of one component."""
        values = tuple(array[comp][cut] for array in self.levels[0])
        size, together, left = self.size, bounds.together, []
        if together > 1:
            into = tuple(array[:together] for array in out)
            if not self._running.try_ranges(values, size, comp, bounds.begun, into):
                left.append((bounds.begun, into))
            bounds, out = bounds.later, tuple(array[together:] for array in out)
        if len(bounds) and not self._spans.try_ranges(values, size, comp, bounds, out):
            left.append((bounds, out))
        levels = [tuple(array[comp][cut] for array in level) for level in self.levels] if left else []
        for rest, into in left:
            self._many(levels, rest.lo, rest.hi, into)

    def _few(self, bounds: Bounds, comps: Ints, out: Arrays, cut: Any) -> None:
        """Window by window, all components together."""
        combine, ufunc = self.kind.combine, self.kind.ufunc
        assign(out, self.kind.identity)
        for window, (first, last) in enumerate(zip(bounds.lo.tolist(), bounds.hi.tolist())):
            total = tuple(array[:, window] for array in out)
            for level, block in _pieces(first, last):
                if ufunc is not None:
                    ufunc(total[0], self.levels[level][0][:, block][cut][comps], out=total[0])
                else:
                    part = tuple(array[:, block][cut][comps] for array in self.levels[level])
                    assign(total, combine(total, part))

    def _many(self, levels: list[Arrays], lo: Ints, hi: Ints, out: Arrays) -> None:
        """Level by level, all windows together: the odd block at either end is taken, the rest goes up."""
        assign(out, self.kind.identity)
        for level in levels:
            self._take(level, np.flatnonzero((lo & 1 == 1) & (lo < hi)), lo, out)
            lo = (lo + 1) >> 1
            self._take(level, np.flatnonzero((hi & 1 == 1) & (lo << 1 < hi)), hi - 1, out)
            hi = hi >> 1
            if not bool((lo < hi).any()):
                return

    def _take(self, level: Arrays, windows: Ints, blocks: Ints, out: Arrays) -> None:
        if windows.size:
            wanted = blocks[windows]
            part = tuple(array[wanted] for array in level)
            _scatter(out, windows, self.kind.combine(tuple(array[windows] for array in out), part))

    def _refresh(self) -> None:
        """Recompute the blocks that hold a changed position."""
        if self.clean == self.size:
            return
        level = 1
        with np.errstate(invalid="ignore", over="ignore"):
            while (first := self.clean >> level) < (blocks := self.size >> level):
                below = self.levels[level - 1]
                part = self.kind.combine(
                    tuple(array[:, 2 * first : 2 * blocks : 2] for array in below),
                    tuple(array[:, 2 * first + 1 : 2 * blocks : 2] for array in below),
                )
                self._provide(level, blocks)
                for array, new in zip(self.levels[level], part):
                    array[:, first:blocks] = new
                level += 1
        self.clean = self.size

    def _provide(self, level: int, blocks: int) -> None:
        shape = self.levels[0][0].shape
        wanted = (shape[0], max(blocks, shape[1] >> level), *shape[2:])
        if level == len(self.levels):
            self.levels.append(tuple(room(wanted, dtype) for dtype in self.kind.dtypes))
        elif self.levels[level][0].shape[1] < blocks:
            self.levels[level] = self._enlarge(self.levels[level], wanted, self.levels[level][0].shape[1])

    def _enlarge(self, arrays: Arrays, shape: tuple[int, ...], used: int) -> Arrays:
        return tuple(enlarged(array, shape, fill, used) for array, fill in zip(arrays, self.kind.identity))

    def _reshape(self, shape: Callable[[tuple[int, ...]], tuple[int, ...]]) -> None:
        """All levels in larger arrays: `shape` says how large, the number of positions stays."""
        self._clear()
        self.levels = [
            self._enlarge(arrays, shape(arrays[0].shape), min(self.size >> level, arrays[0].shape[1]))
            for level, arrays in enumerate(self.levels)
        ]


@lru_cache(maxsize=8192)
def _pieces(lo: int, hi: int) -> tuple[tuple[int, int], ...]:
    """The fewest aligned blocks (level, index) that make up [lo, hi)."""
    pieces = []
    level = 0
    while lo < hi:
        if lo & 1:
            pieces.append((level, lo))
            lo += 1
        if hi & 1 and lo < hi:
            hi -= 1
            pieces.append((level, hi))
        lo >>= 1
        hi >>= 1
        level += 1
    return tuple(pieces)


def _scatter(target: Arrays, places: Ints, parts: Arrays) -> None:
    for array, part in zip(target, parts):
        array[places] = part
