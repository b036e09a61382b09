"""What relations hold, counted: rows that still matter to some query, and files of the log that hold such."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from tests.unit.engine.relations.homes import OnHome
from weft.engine import runtime
from weft.engine.relations.deduplicating import Deduplicating

SECOND = 1_000_000
STREAMS = "".join(
    f"CREATE STREAM {name} (k STRING, v INT, at TIMESTAMP) TIMESTAMP BY at DELAY 0 SECONDS MAX AHEAD OFF "
    "FROM parquet OPTIONS ('path' = 'rows');\n"
    for name in "ab"
)
JOIN = "SELECT x.v, y.v AS w FROM a [RANGE {0} SECONDS] x JOIN b [RANGE {0} SECONDS] y ON x.k = y.k WHERE {1}"
QUERIES = {  # range in seconds, least v of the left side
    "short": (4, 0),
    "some": (20, 7),
    "long": (12, 3),
}
History = list[tuple[int, int]]  # event time in seconds and v


def program(*names: str) -> str:
    joins = {name: JOIN.format(QUERIES[name][0], f"x.v >= {QUERIES[name][1]}") for name in names}
    return STREAMS + "".join(f"CREATE QUERY {name} AS {join};\n" for name, join in joins.items())


def batch(at: int, values: list[int]) -> pa.Table:
    times = pa.array([at * SECOND] * len(values), pa.timestamp("us", tz="UTC"))
    return pa.table({"k": ["A"] * len(values), "v": pa.array(values, pa.int32()), "at": times})


def wanted(history: dict[str, History], now: int, *names: str) -> int:
    """The rows that one of these queries may still pair with a row to come, by a plain count."""
    found = 0
    for stream, rows in history.items():
        for at, v in rows:
            asking = [QUERIES[name] for name in names if stream == "b" or v >= QUERIES[name][1]]
            found += any(at + range_ > now for range_, _ in asking)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_chain_holds_what_some_query_still_wants(seed: int, tmp_path: Path) -> None:
    rng, history = Random(seed), {"a": [], "b": []}
    adapter = OnHome(tmp_path / "home")
    adapter.start(program(*QUERIES))
    running = list(QUERIES)
    for now in range(60):
        for stream, rows in history.items():
            values = [rng.randrange(10) for _ in range(rng.randrange(1, 4))]
            adapter.ingest(stream, batch(now, values))
            rows += [(now, v) for v in values]
        if now == 30:
            running.remove("some")
            adapter.change(program(*running))
        if now == 45:
            adapter.restart(program(*running))
        (chain,) = adapter.runtime.relations.graph.chains
        alone = [wanted(history, now, name) for name in running]
        assert chain.rows == wanted(history, now, *running)
        assert max(alone) <= chain.rows <= sum(alone)
    adapter.stop()


def test_distinct_holds_at_most_twice_what_is_there(tmp_path: Path) -> None:
    rng, adapter = Random(7), OnHome(tmp_path / "home")
    adapter.start(
        STREAMS
        + "CREATE QUERY keys AS SELECT DISTINCT x.v FROM a [RANGE 20 SECONDS] x, b [RANGE 9 SECONDS] y;"
    )
    most = 0
    for now in range(40):
        for stream in "ab":
            adapter.ingest(stream, batch(now, [rng.randrange(6) for _ in range(5)]))
        nodes = adapter.runtime.relations.graph.nodes()
        (held,) = (len(each.operator.longest) for each in nodes if isinstance(each.operator, Deduplicating))
        assert held <= 2 * 6
        most = max(most, held)
    assert most > 6
    adapter.stop()


def test_files_of_the_log_are_kept_for_as_long_as_the_longest_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1)
    adapter = OnHome(tmp_path / "home")
    adapter.start(program("short", "long"))
    for now in range(40):
        for stream in "ab":
            adapter.ingest(stream, batch(now, [5]))
        for stream in "ab":
            files = adapter.batches(stream)
            assert files[-1] == now
            assert files[0] <= max(now - 12, 0)  # a row of then is in the window of 12 seconds still
            assert files[0] >= now - 15  # it takes another snapshot or two to be sure
    adapter.stop()
