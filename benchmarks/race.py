"""All contestants on a workload, one after the other, each in its own process; and their answers compared."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import answers, contestants, flink_home
from benchmarks.contestants import duck
from benchmarks.data import files_of, lanes_of
from benchmarks.measure import Measured, machine
from benchmarks.side import Order
from benchmarks.workload import Workload
from benchmarks.workloads import Sizes

REPOSITORY = Path(__file__).parents[1]
WARM_UP_SECONDS = 60.0  # of each contestant, in a race of full size


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
    for name in names:
        scratch = _empty(settings.scratch / name)
        found = _run(workload, name, scratch, settings)
        if isinstance(found, str):
            result.absent[name] = found
            say(f"  {contestants.NAMES[name]}: not available: {found}")
            continue
        result.sides[name] = found
        if judge is not None and name in contestants.ANSWER:
            result.equal[name] = _checked(workload, name, judge, scratch / "checked", settings)
        say(f"  {_line(found)}  {result.equal.get(name, '')}")
        shutil.rmtree(scratch)
    return result


def _judge(workload: Workload, settings: Settings) -> Path:
    """The right answers over the files of the check."""
    place = _empty(settings.scratch / "judge")
    side = duck.Side(settings.memory)
    side.run(workload, files_of(workload.data, settings.data, workload.checked), place)
    side.close()
    return place


def _run(workload: Workload, name: str, scratch: Path, settings: Settings) -> Measured | str:
    """What it cost, or why it could not run."""
    python = sys.executable
    if name.startswith("flink"):
        found = flink_home.python(settings.flink)
        if isinstance(found, flink_home.Unavailable):
            return found.reason
        python = str(found)
        for part in (workload.part(name), workload.checked):  # here: not part of what is measured
            lanes_of(files_of(workload.data, settings.data, part), os.cpu_count() or 1)
    order = Order(
        workload.name,
        name,
        settings.sizes,
        str(settings.data),
        str(scratch),
        settings.repeat,
        WARM_UP_SECONDS if settings.sizes == Sizes() else 0.0,
        settings.memory,
        settings.check,
    )
    (scratch / "order.json").write_text(json.dumps(asdict(order)))
    command = [python, "-m", "benchmarks.side", str(scratch / "order.json"), str(scratch / "result.json")]
    path = f"{REPOSITORY / 'src'}{os.pathsep}{REPOSITORY}"
    code = subprocess.run(command, check=False, env=os.environ | {"PYTHONPATH": path}).returncode
    if code:
        return f"its process ended with exit code {code}; its output has the reason"
    return Measured.from_json(json.loads((scratch / "result.json").read_text()))


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
