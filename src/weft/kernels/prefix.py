"""Running sums of exact integers: any window is one subtraction.

R-INT of Arasu and Widom, "Resource Sharing in Continuous Sliding-Window Aggregates" (VLDB 2004). Departures:
positions are slices and not rows, and a late value is added to every later sum instead of being refused.
Sums wrap around 64 bits; a difference is right whenever the window's own sum fits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.kernels.arrow import all_true
from weft.kernels.bounds import Bounds
from weft.kernels.combine import SUM, Arrays, Column, Ints, Kind, enlarged, more_groups, more_positions

_MANY = 4096  # cells
_AT_ONCE = 1 << 22  # elements of a temporary that is built for all components together


class Prefix:
    """Components by position, and by group in a third axis where there is one (`trail`).

        positions       0   1   2   3
        values          5   0   2   4
        sums        0   5   5   7   11        window [1, 4) = sums[4] - sums[1] = 6

    Positions from `settled` on still hold their values, to be summed when they are first asked for.
    """

    kind: Kind = SUM

    def __init__(self, trail: tuple[int, ...] = ()) -> None:
        self.sums: Column = np.zeros((0, 1, *trail), np.int64)
        self.size = 0
        self.settled = 0

    @property
    def nbytes(self) -> int:
        return int(self.sums[:, : self.size + 1].nbytes)

    @property
    def width(self) -> int:
        return len(self.sums)

    def widen(self, width: int) -> None:
        """At least so many components; the new ones are zero everywhere."""
        if width > self.width:
            self._enlarge((width, *self.sums.shape[1:]))

    def widen_groups(self, groups: int) -> None:
        shape = self.sums.shape
        if groups > shape[2]:
            self._enlarge((*shape[:2], more_groups(groups, shape[2])))

    def append(self, count: int) -> None:
        """So many positions more, holding nothing."""
        shape = self.sums.shape
        capacity = more_positions(self.size + count + 1, shape[1])
        if capacity > shape[1]:
            self._enlarge((shape[0], capacity, *shape[2:]))
        self.sums[:, self.size + 1 : self.size + count + 1] = 0
        self.size += count

    def insert(self, places: Ints) -> None:
        """New positions holding nothing; `places` are their final positions, ascending."""
        self._settle()
        first = int(places[0])
        self.append(len(places))
        after = np.arange(first, self.size + 1)
        old = after - np.searchsorted(places, after)
        self.sums[:, first : self.size + 1] = self.sums[:, old]
        self.settled = self.size

    def put(self, rows: Ints, groups: Ints, comps: Ints, arrays: Arrays) -> None:
        """Add `arrays[0]` [component, cell] at the cells (row, group); no cell twice."""
        (values,) = arrays
        late = rows < self.settled
        if not late.any():
            self._add(rows, groups, comps, values)
            return
        if not all_true(late):
            self._add(rows[~late], groups[~late], comps, values[:, ~late])
        self._add_late(rows[late], groups[late], comps, values[:, late])

    def _add(self, rows: Ints, groups: Ints, comps: Ints, values: Ints) -> None:
        """Add to values that are not summed yet; many by one place for all components, which is faster."""
        if len(rows) < _MANY or not self.sums.flags.c_contiguous:
            self.sums[comps[:, None], rows + 1, groups] += values
            return
        places = (rows + 1) * self.sums.shape[2] + groups
        for comp, more in zip(comps.tolist(), values):
            self.sums[comp].reshape(-1)[places] += more

    def _add_late(self, rows: Ints, groups: Ints, comps: Ints, values: Ints) -> None:
        """Add to sums that are settled: to that of each row, and to all behind it."""
        first, last = int(rows.min()), int(rows.max()) + 1
        trail = self.sums.shape[2:]
        chunk = max(1, _AT_ONCE // max(1, (last - first) * trail[0]))
        for at in range(0, len(comps), chunk):
            some = comps[at : at + chunk]
            delta = np.zeros((len(some), last - first, *trail), np.int64)
            delta[:, rows - first, groups] = values[at : at + chunk]
            np.cumsum(delta, axis=1, out=delta)
            which = _all_or(some, self.width)
            self.sums[which, first + 1 : last + 1] += delta
            if last < self.settled:
                self.sums[which, last + 1 : self.settled + 1] += delta[:, -1:]

    def _settle(self) -> None:
        if self.settled < self.size:
            new = self.sums[:, self.settled : self.size + 1]
            np.cumsum(new, axis=1, out=new)
            self.settled = self.size

    def value(self, comp: int, rows: Ints, groups: Ints) -> Ints:
        """The values of single cells."""
        sums = self.sums[comp]
        values: Ints = sums[rows + 1, groups] - np.where(rows < self.settled, sums[rows, groups], 0)
        return values

    def total(self, comp: int, first: int) -> Ints:
        """The sum from position `first` on."""
        self._settle()
        totals: Ints = self.sums[comp, self.size] - self.sums[comp, first]
        return totals

    def load(self, arrays: Arrays) -> None:
        """Begin anew from the values [component, position, ...]."""
        (values,) = arrays
        self.size = self.settled = values.shape[1]
        self.sums = np.zeros((values.shape[0], self.size + 1, *values.shape[2:]), np.int64)
        np.cumsum(values, axis=1, out=self.sums[:, 1:])

    def base(self, first: int = 0, comps: Ints | None = None) -> Arrays:
        """The values themselves, from position `first` on, of all components or some."""
        self._settle()
        sums = (self.sums if comps is None else self.sums[comps])[:, first : self.size + 1]
        return (sums[:, 1:] - sums[:, :-1],)

    def drop(self, count: int) -> None:
        """Forget the first positions."""
        self._settle()
        self.sums[:, : self.size - count + 1] = self.sums[:, count : self.size + 1]
        self.size -= count
        self.settled = self.size

    def keep(self, comps: Ints) -> None:
        self.sums = self.sums[comps]

    def keep_groups(self, groups: Ints) -> None:
        self.sums = self.sums[:, : self.size + 1].take(groups, axis=2)

    def _enlarge(self, shape: tuple[int, ...]) -> None:
        self.sums = enlarged(self.sums, shape, 0, self.size + 1)

    def __getstate__(self) -> dict[str, Any]:
        """Without spare room, in one piece."""
        return self.__dict__ | {"sums": np.ascontiguousarray(self.sums[:, : self.size + 1])}

    def ranges(self, bounds: Bounds, comps: Ints, groups: int | None = None) -> Arrays:
        """The sums of the windows: [component, window, ...]."""
        self._settle()
        sums = self.sums if groups is None else self.sums[..., :groups]
        if len(bounds) == 1:
            return ((sums[:, bounds.hi[0]][comps] - sums[:, bounds.lo[0]][comps])[:, None],)
        out = np.empty((len(comps), len(bounds), *sums.shape[2:]), np.int64)
        for place, comp in enumerate(comps):
            np.subtract(bounds.at_hi(sums[comp]), bounds.at_lo(sums[comp]), out=out[place])
        return (out,)


def _all_or(comps: Ints, width: int) -> slice | Ints:
    """A slice where all components are meant: in-place work on it makes no copy."""
    whole = len(comps) == width and bool((comps == np.arange(width)).all())
    return slice(None) if whole else comps
