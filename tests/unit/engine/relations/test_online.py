"""Queries that come and go while others run: what they share, and that it makes no difference to anyone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.cases import first
from tests.properties.relationchanges import come_and_go, in_small_batches, joins, vouched
from tests.properties.relations import assert_right, scenario
from tests.unit.engine.relations.homes import OnHome
from tests.unit.engine.relations.test_held import STREAMS, all_wanted, asks_of, batch, program
from weft.engine import runtime
from weft.kernels.combine import Ints
from weft.kernels.relations.lots import Found
from weft.kernels.relations.store import Keys, RowStore


@pytest.fixture
def adapter(tmp_path: Path) -> Iterator[OnHome]:
    made = OnHome(tmp_path / "home")
    yield made
    made.stop()


JOIN = (
    "CREATE QUERY j{0} AS SELECT x.v, y.v AS w "
    "FROM a [RANGE {1} SECONDS] x JOIN b [RANGE {1} SECONDS] y ON x.k = y.k WHERE {2};\n"
)


class Counted:
    """Pairs that are found in stores, whoever asks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pairs, plain = 0, RowStore.pairs

        def counted(store: RowStore, keys: Keys, begins: Ints, ends: Ints) -> Found:
            found = plain(store, keys, begins, ends)
            self.pairs += len(found)
            return found

        monkeypatch.setattr(RowStore, "pairs", counted)


def test_one_join_more_holds_and_finds_hardly_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted, rng = Counted(monkeypatch), Random(1)
    queries = [JOIN.format(number, 2 + number % 7, f"x.v >= {number % 5}") for number in range(20)]
    more = JOIN.format(20, 6, "x.v < 4") + JOIN.format(21, 12, "x.v >= 9")
    adapters = [OnHome(tmp_path / name) for name in ("twenty", "later", "always")]
    held, found = [0, 0, 0], [0, 0, 0]
    for adapter in adapters:
        adapter.start(STREAMS + "".join(queries) + (more if adapter is adapters[2] else ""))
    for now in range(40):
        batches = {stream: batch(now, [rng.randrange(10) for _ in range(6)]) for stream in "ab"}
        for at, adapter in enumerate(adapters):
            if at == 1 and now == 20:
                adapter.change(STREAMS + "".join(queries) + more)
            before = counted.pairs
            for stream, rows in batches.items():
                adapter.ingest(stream, rows)
            (chain,) = adapter.runtime.relations.graph.chains
            if now > 32:
                held[at], found[at] = held[at] + chain.rows, found[at] + counted.pairs - before
    assert adapters[1].results("j20").num_rows > 100
    assert adapters[1].results("j21").num_rows > 100
    assert held[0] < held[1] < 1.4 * held[0]  # rows of `b` for twelve seconds instead of eight
    assert found[0] < found[1] < 1.4 * found[0]
    assert (held[1], found[1]) == (held[2], found[2])
    for adapter in adapters:
        adapter.stop()


@pytest.mark.parametrize("seed", range(3))
def test_a_chain_holds_what_is_wanted_of_it_after_any_changes(seed: int, adapter: OnHome) -> None:
    rng, history = Random(seed), {"a": [], "b": []}
    running, since = ["short"], {"short": -1}
    adapter.start(program("short"))
    most = 0
    for now in range(80):
        if rng.random() < 0.2:
            name = rng.choice(["some", "long"])
            if name in running:
                running.remove(name)
            else:
                running.append(name)
            adapter.change(program(*running))
            whole = {query.name for query in adapter.runtime.running.values() if query.whole}
            since |= {name: -1 if name in whole else now - 1}
        for stream, rows in history.items():
            values = [rng.randrange(10) for _ in range(rng.randrange(1, 4))]
            adapter.ingest(stream, batch(now, values))
            rows += [(now, v) for v in values]
        (chain,) = adapter.runtime.relations.graph.chains
        assert chain.rows == all_wanted(history, now, [asks_of(name, since[name]) for name in running])
        most = max(most, len(running))
    assert most == 3


@pytest.mark.parametrize("seed", first(2, range(10)))
def test_joins_of_one_chain_come_and_go(seed: int, adapter: OnHome, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(7000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1 + seed % 3)
    made = joins(scenario(rng, 1, 60, f"found by seed {7000 + seed}, changed"), rng, 6)

    def watch() -> None:
        chains = [chain.chain for chain in adapter.runtime.relations.graph.chains]
        assert 1 <= len(chains) <= 2  # on equal keys, and on these with something more
        assert all((chain.left, chain.right) == ("a", "b") for chain in chains)

    wrong = come_and_go(in_small_batches(made, rng), adapter, rng, watch)
    assert_right(made, wrong)


@pytest.mark.parametrize("seed", first(2, range(10)))
def test_any_queries_come_and_go(seed: int, adapter: OnHome, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(8000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1 + seed % 3)
    made = scenario(rng, 6, 60, f"found by seed {8000 + seed}, changed")
    wrong = come_and_go(in_small_batches(vouched(made), rng), adapter, rng)
    assert_right(made, wrong)


@pytest.mark.parametrize("seed", first(2, range(5)))
def test_joins_that_begin_with_full_windows(
    seed: int, adapter: OnHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(9000 + seed)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1 + seed % 3)
    made = joins(scenario(rng, 1, 60, f"found by seed {9000 + seed}, changed"), rng, 6)
    wrong = come_and_go(in_small_batches(vouched(made), rng), adapter, rng)
    assert_right(made, wrong)
    assert any(version.whole for version in adapter.runtime.catalog.all_versions())
