"""A query that is added later starts with the first open window that it can answer in full."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cases import in_parts
from tests.unit.engine.bench import Bench, Row, row
from weft.engine import runtime
from weft.share.strands import in_strand

Open = Callable[[str], Bench]

SUMS = """
CREATE QUERY sums AS
  SELECT sym, SUM(qty) AS q FROM trades [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY sym;
"""
FINE = """
CREATE QUERY fine AS
  SELECT sym, note, SUM(qty) AS q FROM trades [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY sym, note;
"""
SECOND = 1_000_000


def new(window: str, keys: str = "sym", aggregate: str = "SUM(qty)", name: str = "new") -> str:
    return f"CREATE QUERY {name} AS SELECT {keys}, {aggregate} AS q FROM trades [{window}] GROUP BY {keys};"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Open]:
    """Starts a program in one and the same home, ending the one before as a crash would."""
    benches: list[Bench] = []

    def opened(text: str) -> Bench:
        if benches:
            benches[-1].close()
        benches.append(Bench(tmp_path, text))
        return benches[-1]

    yield opened
    if benches:
        benches[-1].close()


def feed(bench: Bench, *seconds: float, step: bool = True) -> None:
    """One batch with a row of quantity 1 for each of these times."""
    bench.ingest(*(row("A", 1.0, 1, str(at % 2), at) for at in seconds))
    if step:
        bench.step()


def answers(bench: Bench, query: str = "new", version: int = 1) -> list[tuple[float, int]]:
    """Ends of windows and sums, after all is answered."""
    bench.step()
    bench.drain()
    bench.deliver()
    return sorted((found["window_end"].timestamp(), found["q"]) for found in bench.answers(query, version))


# Most of these have rows at 1, 2, ... 9 seconds. DELAY is 4 seconds, so the watermark stands at 5: the window
# [-4, 4) of `sums` is answered, [0, 8) is open and all its cells are there.


def test_open_windows_are_answered_from_the_cells_of_another_query(start: Open) -> None:
    bench = start(SUMS)
    feed(bench, *range(1, 10))
    bench.change(SUMS + new("RANGE 4 SECONDS"))
    feed(bench, 10, 17)
    assert bench.runtime.running["new"].bound == 1 * SECOND
    assert answers(bench) == [(8, 4), (12, 3), (20, 1)]  # [0, 4) had been closed


def test_a_query_added_at_a_start_finds_the_same(start: Open) -> None:
    feed(start(SUMS), *range(1, 10))
    bench = start(SUMS + new("RANGE 4 SECONDS"))
    feed(bench, 10, 17)
    assert answers(bench) == [(8, 4), (12, 3), (20, 1)]


def test_batches_that_no_step_has_seen_count_as_well(start: Open) -> None:
    bench = start(SUMS)
    feed(bench, *range(1, 10), step=False)
    bench.change(SUMS + new("RANGE 4 SECONDS"))
    assert answers(bench) == [(8, 4), (12, 2)]


def test_a_longer_window_starts_where_cells_are_still_held(start: Open) -> None:
    bench = start(SUMS)
    feed(bench, *range(1, 16))  # the watermark stands at 11, [4, 12) is the first open window
    bench.change(SUMS + new("RANGE 16 SECONDS SLIDE 4 SECONDS"))
    assert bench.runtime.running["new"].bound == 4 * SECOND - 1
    assert answers(bench) == [(20, 12), (24, 8), (28, 4)]


def test_cells_are_not_taken_for_held_because_a_longer_window_was_added(start: Open) -> None:
    bench = start(SUMS)
    feed(bench, *range(1, 16))
    longer = SUMS + new("RANGE 16 SECONDS SLIDE 4 SECONDS", name="longer")
    bench.change(longer)
    bench.change(longer + new("RANGE 16 SECONDS SLIDE 8 SECONDS"))
    assert bench.runtime.running["new"].bound == 4 * SECOND - 1
    assert answers(bench) == [(24, 8)]


@pytest.mark.parametrize("window", ["RANGE 4 SECONDS SLIDE 2 SECONDS", "RANGE 4 SECONDS OFFSET 1 SECOND"])
def test_windows_between_the_edges_of_the_cells_wait(start: Open, window: str) -> None:
    bench = start(SUMS)
    feed(bench, *range(1, 10))
    bench.change(SUMS + new(window))
    assert bench.runtime.running["new"].bound == 9 * SECOND


@pytest.mark.parametrize("aggregate", ["MAX(qty)", "SUM(qty + 1)", "SUM(qty) FILTER (WHERE price > 1)"])
def test_what_no_cell_holds_waits(start: Open, aggregate: str) -> None:
    bench = start(SUMS)
    feed(bench, *range(1, 10))
    bench.change(SUMS + new("RANGE 4 SECONDS", aggregate=aggregate))
    assert bench.runtime.running["new"].bound == 9 * SECOND


@pytest.mark.together
def test_coarser_groups_come_from_finer_ones(start: Open) -> None:
    bench = start(FINE)
    feed(bench, *range(1, 10))
    bench.change(FINE + new("RANGE 8 SECONDS"))
    feed(bench, 10, 17)
    assert answers(bench) == [(8, 7), (16, 3), (24, 1)]


def test_finer_groups_do_not_come_from_coarser_ones(start: Open) -> None:
    bench = start(SUMS)
    feed(bench, *range(1, 10))
    bench.change(SUMS + new("RANGE 8 SECONDS", keys="sym, note"))
    assert bench.runtime.running["new"].bound == 9 * SECOND


def test_a_changed_query_goes_on_with_the_cells_of_its_last_version(start: Open) -> None:
    bench = start(SUMS)
    feed(bench, *range(1, 10))
    bench.change(SUMS.replace("GROUP BY sym", "GROUP BY sym HAVING SUM(qty) > 1"))
    assert answers(bench, "sums", version=2) == [(8, 7), (12, 6), (16, 2)]


@pytest.mark.together
@pytest.mark.parametrize("every", [1, 100])
def test_after_a_crash_it_starts_from_finer_groups(
    start: Open, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    _crash_after_the_change(start, monkeypatch, FINE, every)


@pytest.mark.parametrize("every", [1, 100])
def test_after_a_crash_it_starts_where_it_was_to(
    start: Open, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    _crash_after_the_change(start, monkeypatch, SUMS, every)


def _crash_after_the_change(start: Open, monkeypatch: pytest.MonkeyPatch, text: str, every: int) -> None:
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", every)
    bench = start(text)
    feed(bench, *range(1, 10))
    feed(bench, 9.5, step=False)
    bench.change(new("RANGE 8 SECONDS"))  # and the query that held the cells is gone
    bench = start(new("RANGE 8 SECONDS"))
    feed(bench, 10, 17)
    bench = start(new("RANGE 8 SECONDS"))
    assert answers(bench) == [(8, 7), (16, 4), (24, 1)]


# -- against brute force


@dataclass(frozen=True)
class Later:
    """A query that is added later."""

    name: str
    keys: tuple[str, ...]
    window: tuple[int, int, int]  # range, slide, offset in seconds

    @property
    def text(self) -> str:
        range_, slide, offset = self.window
        items = "".join(f"{key}, " for key in self.keys)
        grouped = f" GROUP BY {', '.join(self.keys)}" if self.keys else ""
        return (
            f"CREATE QUERY {self.name} AS SELECT {items}COUNT(*) AS n, SUM(qty) AS q, MIN(price) AS p "
            f"FROM trades [RANGE {range_} SECONDS SLIDE {slide} SECONDS OFFSET {offset} SECONDS]{grouped};"
        )

    def expected(self, rows: Sequence[Row], after: int | None) -> list[tuple[Any, ...]]:
        """Every window that starts after that time, from all rows there ever were."""
        assert after is not None
        range_, slide, offset = (part * SECOND for part in self.window)
        found: dict[tuple[Any, ...], list[Row]] = {}
        for each in rows:
            values = dict(zip(("sym", "price", "qty", "note", "ts"), each))
            first = int(each[4] - (each[4] - offset) % slide + slide)
            for end in range(first, int(each[4]) + range_ + 1, slide):
                if end - range_ > after:
                    found.setdefault((end, *(values[key] for key in self.keys)), []).append(each)
        made = [(*at, len(of), sum(r[2] for r in of), min(r[1] for r in of)) for at, of in found.items()]
        return sorted(made, key=str)


BASES = {
    "by sym": """CREATE QUERY a AS SELECT sym, COUNT(*) AS n, SUM(qty) AS q, MIN(price) AS p
      FROM trades [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY sym;""",
    "finer": """CREATE QUERY b AS SELECT sym, note, COUNT(*) AS n, SUM(qty) AS q, MIN(price) AS p
      FROM trades [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY sym, note;""",
    "uneven": """CREATE QUERY c AS SELECT note, COUNT(*) AS n, MIN(price) AS p, SUM(qty) AS q
      FROM trades [RANGE 5 SECONDS SLIDE 3 SECONDS OFFSET 1 SECOND] GROUP BY note;""",
}
KEYS = st.sampled_from([(), ("sym",), ("note",), ("sym", "note")])
WINDOWS = st.sampled_from(
    [(4, 2, 0), (3, 3, 0), (12, 6, 0), (9, 3, 0), (5, 3, 1), (2, 3, 1), (6, 4, 0), (2, 1, 0)]
)
FIRST, NEXT = (st.builds(Later, st.just(name), KEYS, WINDOWS) for name in ("first", "next"))
PROGRAMS = st.sets(st.sampled_from(list(BASES)))


@st.composite
def batches(draw: st.DrawFn) -> list[list[Row]]:
    """Rows that come out of order by less than DELAY."""
    now, made = draw(st.integers(0, 30)), []
    for _ in range(draw(st.integers(2, 8))):
        rows = []
        for _ in range(draw(st.integers(1, 4))):
            now += draw(st.integers(0, 3))
            sym, note = draw(st.sampled_from("AB")), draw(st.sampled_from("xy"))
            price, qty = draw(st.integers(1, 9)) / 8, draw(st.integers(0, 9))
            rows.append(row(sym, price, qty, note, max(now - draw(st.integers(0, 3)), 0)))
        made.append(rows)
    return made


@pytest.mark.together
@in_parts(4)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=batches(), programs=st.tuples(PROGRAMS, PROGRAMS, PROGRAMS), data=st.data())
def test_all_windows_after_the_bound_are_whole(
    history: list[list[Row]],
    programs: tuple[set[str], set[str], set[str]],
    data: st.DataObject,
    monkeypatch: pytest.MonkeyPatch,
    part: int,
) -> None:
    """However often the program starts anew, and wherever its cells are in each of its lives."""
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 2)

    def place() -> None:
        monkeypatch.setattr(Bench, "buckets", data.draw(st.sampled_from([0, 2, 3]), label="buckets"))

    place()
    added = [data.draw(FIRST), data.draw(NEXT)]
    texts = ["".join(BASES[name] for name in sorted(programs[0] | {"by sym"}))]
    texts += ["".join(BASES[name] for name in sorted(programs[1])) + added[0].text]
    texts += ["".join(BASES[name] for name in sorted(programs[2])) + added[0].text + added[1].text]
    changes = sorted(data.draw(st.lists(st.integers(1, len(history)), min_size=2, max_size=2)))
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shared) as path:
        bench = Bench(Path(path), texts[0])
        for number, rows in enumerate([*history, []]):
            for text in [text for text, at in zip(texts[1:], changes) if at == number]:
                place()
                bench = _changed(bench, text, data.draw(st.booleans(), label="at a start"))
            if rows:
                under_way = bench.batch(rows)
                if data.draw(st.booleans(), label="reweave"):
                    bench.runtime.reweave()
                assert bench.runtime.commit(under_way)
            if data.draw(st.integers(0, 3), label="to a strand") == 0:
                some = data.draw(st.sets(st.sampled_from(sorted(bench.runtime.running))), label="of")
                keys = in_strand((), data.draw(st.integers(0, 2), label="strand"))
                bench.runtime.switch(dict.fromkeys(some, keys), "a test")
            if data.draw(st.booleans(), label="step"):
                bench.step()
            if data.draw(st.integers(0, 3), label="crash") == 0:
                bench.close()
                place()
                bench = Bench(Path(path), texts[sum(at <= number for at in changes)])
        bench.step()
        bench.drain()
        bench.deliver()
        bench.close()
        every = [each for rows in history for each in rows]
        for later in added:
            assert _found(bench, later) == later.expected(every, bench.runtime.running[later.name].bound)


def _changed(bench: Bench, text: str, anew: bool) -> Bench:
    if anew:
        bench.close()
        return Bench(bench.path, text)
    bench.change(text)
    return bench


def _found(bench: Bench, later: Later) -> list[tuple[Any, ...]]:
    rows = bench.answers(later.name)
    ends = [round(row["window_end"].timestamp() * SECOND) for row in rows]
    made = [(end, *(row[name] for name in (*later.keys, "n", "q", "p"))) for end, row in zip(ends, rows)]
    return sorted(made, key=str)


@pytest.mark.together
def test_in_buckets_coarser_groups_start_anew(start: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cells of a finer feed lie in other buckets than those of the coarser."""
    monkeypatch.setattr(Bench, "buckets", 3)
    bench = start(FINE)
    feed(bench, *range(1, 10))
    bench.change(FINE + new("RANGE 8 SECONDS"))
    assert bench.runtime.running["new"].bound == 9 * SECOND
