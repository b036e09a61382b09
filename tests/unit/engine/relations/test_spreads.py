"""Relations in buckets on a home: stopped, moved and forgotten they tell what the reference says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.cases import first
from tests.properties.relationlives import changed, stopped
from tests.properties.relations import as_case, assert_right, disagreements, scenario
from tests.unit.engine.crew import LocalCrew
from tests.unit.engine.relations.homes import OnHome
from tests.unit.engine.relations.test_restarts import PROGRAM, early, live, rows, told
from weft.engine import runtime


class Moving(OnHome):
    """What its relations lie in differs from start to start, and changes as it runs."""

    def __init__(self, path: Path, rng: Random) -> None:
        super().__init__(path)
        self._rng = rng

    def start(self, program: str) -> None:
        self.crew = self._some()
        super().start(program)

    def ingest(self, stream: str, rows_: object) -> None:
        super().ingest(stream, rows_)  # type: ignore[arg-type]
        if self._rng.random() < 0.2:
            self.runtime.place(self._some())

    def _some(self) -> LocalCrew | None:
        return self._rng.choice([None, LocalCrew(2), LocalCrew(3), LocalCrew(3, forgets=0.9)])


@pytest.fixture
def adapter(tmp_path: Path) -> Iterator[OnHome]:
    made = OnHome(tmp_path / "home", LocalCrew(3))
    yield made
    made.stop()


@pytest.mark.parametrize("seed", first(3, range(12)))
def test_stopped_and_forgotten_they_tell_what_the_reference_says(
    seed: int, adapter: OnHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(14000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", rng.choice([1, 2, 3]))
    made = scenario(rng, 6, 40, f"found by seed {14000 + seed}, stopped")
    wrong = disagreements(made, stopped(made, adapter, rng))
    assert_right(made, wrong)


@pytest.mark.parametrize("seed", first(3, range(12)))
def test_moved_they_tell_the_same(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(15000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", rng.choice([1, 2, 3]))
    adapter = Moving(tmp_path / "home", rng)
    made = scenario(rng, 6, 40, f"found by seed {15000 + seed}, moved")
    wrong = disagreements(made, stopped(made, adapter, rng))
    assert_right(made, wrong)
    adapter.stop()


@pytest.mark.parametrize("seed", first(2, range(6)))
def test_changes_told_early_are_put_right_wherever_they_were_told(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(16000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1 + seed % 3)
    adapter = Moving(tmp_path / "home", rng)
    made = early(scenario(rng, 8, 40, f"found by seed {16000 + seed}, changes, moved"))
    wrong = disagreements(made, stopped(made, adapter, rng))
    assert_right(made, wrong)
    adapter.stop()


@pytest.mark.parametrize("seed", first(3, range(8)))
def test_queries_come_and_go_between_stops_and_moves(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(17000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1 + seed % 3)
    adapter = Moving(tmp_path / "home", rng)
    made = scenario(rng, 6, 40, f"found by seed {17000 + seed}, changed")
    wrong = changed(made, adapter, rng)
    assert not wrong, as_case(made) + "\n".join(wrong.values())
    adapter.stop()


FEEDS = [
    ("a", rows(("A", 1, 1), ("B", 2, 12))),
    ("b", rows(("A", 3, 11))),
    ("a", rows(("A", 4, 7))),  # complete before 10
    ("b", rows(("C", 5, 5))),  # complete before 11
    ("a", rows(("C", 6, 13))),
    ("b", rows(("A", 7, 14))),
    None,
    ("a", rows(("B", 8, 48))),
    ("b", rows(("B", 9, 49))),
    None,
]


@pytest.mark.parametrize("stops", [False, True])
def test_all_that_is_counted_is_as_in_the_driver(tmp_path: Path, stops: bool) -> None:
    said = []
    for at, crew in enumerate((None, LocalCrew(3))):
        adapter = OnHome(tmp_path / str(at), crew)
        live(adapter, PROGRAM, FEEDS, stops)
        names = list(adapter.runtime.running)
        said.append(
            {name: (told(adapter, name), adapter.late(name), adapter.dead(name)) for name in names}
            | {kind: [adapter.runtime.tally.total(kind)] for kind in ("answers", "windows", "late")}
        )
        assert bool(adapter.runtime.spreads) == bool(crew)
        adapter.stop()
    assert said[0] == said[1]
    assert said[0]["late"][0]


def test_a_bucket_goes_on_with_what_it_held(tmp_path: Path) -> None:
    adapter = OnHome(tmp_path / "home", LocalCrew(3, forgets=0.0))
    live(adapter, PROGRAM, FEEDS, stops=False)
    assert adapter.runtime.spreads.reloads == 3  # at the first step there is nothing yet
    adapter.stop()
