"""What a run counted and used during its last minute, from looks at its totals about once a second."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from weft.engine.cputime import tree_seconds
from weft.engine.epochs import switches
from weft.engine.runtime import Runtime
from weft.share.model.cost import Level
from weft.share.model.measured import Happened, Measured, StreamMeasured
from weft.times import BEGINNING, SECOND, Instant

SPAN = 60.0  # seconds
SWITCHES = 5  # that are told

Name = TypeVar("Name", bound=str)
Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class _Look:
    """Totals at one moment."""

    at: float
    cpu: float
    steps: int
    levels: Mapping[Level, float]
    queries: Mapping[str, float]
    answers: Mapping[str, int]
    rows: Mapping[str, int]
    batches: Mapping[str, int]
    latest: Mapping[str, Instant]


class Account:
    """Looks at a runtime, the first when it is made."""

    def __init__(
        self,
        runtime: Runtime,
        clock: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = tree_seconds,
    ) -> None:
        self._runtime, self._clock, self._cpu = runtime, clock, cpu
        self._looks: deque[_Look] = deque()
        self.look()

    def look(self) -> None:
        """Look at the totals, and forget those of more than a minute ago."""
        now = self._clock()
        while len(self._looks) > 1 and self._looks[1].at <= now - SPAN:
            self._looks.popleft()
        self._looks.append(self._look(now))

    def _look(self, now: float) -> _Look:
        runtime, tally = self._runtime, self._runtime.tally
        with runtime.lock:
            return _Look(
                at=now,
                cpu=self._cpu(),
                steps=runtime.step_number,
                levels=dict(runtime.meter.levels),
                queries=dict(runtime.meter.queries),
                answers={name: tally.get("answers", one.key) for name, one in runtime.running.items()},
                rows={name: tally.get("rows", name) for name in runtime.states},
                batches={name: tally.get("batches", name) for name in runtime.states},
                latest={name: runtime.folded.get(name, BEGINNING) for name in runtime.states},
            )

    def measured(self) -> Measured:
        """What lies between the first look that is kept and the last."""
        first, last = self._looks[0], self._looks[-1]
        return Measured(
            wall=last.at - first.at,
            cpu=last.cpu - first.cpu,
            levels=_less(last.levels, first.levels),
            queries=_less(last.queries, first.queries),
            answers=_less(last.answers, first.answers),
            streams={name: self._stream(name, first, last) for name in last.rows},
            switches=self._switches(),
        )

    def _switches(self) -> tuple[Happened, ...]:
        with self._runtime.lock:
            return switches(self._runtime.catalog, SWITCHES)

    def _stream(self, name: str, first: _Look, last: _Look) -> StreamMeasured:
        began = first.latest.get(name, BEGINNING)
        if began == BEGINNING:
            began = self._runtime.first.get(name, last.latest[name])
        return StreamMeasured(
            seconds=(last.latest[name] - began) / SECOND,
            rows=last.rows[name] - first.rows.get(name, 0),
            batches=last.batches[name] - first.batches.get(name, 0),
            steps=last.steps - first.steps,
            groups=self._runtime.groups.get(name, {}),
            passing=self._runtime.census.passing(name),
            distinct=self._runtime.census.distinct(name),
            joined=self._runtime.census.joined(name),
        )


def _less(last: Mapping[Name, Number], first: Mapping[Name, Number]) -> dict[Name, Number]:
    """What has been added to each total."""
    return {name: total - first.get(name, 0) for name, total in last.items()}
