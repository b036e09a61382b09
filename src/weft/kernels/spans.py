"""Partials of all runs of 1, 2, 4, ... positions, wherever they begin: for windows that follow a beat.

positions   0 1 2 3 4 5 6 7
level 1     [ ]                  a run at every position, where base intervals have one at every second
              [ ]
                [ ] ...
level 2     [     ]
              [     ] ...

Windows of one length n at even distances are then put together from views of these arrays, one for each bit
of n (two overlapping ones where combining a value with itself changes nothing), without looking up a place.
That takes log n times the memory of the values, so it is done only for what is asked for again and again.
"""

from __future__ import annotations

import weakref

from weft.kernels.bounds import Bounds
from weft.kernels.combine import Arrays, Kind, assign, room

MOST_BYTES = 512 << 20  # of all runs in this process
WORTH = 1  # position: what its runs take, a window made of blocks takes (measured: 0.5 to 1.6)

_everyone: weakref.WeakSet[Spans] = weakref.WeakSet()


class Spans:
    """The runs of one kind, made component by component when they are worth it."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.clear()
        _everyone.add(self)

    def clear(self) -> None:
        """Positions, components or groups have moved."""
        self._levels: dict[int, list[Arrays]] = {}  # by component; level 0 is the values themselves
        self._clean: dict[int, int] = {}  # by component: up to where its runs are right
        self._asked: dict[int, int] = {}  # by component: windows since they were last made or extended
        self._size = 0

    def touch(self, first: int) -> None:
        """The values from position `first` on have changed."""
        for comp, clean in self._clean.items():
            self._clean[comp] = min(clean, first)
            self._asked[comp] = 0

    def try_ranges(self, values: Arrays, size: int, comp: int, bounds: Bounds, out: Arrays) -> bool:
        """Put the windows of a component into `out`, if that is the cheaper way; false if not.

        `values` are those of the component [position, ...], of which `size` are in use.
        """
        length, step = bounds.length, bounds.lo_step
        if step is None or length is None or length < 2:
            return False
        if not self._is_worth(values, size, comp, len(bounds), length):
            return False
        self._refresh(values, size, comp, length.bit_length() - 1)
        self._put_together(comp, int(bounds.lo[0]), step, length, out)
        return True

    def _is_worth(self, values: Arrays, size: int, comp: int, windows: int, length: int) -> bool:
        """Whether as much has been asked for as making the runs costs; so at worst it costs twice as much."""
        asked = self._asked[comp] = self._asked.get(comp, 0) + windows
        if comp in self._levels:
            return WORTH * asked >= size - self._clean[comp]
        if WORTH * asked < size:
            return False
        needed = _nbytes(values, size) * length.bit_length()
        return needed + sum(spans.nbytes for spans in _everyone) <= MOST_BYTES

    @property
    def nbytes(self) -> int:
        """What the runs take."""
        return sum(_nbytes(level, self._size) for levels in self._levels.values() for level in levels[1:])

    def _refresh(self, values: Arrays, size: int, comp: int, top: int) -> None:
        """Make the runs of a component up to level `top` right for all positions in use."""
        levels = self._levels.get(comp)
        if levels is None or levels[0][0].shape != values[0].shape:
            levels, self._clean[comp] = [values], size
        levels[0] = values
        changed = self._clean[comp]
        for level in range(1, len(levels) if changed < size else 1):
            self._extend(levels[level - 1], levels[level], 1 << (level - 1), changed, size)
        while len(levels) <= top:
            made = tuple(room(array.shape, array.dtype) for array in values)
            self._extend(levels[-1], made, 1 << (len(levels) - 1), 0, size)
            levels.append(made)
        self._levels[comp], self._clean[comp], self._size = levels, size, size

    def _extend(self, below: Arrays, above: Arrays, half: int, changed: int, size: int) -> None:
        """Runs of `2 * half` positions from runs of `half`, for those that hold a changed position."""
        first, last = max(0, changed - 2 * half + 1), size - 2 * half + 1
        if first < last:
            left = tuple(array[first:last] for array in below)
            right = tuple(array[first + half : last + half] for array in below)
            for array, part in zip(above, self.kind.combine(left, right)):
                array[first:last] = part

    def _put_together(self, comp: int, first: int, step: int, length: int, out: Arrays) -> None:
        parts = []
        for level, offset in _pieces(length, self.kind.idempotent):
            at = first + offset
            stop = at + step * (len(out[0]) - 1) + 1
            parts.append(tuple(array[at:stop:step] for array in self._levels[comp][level]))
        total = parts[0]
        for part in parts[1:]:
            total = _combined(self.kind, total, part, out)
        if total is not out:
            assign(out, total)


def _nbytes(arrays: Arrays, size: int) -> int:
    return sum(int(array[:size].nbytes) for array in arrays)


def _pieces(length: int, idempotent: bool) -> list[tuple[int, int]]:
    """Runs (level, offset) that cover a window of this length; they overlap only if that is harmless."""
    top = length.bit_length() - 1
    if idempotent:
        return [(top, 0), (top, length - (1 << top))][: 1 if length == 1 << top else 2]
    pieces, offset = [], 0
    for level in range(top, -1, -1):
        if length >> level & 1:
            pieces.append((level, offset))
            offset += 1 << level
    return pieces


def _combined(kind: Kind, left: Arrays, right: Arrays, out: Arrays) -> Arrays:
    """Both in `out`, without a copy on the way where that is possible."""
    if kind.ufunc is not None:
        kind.ufunc(left[0], right[0], out=out[0])
    else:
        assign(out, kind.combine(left, right))
    return out
