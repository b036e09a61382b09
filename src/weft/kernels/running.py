"""Partials of everything from one position on: for windows that reach back to before the first slice.

positions        0 1 2 3 4 5
up to 2         [    )
up to 3         [      )            each made of the one before and one value
up to 4         [        ) ...

Until a stream is as old as its longest window, that is how most of its windows begin.
"""

from __future__ import annotations

from weft.kernels.bounds import Bounds
from weft.kernels.combine import Arrays, Column, Kind, room

WORTH = 10  # positions: what they take here, a window made of blocks takes (measured: 8 to 16)


class Running:
    """The partials of one kind, made component by component when they are worth it."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.clear()

    def clear(self) -> None:
        """Positions, components or groups have moved."""
        self._origin = 0  # where all of them begin
        self._size = 0
        self._made: dict[int, Column] = {}  # by component, by where they end
        self._clean: dict[int, int] = {}  # by component: up to which end they are right
        self._asked: dict[int, int] = {}  # by component: windows since something changed

    def touch(self, first: int) -> None:
        """The values from position `first` on have changed."""
        self._clean = {comp: min(clean, first) for comp, clean in self._clean.items()}
        self._asked.clear()

    @property
    def nbytes(self) -> int:
        return sum(int(made[self._origin : self._size + 1].nbytes) for made in self._made.values())

    def try_ranges(self, values: Arrays, size: int, comp: int, bounds: Bounds, out: Arrays) -> bool:
        """Put windows that begin together into `out`, if that is the cheaper way; false if not.

        `values` are those of the component [position, ...], of which `size` are in use.
        """
        origin = int(bounds.lo[0])
        if self.kind.ufunc is None or int(bounds.hi.min()) <= origin:
            return False
        if origin != self._origin:
            self.clear()
            self._origin = origin
        asked = self._asked[comp] = self._asked.get(comp, 0) + len(bounds)
        if WORTH * asked < size - max(origin, self._clean.get(comp, 0)):
            return False
        out[0][...] = bounds.at_hi(self._refreshed(values[0], size, comp))
        return True

    def _refreshed(self, values: Column, size: int, comp: int) -> Column:
        assert self.kind.ufunc is not None
        made, first = self._made.get(comp), max(self._origin, self._clean.get(comp, 0))
        if made is None or made.shape[0] <= size or made.shape[1:] != values.shape[1:]:
            made, first = room((len(values) + 1, *values.shape[1:]), values.dtype), self._origin
        if first < size:
            new = made[first + 1 : size + 1]
            self.kind.ufunc.accumulate(values[first:size], axis=0, out=new)
            if first > self._origin:
                self.kind.ufunc(new, made[first], out=new)
        self._made[comp], self._clean[comp], self._size = made, size, size
        return made
