"""Following a program while it runs: a line a second, a live board, or nothing; and stopping it cleanly.

Ctrl-C once     the batch under way is finished, the answers are delivered, the program ends
Ctrl-C twice    it ends at once; the next start goes on from the log
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Protocol, Self

import click

from weft.engine.status import Status
from weft.log.paths import AnyPath
from weft.terminal.figures import clock, count, many, of_day, span
from weft.terminal.pace import Pace, Rates, Totals, lag, troubles, watermark
from weft.terminal.report import read_status

POLL = 0.2  # seconds between looks at whether it has ended
WARM_UP = 120.0  # seconds after which a limited run counts its time, rows or not
SHOW_SCREEN = b"\x1b[?1049l\x1b[?25h"  # back from the board to the terminal as it was, cursor shown


class Running(Protocol):
    """What is followed: a `weft.Session`."""

    home: AnyPath

    def wait(self, timeout: float | None = None) -> bool: ...
    def status(self) -> Status: ...
    def stop(self) -> None: ...


class Progress(Protocol):
    """Something that shows how a program gets on."""

    every: float  # seconds between reports

    def __enter__(self) -> Self: ...
    def __exit__(self, *exc: object) -> None: ...
    def show(self, status: Status, elapsed: float, left: float | None) -> None: ...


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that has ended: the report the run before it left, its own last one, and how long it took."""

    before: Status | None
    status: Status
    seconds: float

    @property
    def done(self) -> Totals:
        """What this run did: reports count from the first start of the program."""
        totals = Totals.of(self.status)
        return totals if self.before is None else totals - Totals.of(self.before)


class Interrupts:
    """The first Ctrl-C (or SIGTERM) is noted in `signal`; the second ends the process at once."""

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[int, signal._HANDLER] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.getsignal(number)
        self.listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def listen(self) -> None:
        """Take the signals (again: a Spark context takes Ctrl-C for itself when it starts)."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.signal:
            with suppress(OSError):
                os.write(os.open("/dev/tty", os.O_WRONLY), SHOW_SCREEN)
            os._exit(128 + number)
        self.signal = number


class Silent:
    every = 3600.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def show(self, status: Status, elapsed: float, left: float | None) -> None:
        pass


class Plain:
    """One line a second on stderr, and a line for each thing that fails."""

    every = 1.0

    def __init__(self) -> None:
        self._pace = Pace()
        self._told: set[str] = set()

    def __enter__(self) -> Self:
        click.echo("starting Spark", err=True)
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def show(self, status: Status, elapsed: float, left: float | None) -> None:
        for trouble in troubles(status):
            if trouble not in self._told:
                self._told.add(trouble)
                click.echo(trouble, err=True)
        click.echo(plain_line(status, self._pace.take(elapsed, status), elapsed), err=True)


def plain_line(status: Status, rates: Rates, elapsed: float) -> str:
    """`0:00:12  24,000 rows (2,013/s)  watermark 10:00:07 (5.00 s behind the clock)  ...`"""
    totals = Totals.of(status)
    reached = "no watermark yet"
    behind = lag(status)
    if behind is not None:
        reached = f"watermark {of_day(watermark(status))} ({span(behind[0])} behind {behind[1]})"
    parts = [
        clock(elapsed),
        f"{many(totals.rows, 'row')} ({count(rates.rows)}/s)",
        reached,
        many(totals.windows, "window"),
        f"{many(totals.answers, 'answer')} ({count(rates.answers)}/s)",
    ]
    if status.latency_seconds:
        parts.append(f"latency {span(status.latency_seconds)}")
    parts += [
        f"{count(number)} {what}"
        for number, what in ((totals.late, "late"), (totals.dead, "dead"), (totals.bad, "bad rows"))
        if number
    ]
    return "  ".join(parts)


def follow(
    running: Running,
    start: Callable[[], object],
    progress: Progress,
    interrupts: Interrupts,
    seconds: float | None = None,
) -> Ran:
    """Start a program and show its progress until it ends, Ctrl-C, or `seconds` have passed; then stop it.

    The seconds count from the first rows, for compiling the first batch takes a while. What the program ended
    with, it raises.
    """
    before = read_status(running.home)
    try:
        with progress:
            try:
                start()
            finally:
                interrupts.listen()
            begun = time.monotonic()
            ended = _show_until_end(running, progress, interrupts, begun, seconds)
        lasted = time.monotonic() - begun
        if not ended:
            again = " again" if interrupts.signal else " twice"
            click.echo(f"stopping: finishing the batch under way (Ctrl-C{again}: at once)", err=True)
        status = running.status()
    finally:
        running.stop()
    return Ran(before, read_status(running.home) or status, lasted)


def _show_until_end(
    running: Running, progress: Progress, interrupts: Interrupts, begun: float, seconds: float | None
) -> bool:
    """Whether the program ended by itself."""
    due, first_rows = 0.0, WARM_UP
    while not interrupts.signal and not running.wait(timeout=POLL):
        elapsed = time.monotonic() - begun
        if elapsed >= due:
            due = elapsed - elapsed % progress.every + progress.every
            status = running.status()
            if first_rows == WARM_UP and Totals.of(status).rows:
                first_rows = elapsed
            left = None if seconds is None else seconds - max(0.0, elapsed - first_rows)
            progress.show(status, elapsed, left)
            if left is not None and left <= 0:
                return False
    return not interrupts.signal


def summary(ran: Ran) -> str:
    """What was done, in one line."""
    totals = ran.done
    text = (
        f"{many(totals.rows, 'row')} in {span(ran.seconds)}: {many(totals.windows, 'window')} of "
        f"{many(len(ran.status.queries), 'query', 'queries')} answered with {many(totals.answers, 'row')}"
    )
    for number, what in (
        (totals.late, "late"),
        (totals.dead, "failing"),
        (totals.bad, "unreadable or timeless"),
    ):
        if number:
            text += f"; {count(number)} {what}"
    return text
