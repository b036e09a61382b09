"""Tables that are made of the changes of a stream: what the reference says, however they are run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from tests.cases import first
from tests.properties.flows import Flowing, disagreements, flowing, shown
from tests.unit.engine.relations.homes import OnHome
from tests.unit.engine.relations.loom import Loom
from weft.engine import runtime
from weft.optimize.pipeline import optimize_program

SEEDS = range(24)


def fed(made: Flowing) -> Loom:
    loom = Loom(optimize_program(made.program))
    for stream, rows in made.feeds:
        loom.feed(stream, rows)
    loom.drain()
    return loom


@pytest.mark.parametrize("seed", first(4, SEEDS))
def test_what_is_told_is_what_the_reference_says(seed: int) -> None:
    made = flowing(Random(seed), 6, 40, f"found by seed {seed}")
    wrong = disagreements(made, fed(made).results())
    assert not wrong, shown(made, wrong)


@pytest.mark.parametrize("seed", first(2, SEEDS[:6]))
def test_however_the_rows_are_cut_into_batches(seed: int) -> None:
    made = flowing(Random(1000 + seed), 6, 40, f"found by seed {1000 + seed}, whole")
    streams = dict.fromkeys(stream for stream, _ in made.feeds)
    whole = [(name, pa.concat_tables([rows for of, rows in made.feeds if of == name])) for name in streams]
    once = replace(made, feeds=tuple(whole))
    wrong = disagreements(once, fed(once).results())
    assert not wrong, shown(once, wrong)


@pytest.mark.parametrize("seed", first(2, SEEDS[:8]))
def test_changes_told_early_add_up_to_the_truth(seed: int) -> None:
    made = flowing(Random(2000 + seed), 6, 40, f"found by seed {2000 + seed}, early", changes=True)
    wrong = disagreements(made, fed(made).results())
    assert not wrong, shown(made, wrong)


@pytest.mark.parametrize("seed", first(2, SEEDS[:12]))
def test_stopped_at_random_places_it_tells_what_the_reference_says(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is older than the snapshot and out of every window is gone from the log by then."""
    rng = Random(3000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", rng.choice([1, 2, 3]))
    made = flowing(rng, 6, 60, f"found by seed {3000 + seed}, stopped", changes=seed % 3 == 0)
    adapter = OnHome(tmp_path / "home")
    adapter.start(made.text)
    for stream, rows in made.feeds:
        if adapter.runtime.terms(stream).plan is not None:
            adapter.ingest(stream, rows)
        if rng.random() < 0.3:
            adapter.restart(made.text)
    adapter.drain(None)
    wrong = disagreements(made, {name: adapter.results(name) for name, _ in made.queries})
    adapter.stop()
    assert not wrong, shown(made, wrong)


@pytest.mark.parametrize("seed", first(2, SEEDS[:12]))
def test_queries_that_are_added_later_see_what_is_in_force_by_then(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(4000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", rng.choice([1, 2, 3]))
    made = flowing(rng, 6, 60, f"found by seed {4000 + seed}, added")
    adapter, early = OnHome(tmp_path / "home"), made.only("q0", "q1")
    adapter.start(early.text)
    added, taken = rng.randrange(len(made.feeds)), []
    for at, (stream, rows) in enumerate(made.feeds):
        if at == added:
            adapter.change(made.text)
        if adapter.runtime.terms(stream).plan is not None:  # else nobody reads it yet
            adapter.ingest(stream, rows)
            taken.append((stream, rows))
        if rng.random() < 0.2:
            adapter.restart(early.text if at < added else made.text)
    adapter.drain(None)
    bounds = {name: query.bound for name, query in adapter.runtime.running.items() if query.bound is not None}
    seen = replace(made, feeds=tuple(taken))
    wrong = disagreements(seen, {name: adapter.results(name) for name, _ in made.queries}, bounds)
    adapter.stop()
    assert not wrong, shown(seen, wrong)
