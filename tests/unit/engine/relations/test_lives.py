"""Random relations on a home, stopped, changed and moved: what the reference says, wherever they lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from tests.cases import first
from tests.properties.asks import Pick
from tests.properties.relationlives import changed, stopped
from tests.properties.relations import Scenario, as_case, assert_right, disagreements, scenario
from tests.properties.relationsizes import EVERYTHING, Sizes
from tests.unit.engine.crew import LocalCrew
from tests.unit.engine.relations.homes import OnHome, planned
from weft.engine import runtime
from weft.lang.bodies import Emission
from weft.share.build import build
from weft.share.relations.bucketing import bucketing_of

OFTEN = 1  # seeds of each kind in each place that always run
SEEDS = first(OFTEN, range(8))


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


@dataclass(frozen=True)
class Life:
    """What random programs are made of, from a seed on."""

    seed: int
    queries: int
    rows: int
    sizes: Sizes | None = None
    early: bool = False  # those that may tell changes, and do so

    def drawn(self, seed: int) -> tuple[Random, Scenario]:
        rng = Random(self.seed + seed)
        made = scenario(
            rng, self.queries, self.rows, f"found by seed {self.seed + seed}, stopped", self.sizes
        )
        return rng, _early(made) if self.early else made


def _early(made: Scenario) -> Scenario:
    queries = tuple(
        (name, replace(asked, emission=Emission.CHANGES))
        for name, asked in made.queries
        if isinstance(asked.body, Pick) and not asked.body.slide
    )
    assert queries
    return replace(made, queries=queries)


LIVES = {
    "plain": Life(4000, 6, 40),
    "everything": Life(8031, 6, 24, EVERYTHING),
    "early": Life(5031, 8, 24, early=True),
}
CHANGED = Life(6002, 6, 40)
PLACES = ("driver", "buckets", "moved")


@pytest.fixture(params=PLACES)
def adapter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OnHome]:
    path = tmp_path / "home"
    match request.param:
        case "moved":
            made: OnHome = Moving(path, Random(request.node.name))
        case place:
            made = OnHome(path, LocalCrew(3) if place == "buckets" else None)
    yield made
    made.stop()


def in_buckets(made: Scenario) -> frozenset[str]:
    """The queries of a program that have a key."""
    return bucketing_of(build(planned(made.text))).queries()


@pytest.mark.parametrize("life", [*LIVES.values(), CHANGED])
def test_some_of_these_queries_lie_in_buckets(life: Life) -> None:
    assert sum(len(in_buckets(life.drawn(seed)[1])) for seed in range(OFTEN)) >= 2 * OFTEN


@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize("seed", SEEDS)
def test_stopped_at_random_they_tell_what_the_reference_says(
    seed: int, life: str, adapter: OnHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, made = LIVES[life].drawn(seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", rng.choice([1, 2, 3]))
    assert_right(made, disagreements(made, stopped(made, adapter, rng)))
    assert adapter.runtime.spreads.queries == (in_buckets(made) if adapter.crew else frozenset())


@pytest.mark.parametrize("seed", SEEDS)
def test_queries_come_and_go_between_stops(
    seed: int, adapter: OnHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, made = CHANGED.drawn(seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", rng.choice([1, 2, 3]))
    wrong = changed(made, adapter, rng)
    assert not wrong, as_case(made) + "\n".join(wrong.values())
