"""Where each sink stands, and how answers get from the answer log to it.

    answer log    .. 41  42  43  44  45  46
    result store                          ▲      every sink at its own position;
    kafka                         ▲              one that is down holds up only itself

A sink that fails is tried again with growing pauses. One that fails for longer than its policy allows is
*failed*: it is shown as such, and the log is no longer kept for it. The next start of the program tries it
anew; what the log no longer holds by then is *missed*, and shown.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from weft.engine.filesinks import FileSink
from weft.engine.positions import Positions
from weft.errors import Bug, RunError, WeftError
from weft.log.answers import AnswerLog, AnswerRecord
from weft.log.home import Home

Write = Callable[[Any, int], None]  # the answers of one step, and its number

FLUSH_BYTES = 32 << 20  # written per second by the flushes of all file sinks together
TAIL_BYTES = 256 << 20  # held in memory by the tails of all file sinks together


@dataclass(frozen=True, slots=True)
class Policy:
    """How often a sink that fails is tried, and for how long, in seconds."""

    pause: float = 1.0  # before the second try; twice as long before each one after that
    longest_pause: float = 60.0
    give_up: float = 900.0


@dataclass(frozen=True, slots=True)
class SinkStatus:
    """How a sink stands. `delivered` is the last step it holds; `missed` are steps it will never have."""

    key: str
    state: str  # ok | retrying | failed | done
    delivered: int
    error: str = ""
    missed: tuple[tuple[int, int], ...] = ()


class Sink(Protocol):
    """What delivery needs of a sink."""

    position: int  # the last step handed over
    flushed: int  # the last step that can be seen in it
    missed: list[list[int]]

    @property
    def durable(self) -> int: ...  # the last step that it will not ask for again

    @property
    def nbytes(self) -> int: ...

    def attach(self, home: Home, key: str, first: int, now: float, phase: float) -> None: ...

    def add(self, step: int, table: Any | None) -> None: ...

    def tend(self, now: float, share: float, final: bool) -> None: ...

    def rests(self, now: float) -> bool:
        """Has it nothing to do by now, unless more answers come?"""

    def roll(self) -> None: ...

    def give_up(self) -> None: ...


class WriterSink:
    """Hands each step's answers to a function: exactly once while it runs, once or more around a crash."""

    nbytes = 0

    def __init__(self, write: Write, positions: Positions) -> None:
        self._write = write
        self._positions = positions

    def attach(self, home: Home, key: str, first: int, now: float = 0.0, phase: float = 0.0) -> None:
        """Go on after the last step that is known to be written."""
        self._key = key
        known = self._positions.get(key)
        self.position: int = first - 1 if known is None else known.upto
        self.missed: list[list[int]] = [] if known is None else known.missed
        if self.position < first - 1:
            self.missed = [*self.missed, [self.position + 1, first - 1]]
            self.position = first - 1
        self.flushed = self.position
        self.roll()

    @property
    def durable(self) -> int:
        return self._positions.saved(self._key)

    def add(self, step: int, table: Any | None) -> None:
        if table is not None:
            self._write(table, step)
        self.position = self.flushed = step

    def tend(self, now: float, share: float, final: bool) -> None:
        self.roll()

    def rests(self, now: float) -> bool:
        return True

    def roll(self) -> None:
        """Have it remembered how far it has come."""
        self._positions.note(self._key, self.position, self.missed)

    def give_up(self) -> None:
        self.roll()


@dataclass(slots=True)
class _Entry:
    key: str
    sink: Sink
    policy: Policy
    until: int | None
    status: SinkStatus
    failing_since: float | None = None
    pause: float = 0.0
    retry_at: float = field(default=float("-inf"))

    @property
    def is_active(self) -> bool:
        return self.status.state in ("ok", "retrying")

    def rests(self, now: float, last: int) -> bool:
        """Is it up to step `last`, with nothing else to do?"""
        is_well = self.failing_since is None and not self.has_ended
        return is_well and self.sink.position >= last and self.sink.rests(now)

    @property
    def has_ended(self) -> bool:
        return self.until is not None and self.sink.position >= self.until


class _News:
    """What is new to sinks, looked up once for all that stand at the same step."""

    def __init__(self, answers: AnswerLog) -> None:
        self._answers = answers
        self._next = answers.next
        self._found: dict[int, list[AnswerRecord]] = {}

    def after(self, position: int) -> list[AnswerRecord]:
        """The records past a step, oldest first."""
        if position + 1 >= self._next:
            return []
        if position not in self._found:
            self._found[position] = self._answers.records(after=position)
        return self._found[position]


class Delivery:
    """All sinks of a program. One thread calls `run_once` again and again; any thread may call the rest."""

    def __init__(self, home: Home, answers: AnswerLog, clock: Callable[[], float] = time.monotonic) -> None:
        self._home = home
        self._answers = answers
        self._clock = clock
        self._positions = Positions(home)
        self._entries: dict[str, _Entry] = {}
        self._datasets: dict[str, str] = {}  # directory -> key
        self._above_datasets: dict[str, str] = {}  # a directory above one -> the key of one such
        self._lock = threading.Lock()

    def register(
        self, key: str, sink: FileSink | Write, policy: Policy | None = None, until: int | None = None
    ) -> None:
        """Deliver the answers of `key` to a sink, from where it stood; `until` as for `end`."""
        target: Sink = sink if isinstance(sink, FileSink) else WriterSink(sink, self._positions)
        with self._lock:
            if key in self._entries:
                raise Bug("sink-registered-twice", f"`{key}` has a sink already")
            self._refuse_shared_dataset(target)
            phase = len(self._entries) * 0.618034 % 1.0  # any number of sinks is spread evenly
            target.attach(self._home, key, self._answers.first, self._clock(), phase)
            status = SinkStatus(key, "ok", target.position, missed=_pairs(target.missed))
            if isinstance(target, FileSink):
                self._datasets[target.resolved] = key
                self._above_datasets |= {str(path): key for path in Path(target.resolved).parents}
            self._entries[key] = _Entry(key, target, policy or Policy(), until, status)

    def _refuse_shared_dataset(self, sink: Sink) -> None:
        """No dataset is another one, lies in it or holds it."""
        if not isinstance(sink, FileSink):
            return
        above = [str(path) for path in Path(sink.resolved).parents]
        other = next(
            (self._datasets[path] for path in (sink.resolved, *above) if path in self._datasets), None
        )
        other = other or self._above_datasets.get(sink.resolved)
        if other is not None:
            raise RunError(
                "dataset-in-use",
                f"{sink.directory} is, or overlaps with, the dataset of `{other}`",
                help="give every query a path of its own",
            )

    def end(self, key: str, until: int) -> None:
        """The query has no answers after this step: once they are delivered, its sink is done."""
        with self._lock:
            if key in self._entries:
                self._entries[key].until = until

    def status(self) -> dict[str, SinkStatus]:
        with self._lock:
            return {key: entry.status for key, entry in self._entries.items()}

    def least_position(self) -> int:
        """The last step that no sink needs any more: the answer log may be expired up to it."""
        with self._lock:
            held = [entry.sink.durable for entry in self._entries.values() if entry.is_active]
        return min(held, default=self._answers.next - 1)

    def run_once(self, flush: bool = False) -> None:
        """Give every sink what is new, and let readers see it when it is time; with `flush` now."""
        self._home.check_owner()
        with self._lock:
            entries = [entry for entry in self._entries.values() if entry.is_active]
        now, last = self._clock(), self._answers.next - 1
        news = _News(self._answers)
        for entry in entries:
            if flush or (now >= entry.retry_at and not entry.rests(now, last)):
                self._attend(entry, news, len(entries), flush)
        self._positions.save()
        self._answers.release(min((entry.sink.position for entry in entries), default=self._answers.next))
        self._bound_memory(entries)

    def _attend(self, entry: _Entry, news: _News, count: int, flush: bool) -> None:
        share = FLUSH_BYTES / count
        with self._on_failure(entry):
            if entry.failing_since is not None:
                entry.sink.tend(self._clock(), share, flush)  # no more rows into a sink that is still down
            self._hand_over(entry, news)
            if entry.has_ended:
                entry.sink.roll()
            else:
                entry.sink.tend(self._clock(), share, flush)
            entry.failing_since, entry.pause = None, 0.0
            state = "done" if entry.has_ended else "ok"
            entry.status = SinkStatus(entry.key, state, entry.sink.flushed, missed=_pairs(entry.sink.missed))

    def _hand_over(self, entry: _Entry, news: _News) -> None:
        for record in news.after(entry.sink.position):
            if entry.until is not None and record.step > entry.until:
                return
            entry.sink.add(record.step, self._answers.read(record, entry.key))

    @contextmanager
    def _on_failure(self, entry: _Entry) -> Iterator[None]:
        """Whatever goes wrong with a sink is that sink's matter, unless the home is not ours any more."""
        try:
            yield
        except WeftError as error:
            if error.code == "home-taken":
                raise
            self._fail(entry, error.what)
        except Exception as error:
            self._fail(entry, f"{type(error).__name__}: {error}")

    def _fail(self, entry: _Entry, reason: str) -> None:
        now = self._clock()
        entry.failing_since = now if entry.failing_since is None else entry.failing_since
        entry.pause = min(entry.pause * 2 or entry.policy.pause, entry.policy.longest_pause)
        entry.retry_at = now + entry.pause
        failed = now - entry.failing_since >= entry.policy.give_up
        if failed:
            with suppress(WeftError):
                entry.sink.give_up()
        entry.status = replace(entry.status, state="failed" if failed else "retrying", error=reason)

    def _bound_memory(self, entries: list[_Entry]) -> None:
        """Close the largest tails while all together take too much."""
        total = sum(entry.sink.nbytes for entry in entries)
        for entry in sorted(entries, key=lambda entry: entry.sink.nbytes, reverse=True):
            if total <= TAIL_BYTES:
                return
            total -= entry.sink.nbytes
            with self._on_failure(entry):
                entry.sink.roll()


def _pairs(missed: list[list[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((first, last) for first, last in missed)
