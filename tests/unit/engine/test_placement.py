"""Cells in buckets, in one place, and moved from one to the other: the answers are the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import in_parts
from tests.unit.engine.bench import Bench, Row, row
from tests.unit.engine.crew import LocalCrew
from weft.engine import runtime
from weft.engine.buckets import Share, places

pytestmark = pytest.mark.together

PROGRAM = """
CREATE QUERY n AS SELECT sym, window_end, COUNT(*) AS n, SUM(qty) AS q, MIN(price) AS p
  FROM trades [RANGE 6 SECONDS SLIDE 2 SECONDS] GROUP BY sym;
CREATE QUERY fine AS SELECT sym, note, window_end, MAX(qty) AS q
  FROM trades [RANGE 4 SECONDS] GROUP BY sym, note HAVING MAX(qty) > 3;
CREATE QUERY all_of_them AS SELECT window_end, COUNT(*) AS n FROM trades [RANGE 5 SECONDS] EMIT EMPTY;
CREATE QUERY notes AS SELECT note, window_end, COUNT(DISTINCT sym) AS n
  FROM trades [RANGE 4 SECONDS] GROUP BY note;
CREATE QUERY different AS SELECT window_end, COUNT(DISTINCT sym) AS n FROM trades [RANGE 4 SECONDS];
CREATE QUERY best AS SELECT sym, window_end, SUM(qty) AS q FROM trades [RANGE 4 SECONDS]
  GROUP BY sym ORDER BY q DESC LIMIT 2;
CREATE QUERY ratio AS SELECT sym, window_end, SUM(qty) DIV (COUNT(*) - 2) AS r
  FROM trades [RANGE 4 SECONDS] GROUP BY sym;
CREATE QUERY standing AS SELECT sym, qty FROM trades WHERE qty > 7;
"""
QUERIES = ("n", "fine", "all_of_them", "notes", "different", "best", "ratio", "standing")


def batches(seed: int, count: int) -> Iterator[list[Row]]:
    rng = random.Random(seed)
    for at in range(count):
        yield [
            row(
                f"s{rng.randrange(9)}",
                rng.random(),
                rng.randrange(10),
                rng.choice("xyz"),
                3 * at + 5 * rng.random(),
            )
            for _ in range(rng.randrange(1, 12))
        ]


def said(bench: Bench) -> dict[str, list[dict[str, object]]]:
    bench.drain()
    bench.deliver()
    found = {name: bench.answers(name) for name in QUERIES}
    return found | {"dead": bench.dead("ratio@1")}


def counted(bench: Bench) -> dict[str, object]:
    return dict(bench.runtime.tally.to_json())


def run(path: Path, placements: list[int], seed: int, forgets: float = 0.3) -> tuple[object, object]:
    """Each placement for two batches, moved to while it runs or, every second time, by a start anew."""
    given_rows = batches(seed, 2 * len(placements))
    bench: Bench | None = None
    for at, buckets in enumerate(placements):
        Bench.buckets = buckets
        if bench is not None and at % 2:
            bench.runtime.place(LocalCrew(buckets, forgets) if buckets else None)
        else:
            if bench is not None:
                bench.close()
            bench = Bench(path, PROGRAM)
        for _ in range(2):
            bench.ingest(*next(given_rows))
            bench.step()
    assert bench is not None
    try:
        return said(bench), counted(bench)
    finally:
        bench.close()


@in_parts(3)
@settings(max_examples=8, deadline=None)
@given(
    placements=st.lists(st.sampled_from([0, 1, 2, 5]), min_size=1, max_size=4),
    seed=st.integers(0, 1000),
    every=st.sampled_from([1, 3, 50]),
)
def test_answers_do_not_depend_on_where_the_cells_are(
    tmp_path_factory: pytest.TempPathFactory, placements: list[int], seed: int, every: int, part: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Bench, "buckets", 0)
        patched.setattr(runtime, "SNAPSHOT_EVERY", every)
        moved = run(tmp_path_factory.mktemp("moved"), placements, seed)
        still = run(tmp_path_factory.mktemp("still"), [0] * len(placements), seed)
    assert moved == still


@pytest.mark.parametrize("placements", [[0, 3, 0], [3, 0, 3], [3, 2, 0]])
def test_batches_on_their_way_while_cells_are_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, placements: list[int]
) -> None:
    """One is in the log and not yet folded, another was made for where the cells were."""

    def moved_to(path: Path, placements: list[int]) -> tuple[object, object]:
        monkeypatch.setattr(Bench, "buckets", placements[0])
        bench, given_rows = Bench(path, PROGRAM), batches(11, 3 * len(placements))
        for buckets in placements:
            bench.ingest(*next(given_rows))
            bench.step()
            bench.ingest(*next(given_rows))
            under_way = bench.batch(next(given_rows))
            bench.runtime.place(LocalCrew(buckets) if buckets else None)
            assert bench.runtime.commit(under_way)
            bench.step()
        try:
            return said(bench), counted(bench)
        finally:
            bench.close()

    still = moved_to(tmp_path / "still", [0] * len(placements))
    assert moved_to(tmp_path / "moved", placements) == still


@pytest.mark.parametrize("placements", [[3, 0], [3, 2], [0, 3]])
def test_batches_without_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, placements: list[int]
) -> None:
    text = """
      CREATE QUERY n AS SELECT sym, COUNT(*) AS n FROM trades [RANGE 4 SECONDS] WHERE qty > 5 GROUP BY sym;
    """
    for buckets in placements:
        monkeypatch.setattr(Bench, "buckets", buckets)
        bench = Bench(tmp_path, text)
        bench.ingest(row("a", 1.0, 1, "", 1.0))
        bench.step()
        bench.ingest(row("a", 1.0, 9, "", 2.0))
        bench.close()
    bench = Bench(tmp_path, text)
    bench.step()
    bench.drain()
    bench.deliver()
    assert [answer["n"] for answer in bench.answers("n")] == [2]
    bench.close()


def test_every_group_lives_in_one_bucket() -> None:
    keys = [pa.array([f"k{at}" for at in range(1000)]), pa.array(np.arange(1000) % 7)]
    found = [Share(bucket, 5).holds((False, ("a", "b"), 0, 0), keys, 1000) for bucket in range(5)]
    assert np.sum(found, axis=0).tolist() == [1] * 1000
    assert min(int(mine.sum()) for mine in found) > 100


def test_what_is_counted_distinct_lives_with_its_group() -> None:
    groups, values = pa.array([f"k{at % 10}" for at in range(100)]), pa.array(range(100))
    own = places((False, ("k",), 0, 0), [groups], 100, 4)
    assert places((True, ("k", "x"), 0, 0), [groups, values], 100, 4).tolist() == own.tolist()
    assert places((False, ("k", "x"), 1, 0), [groups, values], 100, 4).tolist() == own.tolist()


def test_a_stream_that_nobody_read_for_a_while_starts_without_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its older batches may have expired by the time a query reads it again."""
    monkeypatch.setattr(Bench, "buckets", 3)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1)
    old = "CREATE QUERY old AS SELECT sym, COUNT(*) AS n FROM trades [RANGE 4 SECONDS] GROUP BY sym;"
    new = "CREATE QUERY new AS SELECT note, COUNT(*) AS n FROM trades [RANGE 4 SECONDS] GROUP BY note;"
    bench = Bench(tmp_path, old)
    for at in range(6):
        bench.ingest(row("a", 1.0, 1, "x", 5.0 * at))
        bench.step()
    bench.close()
    bench = Bench(tmp_path, new)
    bench.ingest(row("a", 1.0, 1, "x", 60.0))
    bench.step()
    bench.drain()
    bench.deliver()
    assert [answer["n"] for answer in bench.answers("new")] == [1]
    bench.close()


def test_what_started_from_finer_groups_is_whole_in_buckets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells of the finer groups lie apart; only a run that had them together can have combined them."""
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 100)
    count = "CREATE QUERY {0} AS SELECT {1}, COUNT(*) AS n FROM trades [RANGE 8 SECONDS] GROUP BY {1};"
    fine, coarse = count.format("fine", "sym, note"), count.format("coarse", "sym")
    monkeypatch.setattr(Bench, "buckets", 3)
    bench = Bench(tmp_path, fine)
    for at in range(1, 7):
        bench.ingest(row("a", 1.0, 1, f"note {at}", float(at)))
        bench.step()
    bench.close()
    for buckets in (0, 3):
        monkeypatch.setattr(Bench, "buckets", buckets)
        bench = Bench(tmp_path, fine + coarse)
        bench.step()
        if not buckets:
            bench.close()
    bench.drain()
    bench.deliver()
    assert [answer["n"] for answer in bench.answers("coarse")] == [6]
    bench.close()
