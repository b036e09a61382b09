"""Killed at any durable write and started again, log and sinks hold everything exactly once."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cases import in_parts
from weft.log.durable import list_fault_points

ROOT = Path(__file__).parents[3]
MEMORY = Path("/dev/shm")  # a kill is a kill on any file system, and here a sync costs nothing
SEED = 20_261_116


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as place:
        yield Path(place)


def play(place: Path, plans: list[list[str]]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.unit.engine.delivery_lives", str(place)],
        input="\n".join(map(json.dumps, plans)),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(results) == len(plans)
    wrong = {json.dumps(result["faults"]): result["wrong"] for result in results if result["wrong"]}
    assert wrong == {}, done.stderr
    return results


def test_undisturbed(place: Path) -> None:
    play(place, [[]])


def test_killed_at_every_fault_point(place: Path) -> None:
    results = play(place, [[point] for point in list_fault_points()])
    survived = [result["faults"][0] for result in results if result["came"] != [-9]]
    assert survived == []


@in_parts(3)
def test_killed_at_a_later_hit(place: Path, part: int) -> None:
    results = play(place, [[f"{point}:4"] for point in list_fault_points()[part::3]])
    assert sum(result["came"] == [-9] for result in results) > len(results) / 2


@in_parts(3)
def test_killed_again_and_again(place: Path, part: int) -> None:
    chance = random.Random(SEED + part)
    points = list_fault_points()
    plans = [
        [f"{chance.choice(points)}:{chance.randint(1, 3)}" for _ in range(chance.randint(2, 8))]
        for _ in range(10)
    ]
    results = play(place, plans)
    assert sum(status == -9 for result in results for status in result["came"]) > 20
