"""Queries that come and go while others run: what they share, and that it makes no difference to anyone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.properties.relationchanges import come_and_go, joins
from tests.properties.relations import as_case, scenario
from tests.unit.engine.relations.homes import OnHome
from weft.engine import runtime


@pytest.fixture
def adapter(tmp_path: Path) -> Iterator[OnHome]:
    made = OnHome(tmp_path / "home")
    yield made
    made.stop()


@pytest.mark.parametrize("seed", range(12))
def test_joins_of_one_chain_come_and_go(seed: int, adapter: OnHome, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(7000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1 + seed % 3)
    made = joins(scenario(rng, 1, 50, f"found by seed {7000 + seed}, changed"), rng, 6)
    kinds = set()

    def watch() -> None:
        chains = adapter.runtime.relations.graph.chains
        kinds.add(len(chains))
        assert len(chains) == len({chain.chain for chain in chains}) <= 2  # one of equal keys, one with more

    wrong = come_and_go(made, adapter, rng, watch)
    assert not wrong, as_case(made.only(*wrong)) + "\n".join(wrong.values())
    assert kinds


@pytest.mark.parametrize("seed", range(12))
def test_any_queries_come_and_go(seed: int, adapter: OnHome, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(8000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1 + seed % 3)
    made = scenario(rng, 6, 50, f"found by seed {8000 + seed}, changed")
    wrong = come_and_go(made, adapter, rng)
    assert not wrong, as_case(made.only(*wrong)) + "\n".join(wrong.values())
