"""Windows -> the edges at which the time line is cut, and how often that is.

Paired windows (Krishnamurthy, Wu, Franklin; taken over by Guirguis): a window only ever starts or ends at two
phases of its slide, so two cuts a slide serve all of its overlapping windows.

    RANGE 8 SLIDE 5, ends at 0, 5, 10, ...; starts at 2, 7, 12, ...
    edges      0  2     5  7     10 12
    slices     [  )[    )[ )[    )[  )
    window           [2 . . . . .  10)      whole slices only

Here ends, not starts, are aligned on the slide; the counts of the literature are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

import numpy as np

from weft.lang.statements import WindowSpec
from weft.share.model.figures import counted
from weft.share.nodes import Edges
from weft.times import SECOND, Duration, show_duration

Pair = tuple[Duration, Duration]  # slide and phase of edges

MOST_PAIRS = 16  # beyond this finding a row's slice costs more: twice as much with 32, four times with 64
FEWER = 2  # explicit edges must halve the number of slices to be worth it


def cut(windows: Iterable[WindowSpec]) -> Edges:
    """Edges that hold every start and every end of every window."""
    return cut_by(distinct_pairs(windows))


def cut_by(pairs: tuple[Pair, ...]) -> Edges:
    """Edges that hold all of these, which are distinct."""
    if not pairs:
        return Edges(SECOND, (), "no windows")
    grain = gcd(*(part for pair in pairs for part in pair))
    even, most = SECOND / grain, most_edges(pairs)
    if most * FEWER > even:
        return Edges(grain, pairs, f"all windows start and end on multiples of {show_duration(grain)}")
    divisor = f"the common divisor {show_duration(grain)}"
    against = f"at most {counted(most)} edges/s, against {counted(even)} with {divisor}"
    if len(pairs) <= MOST_PAIRS:
        return Edges(None, pairs, against)
    return Edges(grain, pairs, against, combined=True)


def distinct_pairs(windows: Iterable[WindowSpec]) -> tuple[Pair, ...]:
    """The (slide, phase) pairs of all starts and ends, without those that lie on another's."""
    phases: dict[Duration, set[Duration]] = {}
    for window in set(windows):
        for slide, phase in pairs_of(window):
            phases.setdefault(slide, set()).add(phase)
    slides = np.array(sorted(phases), np.int64)
    kept: list[Pair] = []
    for at, slide in enumerate(slides.tolist()):
        shorter = slides[:at]
        divisors = shorter[slide % shorter == 0].tolist()
        kept += [
            (slide, phase) for phase in phases[slide] if all(phase % d not in phases[d] for d in divisors)
        ]
    return tuple(sorted(kept))


def pairs_of(window: WindowSpec) -> set[Pair]:
    """Where one window starts and ends: two windows with the same pairs have the same edges."""
    end = window.offset % window.slide
    start = (window.offset - window.range) % window.slide
    if abs(end - start) * 2 == window.slide:  # two phases half a slide apart are one phase of half the slide
        half = window.slide // 2
        return {(half, end % half)}
    return {(window.slide, end), (window.slide, start)}


def most_edges(pairs: Iterable[Pair]) -> float:
    """How many edges a second they have if none is one of two of them."""
    return sum(SECOND / slide for slide, _ in pairs)


def lies_on(pair: Pair, other: Pair) -> bool:
    """Is every edge of the one an edge of the other?"""
    (slide, phase), (wider, at) = pair, other
    return slide % wider == 0 and (phase - at) % wider == 0


def least_overlap(window: WindowSpec) -> int:
    """In how many windows a row stands at least."""
    return window.range // window.slide


def overlap(window: WindowSpec) -> int:
    """In how many windows a row stands at most."""
    return -(-window.range // window.slide)
