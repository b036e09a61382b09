"""Tables that are made of changes, on a home: what lasts, what waits, what is late, and what may go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.relations.homes import OnHome, rows
from weft.engine import runtime
from weft.engine.report import report
from weft.errors import RunError
from weft.testing.values import rows_of

STREAMS = """
CREATE STREAM a (k STRING, v INT, at TIMESTAMP) TIMESTAMP BY at DELAY 0 SECONDS MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = 'rows');
CREATE STREAM b (k STRING, v INT, at TIMESTAMP) TIMESTAMP BY at DELAY 2 SECONDS MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = 'rows');
CREATE TABLE t KEY (k) DELETE WHERE v = 0 FROM STREAM b;
"""
SEEN = "CREATE QUERY seen AS SELECT x.k, x.v, p.v AS w FROM a x LEFT JOIN t p ON x.k = p.k;"
THERE = "CREATE QUERY there AS SELECT * FROM t RETROACTIVE;"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OnHome]:
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1)
    made = OnHome(tmp_path / "home")
    yield made
    made.stop()


def told(home: OnHome, query: str) -> list[tuple[Any, ...]]:
    """Its answers, without when they end; times in seconds."""
    found = [(row[0].timestamp(), *row[2:]) for row in rows_of(home.results(query))]
    return sorted(found, key=lambda row: (row[0], repr(row)))


def test_a_row_waits_until_what_it_sees_is_certain(home: OnHome) -> None:
    home.start(STREAMS + SEEN)
    home.ingest("b", rows(("A", 1, 5)))
    home.ingest("a", rows(("A", 10, 4), ("A", 11, 5), ("B", 12, 9)))
    assert told(home, "seen") == []
    home.ingest("b", rows(("A", 2, 8), ("A", 3, 6.5), ("Z", 9, 6)))  # complete before 6
    assert told(home, "seen") == [(4, "A", 10, None), (5, "A", 11, 1)]
    home.ingest("a", rows(("A", 13, 10), ("A", 14, 11)))
    home.ingest("b", rows(("B", 4, 12), ("B", 5, 9), ("A", 0, 11)))  # complete before 10
    assert told(home, "seen")[2:] == [(9, "B", 12, 5)]
    home.ingest("b", rows(("Z", 1, 14)))
    assert told(home, "seen") == [
        (4, "A", 10, None), (5, "A", 11, 1), (9, "B", 12, 5), (10, "A", 13, 2), (11, "A", 14, None),
    ]  # fmt: skip


def test_what_is_in_force_outlives_the_batch_that_brought_it(home: OnHome) -> None:
    home.start(STREAMS + SEEN + THERE)
    home.ingest("b", rows(("A", 1, 1), ("B", 2, 1)))
    for at in range(2, 40):
        home.ingest("b", rows(("C", at, 10 * at)))
        home.ingest("a", rows(("C", at, 10 * at)))
    assert home.batches("b")[0] > 30
    home.restart(STREAMS + SEEN + THERE)
    home.ingest("a", rows(("A", 5, 500), ("B", 6, 500)))
    home.ingest("b", rows(("Z", 9, 600)))
    assert told(home, "seen")[-2:] == [(500, "A", 5, 1), (500, "B", 6, 2)]
    assert len(home.runtime.relations.flows["t"]) < 8


def test_a_late_row_that_waits_is_there_after_a_restart(home: OnHome) -> None:
    home.start(STREAMS + SEEN)
    home.ingest("b", rows(("A", 1, 1), ("A", 2, 62)))  # complete before 60
    home.ingest("a", rows(("A", 10, 100)))
    home.ingest("a", rows(("A", 11, 3)))  # counts from 100 on
    for at in range(3, 30):
        home.ingest("b", rows(("Z", at, 62)))
    assert home.late("seen") == 1
    home.restart(STREAMS + SEEN)
    home.ingest("b", rows(("A", 3, 99), ("A", 4, 200)))
    assert told(home, "seen") == [(100, "A", 10, 3), (100, "A", 11, 3)]


def test_a_late_change_counts_from_the_watermark_on_unless_its_key_has_changed(home: OnHome) -> None:
    home.start(STREAMS + SEEN + THERE)
    home.ingest(
        "b", rows(("A", 1, 1), ("B", 2, 7), ("C", 0, 8), ("D", 0, 7), ("Z", 0, 12))
    )  # complete before 10
    home.ingest("b", rows(("A", 5, 3), ("B", 6, 3), ("C", 7, 6.5), ("D", 8, 6.5)))
    home.restart(STREAMS + SEEN + THERE)
    home.ingest("b", rows(("Z", 0, 30)))
    assert [row[:3] for row in told(home, "there")] == [
        (1, "A", 1),
        (7, "B", 2),
        (10, "A", 5),
        (10, "D", 8),  # that it was deleted is known no longer
    ]
    assert home.late("there") == 4


def test_a_query_that_is_added_later_sees_what_is_in_force(home: OnHome) -> None:
    home.start(STREAMS)
    home.ingest("b", rows(("A", 1, 1), ("B", 2, 2), ("A", 3, 5), ("Z", 4, 20)))
    home.restart(STREAMS)
    home.change(STREAMS + SEEN + THERE)
    home.ingest("a", rows(("A", 10, 21), ("B", 11, 22)))
    home.ingest("b", rows(("B", 0, 22), ("Z", 5, 40)))
    assert told(home, "seen") == [(21, "A", 10, 3), (22, "B", 11, None)]
    assert [row[:3] for row in told(home, "there")] == [(2, "B", 2), (5, "A", 3), (20, "Z", 4)]


def test_a_table_that_is_made_otherwise_is_refused(home: OnHome) -> None:
    home.start(STREAMS + SEEN)
    home.ingest("b", rows(("A", 1, 1)))
    home.stop()
    other = STREAMS.replace("DELETE WHERE v = 0", "DELETE WHERE v = 1")
    with pytest.raises(RunError, match=r"it was .* KEY .k. DELETE WHERE v = 0 FROM STREAM b") as refused:
        home.start(other + SEEN)
    assert refused.value.code == "table-changed"


def test_a_table_that_is_made_otherwise_while_it_runs_is_refused_before_anything_is_changed(
    home: OnHome,
) -> None:
    home.start(STREAMS + SEEN)
    home.ingest("b", rows(("A", 1, 1)))
    epochs, program = len(home.runtime.catalog.epochs), home.runtime.program
    other = STREAMS.replace("DELETE WHERE v = 0", "DELETE WHERE v = 1")
    with pytest.raises(RunError, match=r"it was .* KEY .k. DELETE WHERE v = 0 FROM STREAM b") as refused:
        home.change(other + THERE)
    assert refused.value.code == "table-changed"
    assert (len(home.runtime.catalog.epochs), home.runtime.program) == (epochs, program)
    home.ingest("a", rows(("A", 10, 4)))
    home.ingest("b", rows(("Z", 9, 8)))
    assert told(home, "seen") == [(4, "A", 10, 1)]


@pytest.mark.parametrize("deletes", ["v = 0", "v = 1"], ids=["the-same", "otherwise"])
def test_a_table_that_is_dropped_and_declared_again_begins_anew_through_a_stop(
    home: OnHome, deletes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 50)
    kept = "CREATE QUERY kept AS SELECT k, v FROM b [RANGE 90 SECONDS];"  # has all columns in the log
    without = STREAMS[: STREAMS.index("CREATE TABLE")] + kept
    again = STREAMS.replace("v = 0", deletes) + kept + SEEN
    home.start(STREAMS + kept + SEEN)
    home.ingest("b", rows(("A", 5, 1), ("B", 6, 1)))
    home.change(without)
    home.ingest("b", rows(("C", 7, 5)))
    home.change(again)
    home.ingest("b", rows(("A", 8, 9)))
    home.restart(again)
    home.ingest("a", rows(("A", 10, 10), ("B", 11, 10), ("C", 12, 10)))
    home.ingest("b", rows(("Z", 9, 20)))
    assert told(home, "seen") == [(10, "A", 10, 8), (10, "B", 11, None), (10, "C", 12, None)]


@pytest.mark.parametrize("every", [1, 50], ids=["a-snapshot", "no-snapshot"])
def test_so_does_one_that_was_not_there_in_a_run_that_was_killed(
    home: OnHome, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", every)
    kept = "CREATE QUERY kept AS SELECT k, v FROM b [RANGE 90 SECONDS];"
    without = STREAMS[: STREAMS.index("CREATE TABLE")] + kept
    home.start(STREAMS + kept + SEEN)
    home.ingest("b", rows(("A", 5, 1), ("B", 6, 1)))
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 50)
    home.restart(without)
    home.ingest("b", rows(("C", 7, 5)))
    home.restart(STREAMS + kept + SEEN)
    home.ingest("b", rows(("A", 8, 9)))
    home.restart(STREAMS + kept + SEEN)
    home.ingest("a", rows(("A", 10, 10), ("B", 11, 10), ("C", 12, 10)))
    home.ingest("b", rows(("Z", 9, 20)))
    assert told(home, "seen") == [(10, "A", 10, 8), (10, "B", 11, None), (10, "C", 12, None)]


def test_only_what_rows_may_still_see_is_held(home: OnHome) -> None:
    home.start(STREAMS + SEEN)
    home.ingest("a", rows(("A", 1, 1)))
    home.ingest("b", rows(*(("A", 1 + at, at) for at in range(1, 60))))
    held = len(home.runtime.relations.flows["t"])
    assert held >= 50  # rows of `a` may come that see them
    home.ingest("a", rows(("A", 1, 70)))
    home.ingest("b", rows(("A", 1, 71)))
    assert len(home.runtime.relations.flows["t"]) <= 3


def test_the_status_tells_of_what_is_in_force(home: OnHome) -> None:
    home.start(STREAMS + SEEN)
    home.ingest("b", rows(("A", 1, 1), ("B", 1, 1), ("C", 0, 1), ("Z", 1, 9)))
    (table,) = report(home.runtime, {}, {}).tables
    assert (table.name, table.rows, table.stream) == ("t", 2, "b")


def test_a_watermark_that_goes_ahead_lets_rows_go_on(home: OnHome) -> None:
    home.start(STREAMS + SEEN)
    home.ingest("b", rows(("A", 1, 5), ("A", 2, 6)))
    home.ingest("a", rows(("A", 10, 5.5)))
    second = 1_000_000
    assert not home.runtime.closes("b", 5 * second)
    assert home.runtime.closes("b", 7 * second)
    home.runtime.step(why="idle", watermarks={"b": 7 * second})
    assert told(home, "seen") == [(5.5, "A", 10, 1)]


@pytest.mark.parametrize("stops", [False, True])
def test_a_drain_tells_all_and_the_table_goes_on(home: OnHome, stops: bool) -> None:
    gone = "CREATE QUERY gone AS SELECT DSTREAM(k, v) FROM t RETROACTIVE;"
    early = "CREATE QUERY early AS SELECT k, v FROM t RETROACTIVE EMIT CHANGES;"
    program = STREAMS + SEEN + THERE + gone + early
    home.start(program)
    home.ingest("b", rows(("A", 1, 5), ("B", 2, 6)))
    home.ingest("a", rows(("A", 10, 8)))
    home.drain(None)
    assert told(home, "seen") == [(8, "A", 10, 1)]
    if stops:
        home.restart(program)
    home.ingest("a", rows(("A", 11, 20), ("B", 12, 20)))
    home.ingest("b", rows(("B", 3, 19), ("Z", 9, 30)))
    assert told(home, "seen") == [(8, "A", 10, 1), (20, "A", 11, 1), (20, "B", 12, 3)]
    assert [row[:3] for row in told(home, "there")] == [(5, "A", 1), (6, "B", 2), (19, "B", 3)]
    assert [row[1:] for row in rows_of(home.results("gone"))] == [("B", 2)]
    changes = Counter((sign, *row) for sign, _, *row in rows_of(home.results("early")))
    assert changes == Counter([("+", "A", 1), ("+", "B", 2), ("-", "B", 2), ("+", "B", 3), ("+", "Z", 9)])
