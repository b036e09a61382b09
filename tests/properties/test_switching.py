"""Random programs on Spark whose queries are switched to other treatments: the reference's answers."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.cases import first
from tests.properties.programs import STREAM, assert_right, disagreements, scenario
from tests.properties.test_weft import weft
from tests.properties.treatments import switches, treatments

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("seed", first(1, range(9000, 9004)))
def test_switched_at_random_and_killed_between(seed: int, spark, tmp_path: Path) -> None:
    rng, pool = Random(seed), 6 if seed < 9002 else 0
    name = f"found by seed {seed}, switched"
    made = scenario(rng, 12, 80, name, picking=0.5, sets=0.2, ranging=0.5, pool=pool)
    switched = 0
    with weft(spark, tmp_path) as adapter:
        adapter.start(made.text)
        asked = switches(rng, treatments(adapter.runtime.program))
        for feed, picks_by in zip(made.feeds, asked, strict=False):
            before = len(adapter.runtime.catalog.epochs)
            adapter.runtime.switch(picks_by, "a test")
            switched += len(adapter.runtime.catalog.epochs) - before
            if rng.random() < 0.3:
                adapter.stop()
                adapter.start(made.text)
            adapter.ingest(STREAM, feed)
        adapter.drain(None)
        found = {query: adapter.results(query) for query, _ in made.queries}
    assert switched
    wrong = disagreements(made, found)
    assert_right(made, wrong)
