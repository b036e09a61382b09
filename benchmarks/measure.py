"""CPU-seconds of the whole process tree, wall time, and how busy the machine was otherwise.

A measurement is the median of `repeat` runs after `warm` unmeasured ones in the same process: the first pays
for starting the JVM, compiling and filling caches, and is not what a stream that runs for weeks costs.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress


@dataclass(frozen=True, slots=True)
class Run:
    cpu: float
    wall: float


@dataclass(frozen=True, slots=True)
class Measured:
    """The runs of one side; `rows` is what a run read, `note` what part of the input that was."""

    name: str
    rows: int
    runs: tuple[Run, ...]
    note: str = ""
    load: tuple[float, float] = (0.0, 0.0)  # of one minute, before and after
    cold: Run | None = None  # the whole process up to the end of its first run, if it was measured alone
    answers: int = 0  # what a run wrote, where that was kept and counted

    @property
    def cpu(self) -> float:
        return statistics.median(run.cpu for run in self.runs)

    @property
    def wall(self) -> float:
        return statistics.median(run.wall for run in self.runs)

    @property
    def rows_per_cpu_second(self) -> float:
        return self.rows / self.cpu

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Measured:
        runs = tuple(Run(**run) for run in found["runs"])
        cold = Run(**found["cold"]) if found["cold"] else None
        return cls(**found | {"runs": runs, "cold": cold, "load": tuple(found["load"])})


@dataclass(frozen=True, slots=True)
class Claim:
    """A ratio of two sides and the bound it was promised to keep."""

    text: str
    ratio: float
    bound: float
    at_most: bool

    @property
    def holds(self) -> bool:
        return self.ratio <= self.bound if self.at_most else self.ratio >= self.bound


@dataclass(frozen=True, slots=True)
class Report:
    question: str
    sides: tuple[Measured, ...]
    claims: tuple[Claim, ...]
    remarks: tuple[str, ...] = field(default=())


def slow(seconds: Sequence[float]) -> float:
    """What one in twenty takes."""
    return statistics.quantiles(seconds, n=20)[-1]


def lead_of(progress: StreamingQueryProgress) -> float:
    """What of a batch comes before Spark hands it over, in seconds."""
    before = ("latestOffset", "walCommit", "getBatch", "queryPlanning")
    return sum(progress.durationMs.get(phase, 0) for phase in before) / 1000


def tree_cpu() -> float:
    """CPU-seconds used so far by this process and all that descend from it, the dead ones included.

    A process that was waited for has left its time with its parent, as `children_*`.
    """
    me = psutil.Process()
    total = 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:  # ended just now: its parent has its time
            continue
        total += times.user + times.system
        total += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return total


@contextmanager
def timed(runs: list[Run]) -> Iterator[None]:
    """Append what the body of the `with` cost to `runs`."""
    cpu, wall = tree_cpu(), time.perf_counter()
    yield
    runs.append(Run(tree_cpu() - cpu, time.perf_counter() - wall))


def measure(
    name: str, rows: int, run: Callable[[], object], *, warm: int = 1, repeat: int = 1, note: str = ""
) -> Measured:
    """`run` called `warm` times unmeasured, then `repeat` times measured."""
    before = os.getloadavg()[0]
    for _ in range(warm):
        run()
    runs: list[Run] = []
    for _ in range(repeat):
        with timed(runs):
            run()
    return Measured(name, rows, tuple(runs), note, (before, os.getloadavg()[0]))


def machine() -> str:
    """What the numbers were measured on."""
    memory = psutil.virtual_memory().total / 2**30
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return (
        f"{psutil.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, load {load}"
    )


def show(report: Report) -> str:
    """The report as text: the sides below each other, then what was claimed of them."""
    lines = [report.question, "", *_table(report.sides), ""]
    for claim in report.claims:
        relation = "at most" if claim.at_most else "at least"
        verdict = "holds" if claim.holds else "DOES NOT HOLD"
        lines.append(f"{claim.text}: {claim.ratio:.2f}, wanted {relation} {claim.bound:g}: {verdict}")
    lines += [f"note: {remark}" for remark in report.remarks]
    return "\n".join(lines)


def _table(sides: Sequence[Measured]) -> list[str]:
    head = ("side", "rows", "CPU s", "wall s", "rows/CPU-s", "runs", "load before/after", "")
    body = [
        (
            side.name,
            f"{side.rows:,}",
            f"{side.cpu:.2f}",
            f"{side.wall:.2f}",
            f"{side.rows_per_cpu_second:,.0f}",
            f"{len(side.runs)}",
            f"{side.load[0]:.2f}/{side.load[1]:.2f}",
            side.note,
        )
        for side in sides
    ]
    widths = [max(len(row[column]) for row in (head, *body)) for column in range(len(head))]
    return [_line(row, widths) for row in (head, *body)]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """Text to the left, numbers to the right."""
    cells = [row[0].ljust(widths[0])]
    cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
    return "  ".join([*cells, row[-1]]).rstrip()
