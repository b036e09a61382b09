"""Queries that come and go while others run: what they share, and that it makes no difference to anyone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.properties.relationchanges import come_and_go, in_small_batches, joins, vouched
from tests.properties.relations import as_case, scenario
from tests.unit.engine.relations.homes import OnHome
from weft.engine import runtime


@pytest.fixture
def adapter(tmp_path: Path) -> Iterator[OnHome]:
    made = OnHome(tmp_path / "home")
    yield made
    made.stop()


@pytest.mark.parametrize("seed", range(10))
def test_joins_of_one_chain_come_and_go(seed: int, adapter: OnHome, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(7000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1 + seed % 3)
    made = joins(scenario(rng, 1, 60, f"found by seed {7000 + seed}, changed"), rng, 6)

    def watch() -> None:
        chains = [chain.chain for chain in adapter.runtime.relations.graph.chains]
        assert 1 <= len(chains) <= 2  # on equal keys, and on these with something more
        assert all((chain.left, chain.right) == ("a", "b") for chain in chains)

    wrong = come_and_go(in_small_batches(made, rng), adapter, rng, watch)
    assert not wrong, as_case(made.only(*wrong)) + "\n".join(wrong.values())


@pytest.mark.parametrize("seed", range(10))
def test_any_queries_come_and_go(seed: int, adapter: OnHome, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(8000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1 + seed % 3)
    made = scenario(rng, 6, 60, f"found by seed {8000 + seed}, changed")
    wrong = come_and_go(in_small_batches(vouched(made), rng), adapter, rng)
    assert not wrong, as_case(made.only(*wrong)) + "\n".join(wrong.values())


@pytest.mark.parametrize("seed", range(5))
def test_joins_that_begin_with_full_windows(
    seed: int, adapter: OnHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(9000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1 + seed % 3)
    made = joins(scenario(rng, 1, 60, f"found by seed {9000 + seed}, changed"), rng, 6)
    wrong = come_and_go(in_small_batches(vouched(made), rng), adapter, rng)
    assert not wrong, as_case(made.only(*wrong)) + "\n".join(wrong.values())
    assert any(version.whole for version in adapter.runtime.catalog.all_versions())
