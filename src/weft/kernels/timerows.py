"""Times of windows by row, where every window has a row for each group: as views of one array for each beat.

    every 5 s, two groups     00 00 05 05 10 10 15 15 20 20
    ends of some windows               [10 10 15 15 20 20]
    their starts, 10 s before [00 00 05 05 10 10]

Queries that slide alike so have the bounds of all their windows in common, however long their ranges are: the
array is made once, and written once.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.kernels.arrow import TIME, array_of
from weft.kernels.bounds import step_of
from weft.kernels.combine import Ints

_MOST_ROWS = 1 << 22  # of an array that is kept for others

_Beat = tuple[int, int, int]  # step, phase, groups


class TimeRows:
    """Kept for as long as the windows asked for are those of one step."""

    def __init__(self) -> None:
        self._made: dict[_Beat, tuple[int, pa.Array]] = {}  # the first time, and the rows from there on

    def clear(self) -> None:
        self._made.clear()

    def rows(self, times: Ints, groups: int) -> pa.Array:
        """Each time, in ascending order, for so many rows."""
        step = step_of(times)
        if step is None:
            return array_of(np.repeat(times, groups), type=TIME)
        first, last = int(times[0]), int(times[-1])
        start, array = self._provide((step, first % step, groups), first, last)
        return array.slice((first - start) // step * groups, len(times) * groups)

    def _provide(self, beat: _Beat, first: int, last: int) -> tuple[int, pa.Array]:
        """Rows from a time at or before `first` to one at or after `last`."""
        step, _, groups = beat
        known = self._made.get(beat)
        if known is not None:
            start, array = known
            stop = start + (len(array) // groups - 1) * step
            if start <= first and last <= stop:
                return known
            # Windows of other ranges begin earlier and earlier: so make more of them than are asked for.
            first, last = min(start, first - (stop - start)), max(stop, last)
        made = first, array_of(np.repeat(np.arange(first, last + 1, step), groups), type=TIME)
        if len(made[1]) <= _MOST_ROWS:
            self._made[beat] = made
        return made
