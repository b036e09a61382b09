"""Relations in buckets killed between durable writes tell what they tell in the driver, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import each
from tests.unit.engine.relations.test_crashes import POINTS, crashes, killed, outcome, undisturbed
from tests.unit.engine.test_crashes import Crashes, memory

__all__ = ["crashes", "memory", "undisturbed"]

WRITES = (
    "answers.data.",
    "answers.record.",
    "snapshots.data.",
    "snapshots.record.",
)  # of what buckets say and hold


@pytest.fixture(scope="module")
def bucketed() -> Iterator[Crashes]:
    made = Crashes("tests.unit.engine.relations.crashing_in_buckets")
    yield made
    made.close()


def test_undisturbed_they_tell_what_they_tell_in_the_driver(
    bucketed: Crashes, undisturbed: dict[str, Counter[str]], memory: Path
) -> None:
    path = memory / "bucketed"
    path.mkdir()
    assert bucketed.live(path) == "done"
    assert outcome(path) == undisturbed


@pytest.mark.parametrize("point", each(6, [point for point in POINTS if point.startswith(WRITES)]))
def test_killed_there_and_started_again_they_tell_the_same(
    bucketed: Crashes, undisturbed: dict[str, Counter[str]], memory: Path, point: str
) -> None:
    assert killed(bucketed, memory / f"bucketed-{point}", point) == undisturbed
