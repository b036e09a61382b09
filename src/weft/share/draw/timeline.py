"""The past on a logarithmic axis, now at its right end: windows of seconds and of hours side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import log

from weft.lang.statements import WindowSpec
from weft.share.nodes import Edges
from weft.share.slicing import Pair, pairs_of
from weft.times import DAY, HOUR, MINUTE, SECOND, Duration

CLOSEST = 4.0  # pixels between two ticks
_MARKS = (
    1_000, 10_000, 100_000, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE,
    5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Timeline:
    """Ages from `least` to `most`, drawn from `right` to `left`."""

    left: float
    right: float
    least: Duration
    most: Duration

    def x(self, age: float) -> float:
        if age <= self.least:
            return self.right
        return self.right - (self.right - self.left) * log(age / self.least) / log(self.most / self.least)

    def marks(self, apart: float) -> Iterator[tuple[Duration, float]]:
        """Round ages to write below the axis, so many pixels apart."""
        last = self.right
        for age in _MARKS:
            at = self.x(age)
            if self.least < age <= self.most and last - at >= apart:
                yield age, at
                last = at

    def ticks(self, pairs: Iterable[Pair], upto: Duration) -> list[float]:
        """Where edges lie at most so long ago, seen from a moment at which all windows end."""
        return self._spread(_ages(pairs, upto))

    def _spread(self, ages: Iterable[Duration]) -> list[float]:
        """Their places, those left out that are too close to the one before to be told apart."""
        found: list[float] = []
        for age in ages:
            at = self.x(age)
            if (found[-1] if found else self.right) - at >= CLOSEST:
                found.append(at)
        return found


def timeline(windows: Iterable[WindowSpec], left: float, right: float) -> Timeline:
    """An axis on which the shortest slide and the longest range can be seen."""
    all_windows = list(windows)
    least = min((min(window.slide, window.range) for window in all_windows), default=SECOND)
    most = max((window.range for window in all_windows), default=MINUTE)
    return Timeline(left, right, max(1, least // 2), max(most, 2 * least))


def edges_of(window: WindowSpec) -> tuple[Pair, ...]:
    return tuple(sorted(pairs_of(window)))


def shared_edges(edges: Edges) -> tuple[Pair, ...]:
    return ((edges.grain, 0),) if edges.grain is not None else edges.pairs


MOST_TICKS = 2000  # looked at for one line: what lies further back is closer than can be told apart


def _ages(pairs: Iterable[Pair], upto: Duration) -> list[Duration]:
    """How long ago each edge was."""
    ages: set[Duration] = set()
    for slide, phase in pairs:
        first = -phase % slide or slide
        ages.update(range(first, min(upto, first + MOST_TICKS * slide) + 1, slide))
    return sorted(ages)
