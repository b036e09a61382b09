"""Killed between any two durable writes and started again, a program answers as if nothing had happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.bench import read
from weft.log.answers import AnswerLog
from weft.log.durable import list_fault_points
from weft.log.home import Home

# Killed at the first hit of the fault point, started again, killed at the fourth from there. There is nothing
# of a home elsewhere on the machine: each life could as well be on another one.
LIVES = {"here": (1, 4), "bucket": (1,), "share": (1, 4)}


class Crashes:
    """Lives of the program in tests/unit/engine/crashing.py, or in another module like it."""

    def __init__(self, module: str = "tests.unit.engine.crashing") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def live(self, directory: Path, fault: str = "-", store: str = "here") -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{directory} {fault} {store}\n")
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    """A directory in memory where there is one: a killed process loses nothing that it has written."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as path:
        yield Path(path)


@pytest.fixture(scope="module")
def crashes() -> Iterator[Crashes]:
    made = Crashes()
    yield made
    made.close()


@pytest.fixture(scope="module")
def undisturbed(crashes: Crashes, memory: Path) -> dict[str, Any]:
    path = memory / "undisturbed"
    path.mkdir()
    assert crashes.live(path) == "done"
    return outcome(path)


def outcome(path: Path) -> dict[str, Any]:
    """All that a program leaves for its user: answers, dead letters, files of its sinks."""
    stores = {str(p.relative_to(path)): _rounded(read(p)) for p in sorted(path.glob("home/results/*/v*"))}
    # What RETAIN lets go is whole files, and how answers are cut into files depends on when it was killed.
    stores["home/results/short/v1"] = stores["home/results/short/v1"][-2:]
    dead = {str(p.relative_to(path)): read(p) for p in sorted(path.glob("home/dead/*"))}
    return {
        "stores": stores,
        "dead": dead,
        "lines": _lines(path / "out" / "lines"),
        "sheet": _lines(path / "out" / "sheet", header='"window_start","window_end","sym","q"'),
        "steps": AnswerLog(Home.look(path / "home")).next,
    }


def _rounded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: round(v, 9) if isinstance(v, float) else v for k, v in row.items()} for row in rows]


def _lines(directory: Path, header: str | None = None) -> list[str]:
    """The lines of all files of a dataset, each of which begins with the header, if there is one."""
    lines = []
    for part in directory.glob("part-*"):
        first, *rest = part.read_text().splitlines()
        assert header in (None, first)
        lines += rest if header else [first, *rest]
    return sorted(lines)


def test_an_undisturbed_run_answers_everything(undisturbed: dict[str, Any]) -> None:
    stores = undisturbed["stores"]
    assert len(stores["home/results/kept/v1"]) > 10
    assert len(stores["home/results/rows/v1"]) > 10
    assert stores["home/results/changed/v1"]
    assert stores["home/results/changed/v2"]
    assert stores["home/results/new/v1"]
    for name in ("longer", "total"):  # from cells that were there: the row at 0.25 is in the first window
        assert stores[f"home/results/{name}/v1"][0]["window_start"].timestamp() == 0
    assert [json.loads(row["row"])["note"] for row in undisturbed["dead"]["home/dead/casts@1"]] == ["x"]
    assert len(undisturbed["lines"]) > 10
    assert len(undisturbed["sheet"]) > 10


@pytest.mark.parametrize("store", ["here", "bucket", pytest.param("share", marks=pytest.mark.slow)])
@pytest.mark.parametrize("point", list_fault_points())
def test_killed_there_and_started_again_it_answers_the_same(
    crashes: Crashes, undisturbed: dict[str, Any], memory: Path, point: str, store: str
) -> None:
    path = memory / store / point
    path.mkdir(parents=True)
    ended = [crashes.live(path, f"{point}:{hit}", store) for hit in LIVES[store]]
    assert ended[0] == "killed", "the program never got to this point"
    assert "failed" not in ended
    if ended[-1] != "done":
        assert crashes.live(path, store=store) == "done"
    assert outcome(path) == undisturbed
