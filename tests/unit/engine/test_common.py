"""Feeds that no query asks for come and go while a program runs: its answers are as if there were none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cases import first
from tests.unit.engine.bench import Bench, Row, row
from tests.unit.engine.crew import LocalCrew
from tests.unit.engine.test_switching import finish, outcome, random_rows
from weft.engine import knowledge, runtime
from weft.share import drafts

WINDOWS = (
    "RANGE 8 SECONDS SLIDE 4 SECONDS",
    "RANGE 6 SECONDS",
    "RANGE 12 SECONDS SLIDE 2 SECONDS",
    "RANGE 2 SECONDS SLIDE 4 SECONDS",
)
KEYS = ("sym", "note", "qty", "qty % 3", "note, sym", "qty, sym", "GROUPING SETS ((sym), (note))")
ITEMS = ("COUNT(*) AS n, SUM(qty) AS q", "MAX(price) AS p", "COUNT(DISTINCT price) AS p", "SUM(price) AS p")
WHERES = ("", "", " WHERE price > 2", " WHERE sym = 's0'", " WHERE CAST(note AS INT) > 0")
BY = "CREATE QUERY {0} AS SELECT {1}, COUNT(*) AS n FROM trades [RANGE 8 SECONDS] GROUP BY {1};\n"
TWO = BY.format("by_sym", "sym") + BY.format("by_note", "note")
BOTH = BY.format("by_both", "note, sym")


def common(bench: Bench) -> set[tuple[str, ...]]:
    plans = bench.runtime.plan.streams
    return {tuple(key.sql for key in feed.keys) for plan in plans for feed in plan.feeds if feed.common}


def made(monkeypatch: pytest.MonkeyPatch, saving: float) -> None:
    """Have such feeds made wherever they may be, or nowhere."""
    monkeypatch.setattr(drafts, "saves", lambda *_, **__: saving)


def rows(batch: int, count: int = 6) -> list[Row]:
    """Four seconds a batch."""
    return [
        row(f"s{at % 3}", at % 7, at % 5, "ab"[at % 2], 4 * batch + 4 * at / count) for at in range(count)
    ]


def counted(bench: Bench, name: str, version: int = 1) -> list[tuple[float, int]]:
    """The rows in each window that was answered."""
    found: dict[float, int] = {}
    for each in bench.answers(name, version):
        end = each["window_end"].timestamp()
        found[end] = found.get(end, 0) + each["n"]
    return sorted(found.items())


@pytest.mark.together
def test_it_is_made_from_rows_and_nothing_of_it_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(monkeypatch, 1.0)
    bench = Bench(tmp_path, TWO)
    (plan,) = bench.runtime.plan.streams
    assert common(bench) == {("note", "sym")}
    assert plan.roots == (2,)
    bench.ingest(*rows(0), *rows(1))
    bench.step()
    state = bench.runtime.states["trades"]
    assert [feed.cells for feed in state.feeds.values()][2] == 0
    (record,) = bench.runtime.logs["trades"].records()
    assert {feed["root"] for feed in record.meta["feeds"]} == {2}
    for batch in (2, 3, 4):
        bench.ingest(*rows(batch))
    finish(bench)
    assert counted(bench, "by_sym") == counted(bench, "by_note") == [(8, 12), (16, 12), (24, 6)]
    bench.close()


def test_a_query_by_its_keys_begins_with_what_queries_vouch_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cells in the log are of it, but nobody held them: its first window starts after all rows so far."""
    made(monkeypatch, 1.0)
    bench = Bench(tmp_path, TWO)
    for batch in range(3):
        bench.ingest(*rows(batch))
    bench.step()
    bench.change(TWO + BOTH)
    assert not common(bench)
    for batch in range(3, 8):
        bench.ingest(*rows(batch))
    finish(bench)
    assert counted(bench, "by_sym") == [(8, 12), (16, 12), (24, 12), (32, 12)]
    assert counted(bench, "by_both") == [(24, 12), (32, 12)]
    bench.close()


@pytest.mark.together
def test_when_the_query_by_its_keys_goes_the_others_stay_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From asked for to common, and from common to none, within one window."""
    made(monkeypatch, 1.0)
    bench = Bench(tmp_path, TWO + BOTH)
    bench.ingest(*rows(0))
    bench.change(TWO)
    assert common(bench) == {("note", "sym")}
    bench.ingest(*rows(1, 3))
    bench.close()
    made(monkeypatch, 0.0)
    bench = Bench(tmp_path, TWO)
    assert common(bench) == set()
    bench.ingest(*rows(1, 2))
    bench.ingest(*rows(2), *rows(3))
    finish(bench)
    assert counted(bench, "by_sym") == counted(bench, "by_note") == [(8, 11), (16, 12)]
    bench.close()


@pytest.mark.together
def test_what_a_run_has_counted_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made by the next run, of which the values of the keys are known."""
    monkeypatch.setattr(knowledge, "ENOUGH", 1_000)
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1)
    bench = Bench(tmp_path, TWO)
    assert not common(bench)
    bench.ingest(*rows(0, 100_000))
    bench.step()
    bench.close()
    bench = Bench(tmp_path, TWO)
    assert common(bench) == {("note", "sym")}
    bench.ingest(*rows(1), *rows(2), *rows(3))
    finish(bench)
    assert counted(bench, "by_sym") == counted(bench, "by_note") == [(8, 100_006), (16, 12)]
    bench.close()


# -- at random


def random_query(rng: Random, at: int) -> str:
    keys, items, window = rng.choice(KEYS), rng.choice(ITEMS), rng.choice(WINDOWS)
    return (
        f"CREATE QUERY q{at} AS SELECT {items} FROM trades [{window}]{rng.choice(WHERES)} GROUP BY {keys};\n"
    )


Life = Sequence[tuple[list[Row], str, bool, bool, bool, bool]]


def random_life(rng: Random, batches: int) -> Life:
    """For each batch its rows, the program, and whether it is woven anew, stopped, moved, and stepped."""
    life, running = [], {at: random_query(rng, at) for at in range(6)}
    for at, batch in enumerate(random_rows(rng, batches), 6):
        if rng.random() < 0.5:
            running[at] = random_query(rng, at)
        if rng.random() < 0.4:
            del running[rng.choice(list(running))]
        chances = [rng.random() < chance for chance in (0.3, 0.2, 0.15, 0.8)]
        life.append((batch, "".join(running.values()), *chances))
    return life


def live(path: Path, life: Life) -> tuple[dict[str, Any], set[bool]]:
    """What all queries answered, and whether there were common feeds, and times without."""
    bench, seen = Bench(path, life[0][1]), set()
    names = {f"q{at}" for at in range(6 + len(life))}
    for batch, text, weaves, stops, moves, steps in life:
        bench.change(text)
        if weaves:
            bench.runtime.reweave()
        if stops:
            bench.close()
            bench = Bench(path, text)
        if moves:
            bench.runtime.place(None if bench.runtime.crew else LocalCrew(3))
            assert not (bench.runtime.crew and common(bench))
        seen.add(bool(common(bench)))
        bench.ingest(*batch)
        if steps:
            bench.step()
    finish(bench)
    found = outcome(bench, sorted(names))
    bench.close()
    return found, seen


@pytest.mark.parametrize("seed", first(3, range(12)))
def test_they_come_and_go_at_random(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries are added and dropped, the program is killed, woven anew, and moved to buckets and back."""
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 3)
    life, chance = random_life(Random(seed), 16), Random(seed)
    made(monkeypatch, 0.0)
    without, seen = live(tmp_path / "without", life)
    assert seen == {False}
    monkeypatch.setattr(drafts, "saves", lambda *_, **__: max(0.0, chance.random() - 0.4))
    found, seen = live(tmp_path / "with", life)
    assert True in seen or Bench.buckets
    assert found == without
    assert any(rows for rows, *_ in found.values())
