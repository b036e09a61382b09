"""Relations killed between any two durable writes tell all there is to tell, and nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import each
from tests.unit.engine.relations.crashing import PROGRAM, QUERIES
from tests.unit.engine.relations.homes import OnHome
from tests.unit.engine.test_crashes import Crashes, memory
from weft.log.durable import list_fault_points
from weft.testing.values import rows_of

__all__ = ["memory"]

SINKS = ("sink.", "answers.expire.", "answers.delete.")  # writes for those whom answers are delivered to
POINTS = [point for point in list_fault_points() if not point.startswith(SINKS)]
LIVES = (1, 3)  # killed at the first hit of the fault point, and then at the third from there


@pytest.fixture(scope="module")
def crashes() -> Iterator[Crashes]:
    made = Crashes("tests.unit.engine.relations.crashing")
    yield made
    made.close()


@pytest.fixture(scope="module")
def undisturbed(crashes: Crashes, memory: Path) -> dict[str, Counter[str]]:
    path = memory / "undisturbed"
    path.mkdir()
    assert crashes.live(path) == "done"
    return outcome(path)


def outcome(path: Path) -> dict[str, Counter[str]]:
    """All that is told of each query, and how many rows came late for it."""
    adapter = OnHome(path / "home")
    adapter.start(PROGRAM)
    told = {name: Counter(map(repr, rows_of(adapter.results(name)))) for name in QUERIES}
    late = Counter({name: adapter.late(name) for name in QUERIES})
    adapter.stop()
    return told | {"late": late}


def test_an_undisturbed_run_tells_of_everything(undisturbed: dict[str, Counter[str]]) -> None:
    assert all(undisturbed[name].total() > 5 for name in QUERIES)
    assert all(undisturbed["late"].values())


def killed(crashes: Crashes, path: Path, point: str) -> dict[str, Counter[str]]:
    """All that is told by a program that was killed there, again and again, and came to its end."""
    path.mkdir()
    ended = [crashes.live(path, f"{point}:{hit}") for hit in LIVES]
    assert ended[0] == "killed", "the program never got to this point"
    assert "failed" not in ended
    if ended[-1] != "done":
        assert crashes.live(path) == "done"
    return outcome(path)


@pytest.mark.parametrize("point", each(3, POINTS))
def test_killed_there_and_started_again_it_tells_the_same(
    crashes: Crashes, undisturbed: dict[str, Counter[str]], memory: Path, point: str
) -> None:
    assert killed(crashes, memory / point, point) == undisturbed
