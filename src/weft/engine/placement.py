"""Where the cells of a program may be held: what a user can ask for, and how `auto` chooses.

    driver ──► executors    more cells than the driver is to hold; or steps take most of the time, and would
                            take clearly less on the cores of executors that are free
    executors ──► driver    half as many cells, and so few rows that the driver would mostly wait for them; or
                            steps take as much of the time as before: then rows alone never move cells again

A move writes a snapshot, so reasons must last: a minute to go, ten to come back. What was too much for the
driver is measured there and remembered, and rows must have fallen far below it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from weft.errors import RunError

DRIVER, EXECUTORS, AUTO = PLACEMENTS = ("driver", "executors", "auto")


def check_placement(placement: str, buckets: int | None) -> None:
    """Refuse what is none of them."""
    if placement not in PLACEMENTS:
        raise RunError(
            "unknown-placement",
            f"there is no placement {placement!r}",
            help="use 'driver', 'executors' or 'auto'",
        )
    if buckets is not None and buckets < 1:
        raise RunError(
            "bad-buckets",
            f"cells cannot be held in {buckets} buckets",
            help="use at least one, or leave `buckets` out: then there are as many as tasks run at once",
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """When `auto` moves the cells."""

    cells: int = 20_000_000  # that the driver holds
    span: float = 60.0  # seconds by which the driver is judged
    stay: float = 600.0  # and by which executors are
    steps: int = 5  # that either takes at least
    busy: float = 0.75  # the share of the time in steps from which on the driver hardly keeps up
    light: float = 0.3  # and that up to which it has no trouble
    launch: float = 0.3  # seconds to ask the executors for a step
    dearer: float = 1.6  # their CPU for that of the driver: 1.1 to 1.6 measured, the dearer end
    gain: float = 0.7  # what a step may take there, at most, of its time in the driver


@dataclass(frozen=True, slots=True)
class Stepped:
    """A step that was done, and what it met."""

    at: float  # seconds, by a clock that is never set
    seconds: float
    rows: int  # taken in so far
    cells: int  # held now
    free: int = 0  # cores of executors without a task, if anyone asked


@dataclass(frozen=True, slots=True)
class Going:
    """How the last steps went."""

    passed: float  # seconds
    share: float  # of them in steps
    seconds: float  # of a step
    rate: float  # rows a second
    free: float

    def there(self, limits: Limits) -> float:
        """Seconds that a step of the driver's would take on the executors."""
        return limits.launch + limits.dearer * self.seconds / max(self.free, 1.0)


class Auto:
    """Chooses where the cells are, from how steps go; `there`: on the executors."""

    def __init__(self, limits: Limits | None = None, there: bool = False) -> None:
        self.limits, self.there = limits or Limits(), there
        self._steps: deque[Stepped] = deque()  # since the last move, each with the seconds and cores of all
        self._before: Going | None = None  # in the driver, when the cells were moved away
        self._helps = True

    def judge(self, step: Stepped) -> str | None:
        """Why the cells are to be moved now to where they are not; None: they stay."""
        self._note(step)
        why = self._back(step) if self.there else self._out(step)
        if why is not None:
            self._before = None if self.there else self._going()
            self.there = not self.there
            self._steps.clear()
        return why

    def starts_there(self, cells: int) -> bool:
        """Is a run that left so many cells to go on with executors? The driver may be unable to load them."""
        self.there = cells > self.limits.cells
        return self.there

    def _note(self, step: Stepped) -> None:
        """Keep as many steps as are looked at: those of the span, and the one with whose end it begins."""
        steps, span = self._steps, self._span
        if steps:
            step = replace(step, seconds=steps[-1].seconds + step.seconds, free=steps[-1].free + step.free)
        steps.append(step)
        while len(steps) > self.limits.steps + 1 and step.at - steps[1].at >= span:
            steps.popleft()

    @property
    def _span(self) -> float:
        return self.limits.stay if self.there else self.limits.span

    def _going(self) -> Going | None:
        """None: it has not gone on for long enough."""
        first, last, count = self._steps[0], self._steps[-1], len(self._steps) - 1
        passed, seconds = last.at - first.at, last.seconds - first.seconds
        if count < self.limits.steps or passed < self._span:
            return None
        return Going(
            passed,
            share=seconds / passed,
            seconds=seconds / count,
            rate=(last.rows - first.rows) / passed,
            free=(last.free - first.free) / count,
        )

    def _out(self, step: Stepped) -> str | None:
        limits, going = self.limits, self._going()
        if step.cells > limits.cells:
            return f"{step.cells:,} cells, more than {limits.cells:,}"
        if going is None or not self._helps or going.share < limits.busy:
            return None
        if going.there(limits) > limits.gain * going.seconds:
            return None
        taken = f"{going.share:.0%} of {going.passed:.0f} s, {going.seconds:.2g} s each"
        return f"steps took {taken}, with {going.free:.0f} cores of executors free"

    def _back(self, step: Stepped) -> str | None:
        limits, going, before = self.limits, self._going(), self._before
        if going is None or step.cells > limits.cells // 2:
            return None
        expected = before.share * going.rate / max(before.rate, 1.0) if before is not None else 0.0
        if expected <= limits.light:
            return f"{going.rate:,.0f} rows a second and {step.cells:,} cells by now"
        if before is not None and going.share >= before.share and going.rate <= before.rate:
            self._helps = False
            return f"steps took {going.share:.0%} of the time on the executors, as they did before"
        return None
