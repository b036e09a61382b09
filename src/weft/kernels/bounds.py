"""Windows as ranges of positions, and whether they follow a beat."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from weft.kernels.combine import Column, Ints


class Bounds:
    """The windows [lo, hi), in any order. What is found out about them is found out once."""

    def __init__(self, lo: Ints, hi: Ints) -> None:
        self.lo, self.hi = lo, hi

    def __len__(self) -> int:
        return len(self.lo)

    @property
    def nbytes(self) -> int:
        return int(self.lo.nbytes + self.hi.nbytes)

    @cached_property
    def length(self) -> int | None:
        """How many positions each of them has, if that is the same for all."""
        length = int(self.hi[-1] - self.lo[-1])
        return length if bool((self.hi - self.lo == length).all()) else None

    @cached_property
    def together(self) -> int:
        """How many of them, one after the other, begin with the first."""
        others = np.flatnonzero(self.lo != self.lo[0])
        return int(others[0]) if len(others) else len(self)

    @cached_property
    def begun(self) -> Bounds:
        """Those."""
        return Bounds(self.lo[: self.together], self.hi[: self.together])

    @cached_property
    def later(self) -> Bounds:
        """The others."""
        return Bounds(self.lo[self.together :], self.hi[self.together :])

    @cached_property
    def lo_step(self) -> int | None:
        """How far apart they begin, if at even distances."""
        return step_of(self.lo)

    @cached_property
    def hi_step(self) -> int | None:
        """How far apart they end, if at even distances."""
        return step_of(self.hi)

    def at_lo(self, array: Column) -> Column:
        """What an array by position has where they begin; a view if possible."""
        return _rows(array, self.lo, self.lo_step)

    def at_hi(self, array: Column) -> Column:
        """The same where they end."""
        return _rows(array, self.hi, self.hi_step)


def step_of(places: Ints) -> int | None:
    """How far apart the places are, if at even distances."""
    if len(places) < 2:
        return None
    step, count = int(places[1] - places[0]), len(places) - 1
    if step < 1 or int(places[-1] - places[0]) != step * count:
        return None
    return step if bool((np.diff(places) == step).all()) else None


def _rows(array: Column, places: Ints, step: int | None) -> Column:
    if step is not None:
        view: Column = array[places[0] : places[-1] + 1 : step]
        return view
    return array.take(places, axis=0) if array.flags.c_contiguous else array[places]
