"""Running queries are switched to other treatments: their answers are as if nothing had happened."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cases import first
from tests.properties.treatments import switches, treatments
from tests.unit.engine.bench import STREAM, Bench, Row, bound, row
from weft.engine import runtime
from weft.engine.epochs import switches as switches_of
from weft.share import drafts

WINDOW = "[RANGE 8 SECONDS SLIDE 4 SECONDS]"
RULE = f"CREATE QUERY r{{0}} AS SELECT COUNT(*) AS n FROM trades {WINDOW} WHERE sym = 's{{0}}';\n"
RULES = RULE.format(0) + RULE.format(1)
NAMES = ("r0", "r1")


def rows(*seconds: float) -> list[Row]:
    return [row(f"s{at % 3}", at % 7, at % 5, "ab"[at % 2], each) for at, each in enumerate(seconds)]


def finish(bench: Bench) -> None:
    bench.step()
    bench.drain()
    bench.deliver()


def counts(bench: Bench, name: str) -> dict[float, int]:
    found = bench.answers(name)
    counted = {each["window_end"].timestamp(): each["n"] for each in found}
    assert len(counted) == len(found)  # no window twice
    return counted


def earlier(bench: Bench) -> set[str]:
    return {tap.query.name for plan in bench.runtime.plan.streams for tap in plan.taps if tap.earlier}


def keys(bench: Bench) -> set[tuple[str, ...]]:
    return {tuple(key.sql for key in feed.keys) for plan in bench.runtime.plan.streams for feed in plan.feeds}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, RULES)


def test_windows_that_start_before_are_answered_as_before_and_later_ones_otherwise(bench: Bench) -> None:
    bench.ingest(*rows(1, 1, 2, 5, 6, 7))
    bench.step()
    bench.runtime.switch(dict.fromkeys(NAMES, ("sym",)), "a test")
    assert earlier(bench) == set(NAMES)
    assert keys(bench) == {(), ("sym",)}
    bench.ingest(*rows(8, 9, 6, 12, 13, 14))
    bench.step()
    assert earlier(bench) == set(NAMES)
    bench.ingest(*rows(20, 21, 19))
    bench.step()
    assert earlier(bench) == set()
    assert keys(bench) == {("sym",)}
    finish(bench)
    assert counts(bench, "r0") == {4: 1, 8: 2, 12: 2, 16: 2, 20: 1, 24: 1, 28: 1}
    assert counts(bench, "r1") == {4: 1, 8: 2, 12: 2, 16: 2, 20: 1, 24: 1, 28: 1}
    assert bench.runtime.tally.get("windows", "r0@1") == 7
    bench.close()


def test_both_halves_answer_in_one_step(bench: Bench) -> None:
    bench.ingest(*rows(1, 1, 2))
    bench.runtime.switch(dict.fromkeys(NAMES, ("sym",)), "a test")
    bench.ingest(*rows(5, 6, 7, 13, 14, 15))
    finish(bench)
    assert counts(bench, "r0") == {4: 1, 8: 2, 12: 1, 16: 1, 20: 1}
    assert bench.runtime.tally.get("windows", "r0@1") == 5
    assert not earlier(bench)
    bench.close()


def test_a_query_that_is_dropped_meanwhile_ends_both_halves(bench: Bench) -> None:
    bench.ingest(*rows(1, 1, 2))
    bench.runtime.switch({"r0": ("sym",)}, "a test")
    bench.change(RULE.format(1))
    assert keys(bench) == {()}
    bench.ingest(*rows(15, 16, 17))
    finish(bench)
    assert counts(bench, "r0") == {}
    assert counts(bench, "r1") == {4: 1, 8: 1, 20: 1, 24: 1}
    (told,) = switches_of(bench.runtime.catalog, 5)
    assert told.settled  # nothing of it is left to be answered
    bench.close()


def test_one_that_is_being_switched_stays_until_that_is_settled(bench: Bench) -> None:
    bench.ingest(*rows(1, 1, 2))
    bench.runtime.switch({"r0": ("sym",)}, "a test")
    epochs = len(bench.runtime.catalog.epochs)
    bench.runtime.switch({"r0": ()}, "another")
    assert len(bench.runtime.catalog.epochs) == epochs
    assert bench.runtime.running["r0"].picks_by == ("sym",)
    bench.close()


def test_before_the_first_row_nothing_is_switched(bench: Bench) -> None:
    bench.runtime.switch({"r0": ("sym",)}, "a test")
    assert bench.runtime.running["r0"].picks_by == ()
    bench.close()


def test_what_others_hold_already_is_taken_over(tmp_path: Path) -> None:
    """The cells by `sym` are there: the new half begins with the first open window."""
    by = f"CREATE QUERY by AS SELECT sym, COUNT(*) AS n FROM trades {WINDOW} GROUP BY sym;"
    bench = Bench(tmp_path, RULES + by)
    bench.ingest(*rows(1, 1, 2, 5, 6, 7))
    bench.step()
    bench.runtime.switch({"r0": ("sym",)}, "a test")
    switched = bench.runtime.running["r0"].switched
    assert switched is not None
    assert switched.at < 0
    bench.ingest(*rows(13, 14, 15))
    finish(bench)
    assert counts(bench, "r0") == {4: 1, 8: 2, 12: 1, 16: 1, 20: 1}
    bench.close()


WINDOWS = (
    "RANGE 8 SECONDS SLIDE 4 SECONDS",
    "RANGE 6 SECONDS",
    "RANGE 12 SECONDS SLIDE 2 SECONDS",
    "RANGE 2 SECONDS SLIDE 4 SECONDS",
)
CONDITIONS = (
    "sym = 's0'",
    "sym IN ('s1', 's2')",
    "note = 'a'",
    "price > 2",
    "price BETWEEN 1 AND 4",
    "qty % 2 = 0",
    "CAST(note AS INT) > 0",
)
GROUPS = ("", " GROUP BY sym", " GROUP BY note, sym", " GROUP BY GROUPING SETS ((sym, note), (sym), ())")
ITEMS = ("COUNT(*) AS n, SUM(qty) AS q", "MAX(price) AS p, MIN(qty) AS q", "SUM(price) AS p")


def random_query(rng: Random, at: int) -> str:
    where = " AND ".join(rng.sample(CONDITIONS, rng.randint(1, 3)))
    group, items = rng.choice(GROUPS), rng.choice(ITEMS)
    shown = "sym, " if group else ""
    top = " ORDER BY sym LIMIT 2" if group and rng.random() < 0.2 else ""
    text = f"SELECT {shown}{items} FROM trades [{rng.choice(WINDOWS)}] WHERE {where}{group}{top}"
    return f"CREATE QUERY q{at} AS {text};\n"


def random_rows(rng: Random, batches: int) -> list[list[Row]]:
    """Two seconds a batch, some rows out of order, a few too late."""
    made = []
    for batch in range(batches):
        back = [rng.choice([0, 0, 0, 1, 3, 9]) for _ in range(12)]
        at = [max(0.0, batch * 2 + rng.random() * 2 - each) for each in back]
        made.append(
            [
                row(f"s{rng.randint(0, 3)}", rng.randint(0, 6), rng.randint(0, 9), rng.choice("ab1"), t)
                for t in at
            ]
        )
    return made


def outcome(bench: Bench, names: list[str]) -> dict[str, Any]:
    tally = bench.runtime.tally
    counted = {
        name: [tally.get(what, f"{name}@1") for what in ("windows", "answers", "late")] for name in names
    }
    return {name: (bench.answers(name), bench.dead(f"{name}@1"), counted[name]) for name in names}


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_switched_at_random_is_never_switched(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Switches, crashes between, and steps of several batches; feeds are combined from others at random."""
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 3)
    rng, chance = Random(seed), Random(seed)
    text = "".join(random_query(rng, at) for at in range(8))
    names = [f"q{at}" for at in range(8)]
    batches = [(batch, rng.random() < 0.8) for batch in random_rows(rng, 12)]
    never = Bench(tmp_path / "never", text)
    for batch, steps in batches:
        never.ingest(*batch)
        if steps:
            never.step()
    finish(never)
    monkeypatch.setattr(drafts, "pays", lambda *_, **__: chance.random() < 0.5)
    bench, switched = Bench(tmp_path / "switched", text), 0
    asked = switches(rng, treatments(bound(STREAM + text)))
    for (batch, steps), treated in zip(batches, asked, strict=False):
        before = len(bench.runtime.catalog.epochs)
        bench.runtime.switch(treated, "a test")
        switched += len(bench.runtime.catalog.epochs) - before
        if rng.random() < 0.2:
            bench.close()
            bench = Bench(tmp_path / "switched", text)
        bench.ingest(*batch)
        if steps:
            bench.step()
    finish(bench)
    assert switched > 1
    assert outcome(bench, names) == outcome(never, names)
    never.close()
    bench.close()
