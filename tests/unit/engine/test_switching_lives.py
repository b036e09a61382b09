"""Killed while its queries are switched, and started again, a program answers as if nothing had happened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each
from tests.unit.engine.bench import read
from tests.unit.engine.switchinglives import BATCHES
from tests.unit.engine.test_crashes import Crashes
from weft.log.catalog import Catalog
from weft.log.home import Home

# The catalog is written when the program starts, and twice for each switch: when it begins and is settled.
KILLS = [f"catalog.record.{part}:{hit}" for part in ("before", "half", "after") for hit in (2, 3, 4, 5)]
KILLS += [f"{what}:{hit}" for what in ("answers.intent.after", "answers.record.after") for hit in (6, 11, 16)]
KILLS += [f"{what}:{hit}" for what in ("ingest.record.after", "ingest.data.after") for hit in (6, 15)]
KILLS += [f"snapshots.record.after:{hit}" for hit in (2, 3, 4)]


@pytest.fixture(scope="module")
def crashes() -> Iterator[Crashes]:
    made = Crashes("tests.unit.engine.switchinglives")
    yield made
    made.close()


@pytest.fixture(scope="module")
def undisturbed(crashes: Crashes, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("undisturbed")
    assert crashes.live(path) == "done"
    return outcome(path)


def outcome(path: Path) -> dict[str, Any]:
    answers = {name: read(path / "home" / "results" / name / "v1") for name in ("a", "b")}
    epochs = Catalog(Home.look(path / "home")).epochs
    return {"answers": answers, "changes": [(one.switched, one.settled) for one in epochs]}


def test_undisturbed_it_is_switched_twice(undisturbed: dict[str, Any]) -> None:
    both = ("a@1", "b@1")
    assert undisturbed["changes"] == [((), ()), (both, ()), ((), both), (both, ()), ((), both)]
    for rows in undisturbed["answers"].values():
        ends = [row["window_end"].timestamp() for row in rows]
        assert sorted(ends) == list(range(2, 2 * BATCHES + 6, 2))


@pytest.mark.parametrize("kill", each(5, KILLS))
def test_killed_there_it_answers_the_same(
    crashes: Crashes, undisturbed: dict[str, Any], tmp_path: Path, kill: str
) -> None:
    assert crashes.live(tmp_path, kill) == "killed", "the program never got to this point"
    assert crashes.live(tmp_path) == "done"
    assert outcome(tmp_path) == undisturbed
