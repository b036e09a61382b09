"""All contestants on a workload, in turn, each in its own process; and their answers compared.

    weft     cold, warm up                once more       run        run        run        answers kept
    native                  cold, warm up     once more       run        run        run          answers kept

What a machine can do changes by the minute where others use it too. Contestants that take turns meet the
same, so that the ratio of their costs means something; all are up at the same time, and idle while one runs.
Who was warm first has been idle longest, and what it read or was made of is no longer in memory: so there is
a round that does not count.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import answers, contestants, flink_home
from benchmarks.contestants import duck
from benchmarks.data import files_of, lanes_of
from benchmarks.measure import Measured, Run, machine
from benchmarks.side import Order
from benchmarks.turns import Ended, Turns
from benchmarks.workload import Workload
from benchmarks.workloads import Sizes

REPOSITORY = Path(__file__).parents[1]
WARM_UP_SECONDS = 60.0  # of each contestant with a JVM, which goes on compiling, in a race of full size


@dataclass(frozen=True, slots=True)
class Settings:
    """What a race is given besides the workload; `only` names contestants, none means all."""

    sizes: Sizes
    data: Path
    scratch: Path
    flink: Path
    repeat: int = 3
    memory: str = "3g"
    check: bool = True
    only: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a workload: costs, whether answers are equal, and who could not run for what reason."""

    workload: str
    title: str
    shape: str
    sides: dict[str, Measured]
    equal: dict[str, str]
    absent: dict[str, str]
    machine: str
    full: bool = True  # a smaller race shows that all runs, not what it costs

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Result:
        sides = {name: Measured.from_json(side) for name, side in found["sides"].items()}
        return cls(**found | {"sides": sides})


class Unequal(Exception):
    """A contestant gives other answers than the judge: its cost means nothing."""


def race(workload: Workload, settings: Settings, say: Callable[[str], None]) -> Result:
    """Run the workload's contestants. Raises `Unequal` at once if one answers wrongly."""
    names = [name for name in workload.contestants if not settings.only or name in settings.only]
    before = f"{machine()}, {_versions()}"
    files_of(workload.data, settings.data)
    result = Result(
        workload.name, workload.title, _shape(workload), {}, {}, {}, before, settings.sizes == Sizes()
    )
    judge = _judge(workload, settings) if settings.check else None
    with ExitStack() as stack:
        up: dict[str, _Runner] = {}

        def or_absent(name: str, turn: Callable[[], object]) -> None:
            try:
                turn()
            except Ended as error:
                up.pop(name, None)
                result.absent[name] = str(error)
                say(f"  {contestants.NAMES[name]}: not available: {error}")

        def enter(name: str) -> None:
            up[name] = stack.enter_context(_enter(workload, name, settings))

        for name in names:
            or_absent(name, partial(enter, name))
        for turn in [_Runner.rehearse] * result.full + [_Runner.run] * settings.repeat:
            for name, runner in list(up.items()):
                or_absent(name, partial(turn, runner))
        for name, runner in up.items():
            result.sides[name] = runner.measured(workload)
            if judge is not None and name in contestants.ANSWER:
                result.equal[name] = _checked(workload, name, judge, runner.answers(), settings)
            say(f"  {_line(result.sides[name])}  {result.equal.get(name, '')}")
    return result


class _Runner:
    """A contestant that is warm, and what its turns have cost."""

    def __init__(self, name: str, scratch: Path, turns: Turns) -> None:
        self._name, self._scratch, self._turns = name, scratch, turns
        self._before = os.getloadavg()[0]
        self._runs: list[Run] = []
        self._wrote = 0
        self._cold = Run(**turns.tell("warm"))

    def rehearse(self) -> None:
        self._turns.tell("run")

    def run(self) -> None:
        said = self._turns.tell("run")
        self._wrote = said.pop("answers")
        self._runs.append(Run(**said))

    def measured(self, workload: Workload) -> Measured:
        part, all_files = workload.part(self._name), workload.data.files
        return Measured(
            self._name,
            workload.rows(self._name),
            tuple(self._runs),
            "" if part == all_files else f"first {part} of {all_files} files",
            (self._before, os.getloadavg()[0]),
            self._cold,
            self._wrote,
        )

    def answers(self) -> Path:
        """Where its answers over the files of the check are."""
        self._turns.tell("check")
        return self._scratch / "checked"


@contextmanager
def _enter(workload: Workload, name: str, settings: Settings) -> Iterator[_Runner]:
    """The contestant, warm; `Ended` says why it could not start."""
    scratch = _empty(settings.scratch / name)
    path = f"{REPOSITORY / 'src'}{os.pathsep}{REPOSITORY}"
    order = Order(
        workload.name,
        name,
        settings.sizes,
        str(settings.data),
        str(scratch),
        WARM_UP_SECONDS if settings.sizes == Sizes() and not name.startswith("duck") else 0.0,
        settings.memory,
    )
    with Turns(_python(workload, name, settings), order, os.environ | {"PYTHONPATH": path}) as turns:
        yield _Runner(name, scratch, turns)
    shutil.rmtree(scratch)


def _python(workload: Workload, name: str, settings: Settings) -> str:
    """The interpreter that has what the contestant needs."""
    if not name.startswith("flink"):
        return sys.executable
    found = flink_home.python(settings.flink)
    if isinstance(found, flink_home.Unavailable):
        raise Ended(found.reason)
    for part in (workload.part(name), workload.checked):  # here: not part of what is measured
        lanes_of(files_of(workload.data, settings.data, part), os.cpu_count() or 1)
    return str(found)


def _judge(workload: Workload, settings: Settings) -> Path:
    """The right answers over the files of the check."""
    place = _empty(settings.scratch / "judge")
    side = duck.Side(settings.memory)
    side.run(workload, files_of(workload.data, settings.data, workload.checked), place)
    side.close()
    return place


def _checked(workload: Workload, name: str, judge: Path, other: Path, settings: Settings) -> str:
    files = files_of(workload.data, settings.data, workload.checked)
    verdict = answers.compare(workload, files, judge, other)
    if not verdict.equal:
        raise Unequal(f"{workload.name}, {name}: {verdict}")
    return str(verdict)


def _versions() -> str:
    return ", ".join([*(f"{name} {version(name)}" for name in ("pyspark", "duckdb")), flink_home.PACKAGES[0]])


def _shape(workload: Workload) -> str:
    data = workload.data
    return (
        f"{data.rows:,} rows in {data.files} {data.format} files over {data.span:,} s, "
        f"{len(workload.queries):,} queries, answers to {workload.sink}"
    )


def _line(side: Measured) -> str:
    cold = f", cold {side.cold.cpu:.1f} CPU-s {side.cold.wall:.1f} s" if side.cold else ""
    load = f"load {side.load[0]:.1f}/{side.load[1]:.1f}"
    return (
        f"{contestants.NAMES[side.name]:32} {side.cpu:8.2f} CPU-s {side.wall:8.2f} s "
        f"{side.rows_per_cpu_second:12,.0f} rows/CPU-s{cold}, {load} {side.note}"
    )


def _empty(directory: Path) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory
