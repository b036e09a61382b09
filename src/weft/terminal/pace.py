"""How fast a program runs: differences of what it reported at successive moments."""

from __future__ import annotations

from collections import deque
from dataclasses import astuple, dataclass, field

from weft.engine.status import Status
from weft.times import Instant

SPAN = 5.0  # seconds that a rate looks back
HISTORY = 120
ILL = ("retrying", "failed")  # states of a sink that does not hold its answers


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the streams and queries of a program."""

    rows: int
    windows: int
    answers: int
    late: int
    dead: int
    bad: int  # rows of no use to any query: no event time, too far ahead, not parsed

    @staticmethod
    def of(status: Status) -> Totals:
        return Totals(
            rows=sum(stream.rows for stream in status.streams),
            windows=sum(query.windows for query in status.queries),
            answers=sum(query.answers for query in status.queries),
            late=sum(query.late for query in status.queries),
            dead=sum(query.dead for query in status.queries),
            bad=sum(stream.no_time + stream.ahead + stream.corrupt for stream in status.streams),
        )

    def __sub__(self, before: Totals) -> Totals:
        """What has come since; of a query that is no longer there nothing is known."""
        return Totals(*(max(0, now - then) for now, then in zip(astuple(self), astuple(before), strict=True)))


@dataclass(frozen=True, slots=True)
class Rates:
    """Per second, over the last few seconds; `history` holds rows per second, oldest first."""

    rows: float = 0.0
    windows: float = 0.0
    answers: float = 0.0
    history: tuple[float, ...] = ()


@dataclass(slots=True)
class Pace:
    """Takes each report with the time it was made, and knows the rates."""

    _seen: deque[tuple[float, Totals]] = field(default_factory=deque)
    _history: deque[float] = field(default_factory=lambda: deque(maxlen=HISTORY))
    _noted: float = float("-inf")

    def take(self, at: float, status: Status) -> Rates:
        """The rates now; `at` is in seconds and never goes back."""
        totals = Totals.of(status)
        self._seen.append((at, totals))
        while len(self._seen) > 2 and self._seen[1][0] <= at - SPAN:
            self._seen.popleft()
        since, first = self._seen[0]
        passed = max(at - since, 1e-3)
        rows = (totals.rows - first.rows) / passed
        if at - self._noted >= 1.0:
            self._noted = at
            self._history.append(rows)
        return Rates(
            rows,
            (totals.windows - first.windows) / passed,
            (totals.answers - first.answers) / passed,
            tuple(self._history),
        )


def watermark(status: Status) -> Instant | None:
    """The least watermark of the streams that have one: how far all of them have come."""
    return min((s.watermark for s in status.streams if s.watermark is not None), default=None)


def lag(status: Status) -> tuple[float, str] | None:
    """How far the watermark is behind, in seconds, and behind what.

    Behind the clock where event times are near it; in a replay the clock says nothing: behind the newest row.
    """
    reached = watermark(status)
    newest = max((s.max_time for s in status.streams if s.max_time is not None), default=None)
    if reached is None or newest is None:
        return None
    behind_clock = status.updated - reached / 1e6
    if abs(status.updated - newest / 1e6) < 3600 and behind_clock >= 0:
        return behind_clock, "the clock"
    return (newest - reached) / 1e6, "the newest row"


def troubles(status: Status) -> list[str]:
    """What has failed, one line each."""
    lines = [f"stream `{s.name}` failed: {s.error}" for s in status.streams if s.state == "failed"]
    lines += [f"query `{q.name}` failed: {q.error}" for q in status.queries if q.state == "failed"]
    ill = [query for query in status.queries if query.sink_state in ILL]
    return lines + [f"sink {q.sink} of `{q.name}` {q.sink_state}: {q.sink_error}" for q in ill]
