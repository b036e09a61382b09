"""What a run counts of its joins, and what it decides by that when it starts again or joins are added."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from tests.unit.engine.crew import LocalCrew
from tests.unit.engine.relations.homes import OnHome
from tests.unit.engine.relations.loom import Loom
from weft.engine import knowledge, runtime
from weft.engine.knowledge import basis_of, decided_by
from weft.optimize.pipeline import optimize_program
from weft.plan.relationplacing import joins_below
from weft.share.explain import explain_program
from weft.testing.harness import bound
from weft.times import HOUR, MINUTE

SECOND = 1_000_000
STREAMS = "".join(
    f"CREATE STREAM {name} (k STRING, v INT, at TIMESTAMP) TIMESTAMP BY at DELAY 0 SECONDS MAX AHEAD OFF "
    "FROM parquet OPTIONS ('path' = 'rows');\n"
    for name in "abc"
)
SHORT = "CREATE QUERY short AS SELECT x.v FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 MINUTE] y ON x.k = y.k;\n"
LONG = (
    "CREATE QUERY long AS SELECT x.v FROM a [RANGE 1 HOUR] x JOIN b [RANGE 1 MINUTE] y ON x.k = y.k "
    "WHERE x.v > 3;\n"
)
OTHER = (
    "CREATE QUERY other AS SELECT x.v FROM a [RANGE 2 HOURS] x JOIN b [RANGE 1 MINUTE] y ON x.k = y.k "
    "WHERE x.v > 3;\n"
)
ABSENT = (
    "CREATE QUERY absent AS SELECT x.v FROM a [RANGE 2 SECONDS] x JOIN b [RANGE 2 SECONDS] y ON x.k = y.k "
    "WHERE NOT EXISTS (SELECT 1 FROM c [RANGE 2 SECONDS] z WHERE z.k = x.k);\n"
)


@pytest.fixture(autouse=True)
def few_rows_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge, "ENOUGH", 10)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1)


def batch(at: int, keys: int, v: int = 0, rows: int = 40) -> pa.Table:
    times = pa.array([at * SECOND] * rows, pa.timestamp("us", tz="UTC"))
    values = pa.array([v if row else 9 for row in range(rows)], pa.int32())  # one of them is above 3
    return pa.table({"k": [f"k{(at * rows + row) % keys}" for row in range(rows)], "v": values, "at": times})


def fed(adapter: OnHome, keys: int, v: int = 0, streams: str = "ab") -> None:
    for at in range(12):
        for stream in streams:
            adapter.ingest(stream, batch(at, keys, v))


def test_rates_parts_and_keys_are_counted_and_outlive_a_stop(tmp_path: Path) -> None:
    adapter = OnHome(tmp_path / "home")
    adapter.start(STREAMS + SHORT + LONG)
    fed(adapter, keys=20)
    for _ in range(2):
        load = basis_of(adapter.runtime).loads.of("a")
        assert load.rows == pytest.approx(40, rel=0.1)
        assert load.passing == {"v > 3": pytest.approx(1 / 40)}
        assert load.joined == {"k": 20.0}
        adapter.restart(STREAMS + SHORT + LONG)
    adapter.stop()


def classes(adapter: OnHome) -> tuple[tuple[int, ...], ...]:
    (chain,) = adapter.runtime.relations.graph.chains
    return chain.classes[0]


@pytest.mark.parametrize(("v", "together"), [(0, False), (9, True)])
def test_classes_are_chosen_by_what_was_counted_at_the_next_start(
    v: int, together: bool, tmp_path: Path
) -> None:
    """Half of the rows is assumed to be wanted for an hour: where hardly any is, they lie apart."""
    adapter, text = OnHome(tmp_path / "home"), STREAMS + SHORT + LONG
    adapter.start(text)
    assert classes(adapter) == ((MINUTE,), (HOUR,))
    fed(adapter, keys=2, v=v)
    adapter.restart(text)
    assert classes(adapter) == (((MINUTE, HOUR),) if together else ((MINUTE,), (HOUR,)))
    adapter.stop()


def test_classes_are_chosen_anew_when_joins_come_or_go(tmp_path: Path) -> None:
    adapter = OnHome(tmp_path / "home")
    adapter.start(STREAMS + SHORT + LONG + OTHER)
    fed(adapter, keys=2, v=9)
    assert classes(adapter) == ((MINUTE,), (HOUR, 2 * HOUR))
    adapter.change(STREAMS + SHORT + LONG)
    assert classes(adapter) == ((MINUTE, HOUR),)
    adapter.stop()


def test_in_buckets_classes_are_chosen_by_what_was_counted_as_well(tmp_path: Path) -> None:
    crew, text = LocalCrew(2, forgets=0.0), STREAMS + SHORT + LONG
    adapter = OnHome(tmp_path / "home", crew)
    adapter.start(text)
    fed(adapter, keys=2, v=9)
    assert classes_in_buckets(crew) == [((MINUTE,), (HOUR,))] * 2
    adapter.restart(text)
    adapter.ingest("a", batch(12, keys=2))
    assert classes_in_buckets(crew) == [((MINUTE, HOUR),)] * 2
    adapter.stop()


def classes_in_buckets(crew: LocalCrew) -> list[tuple[tuple[int, ...], ...]]:
    """Of the relations that each bucket holds."""
    kept = list(crew.cache.kept.items())[-crew.buckets :]
    held = [pickle.loads(body, buffers=arrays) for (_, stream, _), (_, body, arrays) in kept if not stream]
    return [chain.classes[0] for each in held for chain in each.relations.graph.chains]


def test_absence_is_put_by_what_was_counted_at_the_next_start(tmp_path: Path) -> None:
    """Every key is there once: pairs are few, and so only they are taken back."""
    adapter, text = OnHome(tmp_path / "home"), STREAMS + ABSENT
    adapter.start(text)
    assert joins_below(adapter.runtime.plan.related[0].relation) == (0,)
    fed(adapter, keys=10_000, streams="abc")
    adapter.restart(text)
    assert joins_below(adapter.runtime.plan.related[0].relation) == (1,)
    said = explain_program(
        adapter.runtime.program,
        "absent",
        basis=basis_of(adapter.runtime),
        decided=decided_by(adapter.runtime),
    )
    assert "absence  above the join" in said
    assert "keys measured" in said
    adapter.stop()


def test_keys_are_counted_wherever_rows_are_matched() -> None:
    joins = "a [RANGE 9 SECONDS] x JOIN b [RANGE 9 SECONDS] y ON x.k = y.k"
    text = (
        f"CREATE QUERY three AS SELECT x.v FROM {joins} JOIN c [RANGE 9 SECONDS] z ON x.k = z.k;\n"
        "CREATE QUERY alone AS SELECT v FROM a [RANGE 9 SECONDS] x "
        "WHERE NOT EXISTS (SELECT 1 FROM c [RANGE 9 SECONDS] z WHERE z.v = x.v AND z.k = x.k);\n"
    )
    loom = Loom(optimize_program(bound(STREAMS + text)))
    for at in range(4):
        for stream in "abc":
            loom.feed(stream, batch(at, 7))
    found = loom.relations.keys()
    assert {stream: mine["k"] for stream, mine in found.items() if "k" in mine} == {"a": 7, "b": 7, "c": 7}
    due = range(3 * 40)  # the rows of the last second may still be joined by others
    assert found["a"]["v, k"] == len({(n % 7, n % 40 == 0) for n in due})
