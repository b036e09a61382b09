"""What is told of lives: windows over the output, evaluation now and then, the greatest value."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from benchmarks.strategies.lives import Life


def last_made(lives: Sequence[Life], count: int, t: float) -> list[Life]:
    """The rows that were made last, whether they are there or not."""
    return [life for life in lives if life.ts <= t][-count:]


def made_within(lives: Sequence[Life], length: float, t: float) -> list[Life]:
    """The rows that were made within `length` up to `t`."""
    return [life for life in lives if life.ts <= t < life.ts + length]


def new_at(lives: Sequence[Life], t: float, every: float, restore: bool) -> list[Life]:
    """What an evaluation at `t` tells that the one before did not; `restore`: with what has gone since."""
    return [life for life in lives if t - every < life.ts <= t and (restore or life.exp > t)]


class Greatest:
    """The greatest value of a window, by the clock of what feeds it; what can never be it is dropped."""

    def __init__(self) -> None:
        self._rows: deque[tuple[float, float]] = deque()  # exp and value, from the greatest on

    def row(self, value: float, ts: float, exp: float) -> None:
        self.heartbeat(ts)
        while self._rows and self._rows[-1][1] <= value:
            self._rows.pop()
        self._rows.append((exp, value))

    def heartbeat(self, clock: float) -> None:
        """No row before `clock` will come: what ends by then is gone, though no row says so."""
        while self._rows and self._rows[0][0] <= clock:
            self._rows.popleft()

    @property
    def kept(self) -> list[float]:
        return [value for _, value in self._rows]

    @property
    def value(self) -> float | None:
        return self._rows[0][1] if self._rows else None
