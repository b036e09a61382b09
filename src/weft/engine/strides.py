"""When the next step is due: at once where answers are awaited, in longer strides while catching up.

    live            batch step  batch step  batch step         an answer comes with the batch that closes it
    catching up     batch batch batch step  batch batch ...    it is late by far more than that anyway

A step costs something for every query, however few cells it folds: with a thousand queries five batches
folded one by one cost more than twice what they cost together. Where cells are many that does not matter, but
the memory they wait in does.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping

from weft.times import BEGINNING, SECOND, Instant

STRIDE = 8  # times the shortest of the last steps, which so take an eighth of the time at most
LONGEST = 5.0  # seconds from the beginning of a step to that of the next, if it is waited for at all
ENOUGH = 250_000  # cells of batches not yet folded: more than this do not wait, whatever a step costs
RECENT = 16  # steps
SPAN = 5.0  # seconds over which event time is compared with the clock
FAST = 2  # times as fast as the clock: no source that is read as its rows come about keeps that up


class Strides:
    """Knows how long steps take, and whether the streams are catching up.

    `once`: there is nothing but what is there already, so they are from the first batch on; what a step costs
    is not known then, and may be much. Otherwise event time tells: where rows of hours pass within minutes,
    they are rows of the past.
    """

    def __init__(self, once: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._once, self._clock = once, clock
        self._fast = False
        self._seen: dict[str, Instant] = {}
        self._looked = clock()
        self._began = clock() if once else float("-inf")
        self._seconds: deque[float] = deque(maxlen=RECENT)

    def due(self, latest: Mapping[str, Instant], waiting: int) -> bool:
        """Is it time for a step?

        `latest` is the greatest event time of each stream so far, `waiting` the cells not yet folded.
        """
        now = self._clock()
        self._look(now, latest)
        is_live = not (self._once or self._fast)
        return is_live or waiting >= ENOUGH or now - self._began >= self._stride()

    def stepped(self, seconds: float) -> None:
        """A step has just been done, and took so long."""
        self._began = self._clock() - seconds
        self._seconds.append(seconds)

    def _look(self, now: float, latest: Mapping[str, Instant]) -> None:
        passed = now - self._looked
        if passed >= SPAN:
            moved = (at - self._seen[name] for name, at in latest.items() if name in self._seen)
            self._fast = any(by > FAST * passed * SECOND for by in moved)
            self._seen = {name: at for name, at in latest.items() if at != BEGINNING}
            self._looked = now

    def _stride(self) -> float:
        return min(STRIDE * min(self._seconds, default=LONGEST), LONGEST)
