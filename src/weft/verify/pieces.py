"""Time cut into pieces, so that as of each only the rows are looked at that are there.

rows     | || |  |  || | ||  |   |  | || |
pieces   [       )[       )[        )[   )      about as much to be looked at in each
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from weft.times import Duration, Instant

MOST = 1_000_000  # rows, counted once for each instant that they are there as of

Ints = npt.NDArray[np.int64]


def pieces(
    times: Ints, reach: Duration | None, slide: Duration | None, span: tuple[Instant, Instant]
) -> list[tuple[Instant, Instant]]:
    """`span` in pieces; `times`: when rows come, each of which is there for `reach` (None: for ever)."""
    first, last = span
    times = np.sort(times)
    gone = np.zeros(len(times), np.int64) if reach is None else np.searchsorted(times, times - reach)
    there = np.arange(1, len(times) + 1) - gone
    looked = np.cumsum(2 * there if slide is None else there * _slides(times, reach, slide))
    begins = times[np.flatnonzero(np.diff(looked // MOST, prepend=0))]
    cuts = sorted({int(at) for at in begins if first < at < last})
    return list(zip([first, *cuts], [*cuts, last], strict=True))


def _slides(times: Ints, reach: Duration | None, slide: Duration) -> Ints:
    """How often windows are answered before the next row comes, or none is left."""
    gaps = np.diff(times, append=times[-1:])
    gaps = gaps if reach is None else np.minimum(gaps, reach)
    return 1 + gaps // slide
