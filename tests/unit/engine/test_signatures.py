"""Queries that pick by signatures, added and dropped while rows come, in one place and in buckets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.engine.bench import Bench, Row, row
from weft.kernels.picks import HasAll
from weft.share.model import treatment

Open = Callable[[str], Bench]
Counts = dict[float, int]  # by the end of the window, in seconds

HIGH, EVEN, PLAIN = "price > 50", "qty % 2 = 0", "note LIKE 'a%'"


@pytest.fixture(autouse=True)
def signatures_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        treatment, "_saved", lambda rests, facts: float(len({r.predicate for r in rests}) > 1)
    )


@pytest.fixture(params=[0, 3], ids=["here", "in buckets"])
def start(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Starts a program in one and the same home, ending the one before as a crash would."""
    monkeypatch.setattr(Bench, "buckets", request.param)
    benches: list[Bench] = []

    def opened(text: str) -> Bench:
        if benches:
            benches[-1].close()
        benches.append(Bench(tmp_path, text))
        return benches[-1]

    yield opened
    benches[-1].close()


def count(name: str, *conditions: str, window: str = "[RANGE 4 SECONDS]") -> str:
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"CREATE QUERY {name} AS SELECT COUNT(*) AS n FROM trades {window}{where};\n"


BOTH, EITHER = count("both", HIGH, EVEN), count("either", EVEN, PLAIN)
ROWS = [
    row("A", 60.0, 2, "ab", 1),  # all three
    row("A", 60.0, 1, "ab", 2),  # price and note
    row("B", 10.0, 2, "b", 3),  # qty alone: nobody asks for it
    row("B", 60.0, 4, "b", 5),  # price and qty
    row("C", 10.0, 4, "a", 6),  # qty and note
]


def later(rows: list[Row], seconds: int) -> list[Row]:
    return [(*each[:-1], each[-1] + seconds * 1_000_000) for each in rows]


def found(bench: Bench, name: str, version: int = 1) -> Counts:
    return {each["window_end"].timestamp(): each["n"] for each in bench.answers(name, version)}


def finish(bench: Bench) -> None:
    bench.step()
    bench.drain()
    bench.deliver()


def picks(bench: Bench) -> dict[str, bool]:
    (plan,) = bench.runtime.plan.streams
    return {tap.query.name: any(isinstance(p, HasAll) for p in tap.picks) for tap in plan.taps}


def test_conjunctions_count_their_rows_and_others_are_no_cells(start: Open) -> None:
    bench = start(BOTH + EITHER)
    assert picks(bench) == {"both": True, "either": True}
    batch = bench.batch(ROWS)
    assert batch.table.filter(batch.table.column("status").to_numpy() == 0).num_rows == 3
    bench.ingest(*ROWS)
    finish(bench)
    assert found(bench, "both") == {4: 1, 8: 1}
    assert found(bench, "either") == {4: 1, 8: 1}


@pytest.mark.parametrize(
    ("query", "counts", "bound_"),
    [
        (count("third", HIGH, EVEN, PLAIN), {8: 0, 12: 1}, None),  # its rows are among those of the others
        (count("third", PLAIN, HIGH), {16: 1, 20: 2}, 10),  # its rows were no cells so far
        (count("third", EVEN), {16: 1, 20: 2}, 10),
        (count("third"), {16: 1, 20: 2}, 10),
    ],
)
def test_a_later_query_starts_where_its_rows_were_kept(
    start: Open, query: str, counts: Counts, bound_: int | None
) -> None:
    bench = start(BOTH + EITHER)
    bench.ingest(*ROWS, *later(ROWS[:1], 8), row("A", 60.0, 1, "a", 10))
    bench.step()
    bench.change(BOTH + EITHER + query)
    stored = bench.runtime.running["third"].bound
    assert stored is not None
    assert (stored == 10_000_000) == (bound_ is not None)
    more = [*later(ROWS[:1], 12), *later(ROWS[:1], 16), *later(ROWS[:1], 17)]
    bench.ingest(*more)
    finish(bench)
    assert {end: n for end, n in found(bench, "third").items() if end in counts} == {
        end: n for end, n in counts.items() if n
    }
    assert found(bench, "both") == {4: 1, 8: 1, 12: 1, 16: 1, 20: 2}


def test_restarted_with_every_batch(start: Open) -> None:
    for at in range(0, 40, 4):
        bench = start(BOTH + EITHER)
        assert picks(bench) == {"both": True, "either": True}
        bench.ingest(*later(ROWS[:3], at))
        if at % 8:
            bench.step()
    bench = start(BOTH + EITHER)
    finish(bench)
    assert found(bench, "both") == dict.fromkeys(range(4, 44, 4), 1)
    assert found(bench, "either") == dict.fromkeys(range(4, 44, 4), 1)


def test_a_column_that_only_a_query_that_ended_asked_for(start: Open) -> None:
    bench = start(BOTH + EITHER)
    bench.ingest(*ROWS)
    bench = start(BOTH)
    (plan,) = bench.runtime.plan.streams
    assert "note" in plan.columns
    bench.ingest(*later(ROWS, 8))
    finish(bench)
    assert found(bench, "both") == {4: 1, 8: 1, 12: 1, 16: 1}


def test_late_rows_are_those_that_a_query_asks_for(start: Open) -> None:
    bench = start(BOTH + EITHER)
    bench.ingest(*ROWS, row("A", 60.0, 2, "b", 20))
    bench.step()
    bench.ingest(*ROWS)
    finish(bench)
    assert [bench.runtime.tally.get("late", f"{name}@1") for name in ("both", "either")] == [2, 2]


def test_rows_on_which_an_aggregate_fails_are_left_out_by_a_bit(start: Open) -> None:
    items = "SELECT SUM(CAST(note AS INT)) AS n FROM trades [RANGE 4 SECONDS]"
    text = f"CREATE QUERY a AS {items} WHERE {HIGH} AND {EVEN};\n"
    text += f"CREATE QUERY b AS {items} WHERE {HIGH};\n"
    bench = start(text)
    assert picks(bench) == {"a": True, "b": True}
    (plan,) = bench.runtime.plan.streams
    assert len(plan.feeds[0].keys[0].tree.expressions) == 3
    bench.ingest(row("A", 60.0, 2, "1", 1), row("A", 60.0, 1, "x", 2), row("A", 10.0, 2, "y", 3))
    finish(bench)
    assert found(bench, "a") == {4: 1}
    assert found(bench, "b") == {4: 1}
    assert not bench.dead("a@1")
    assert len(bench.dead("b@1")) == 1


def test_rows_on_which_a_condition_fails_concern_one_query(start: Open) -> None:
    fails = "CAST(note AS INT) > 0"
    bench = start(count("casts", HIGH, fails) + count("others", HIGH, EVEN) + BOTH)
    assert picks(bench)["others"]
    bench.ingest(row("A", 60.0, 2, "1", 1), row("A", 60.0, 2, "x", 2), row("A", 60.0, 1, "7", 3))
    finish(bench)
    assert found(bench, "casts") == {4: 2}
    assert found(bench, "others") == {4: 2}
    assert len(bench.dead("casts@1")) == 1
    assert not bench.dead("others@1")
