"""Grouping sets through the engine, with cells in one place and in buckets."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.bench import Bench, row
from weft.engine.united import grouping_id

ROLLUP = """
CREATE QUERY r AS SELECT sym, note, COUNT(*) AS n, SUM(qty) AS q, GROUPING_ID() AS id
  FROM trades [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY ROLLUP (sym, note);
"""
FINE = """
CREATE QUERY fine AS SELECT sym, note, COUNT(*) AS n, SUM(qty) AS q
  FROM trades [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY sym, note;
"""
BEST = """
CREATE QUERY best AS SELECT sym, note, SUM(qty) AS q FROM trades [RANGE 4 SECONDS]
  GROUP BY CUBE (sym, note) ORDER BY q DESC LIMIT 2;
"""
SHAPED = """
CREATE QUERY shaped AS SELECT note, SUM(qty) DIV (COUNT(*) - 1) AS r FROM trades [RANGE 4 SECONDS]
  GROUP BY ROLLUP (note) HAVING GROUPING(note) = 0 OR COUNT(*) > 1;
"""
EMPTY = """
CREATE QUERY e AS SELECT note, COUNT(*) AS n, MAX(qty) AS q FROM trades [RANGE 2 SECONDS]
  GROUP BY GROUPING SETS ((note), ()) EMIT EMPTY;
"""


@pytest.fixture
def bench(tmp_path: Path) -> Any:
    opened = Bench(tmp_path, ROLLUP + FINE + BEST + SHAPED + EMPTY)
    yield opened
    opened.close()


def said(bench: Bench, query: str, *names: str) -> Counter[tuple[Any, ...]]:
    """The answers of a query, the end of the window in seconds first."""
    rows = bench.answers(query)
    return Counter((int(each["window_end"].timestamp()), *(each[name] for name in names)) for each in rows)


def finish(bench: Bench) -> None:
    bench.step()
    bench.drain()
    bench.deliver()


def test_every_set_is_answered(bench: Bench) -> None:
    bench.ingest(row("A", 1.0, 1, "x", 1), row("A", 1.0, 2, "y", 1))
    bench.step()
    bench.ingest(row("B", 1.0, 4, "x", 3))
    finish(bench)
    assert said(bench, "r", "sym", "note", "n", "q", "id") == Counter(
        {
            (2, "A", "x", 1, 1, 0): 1, (2, "A", "y", 1, 2, 0): 1, (2, "A", None, 2, 3, 1): 1,
            (2, None, None, 2, 3, 3): 1,
            (4, "A", "x", 1, 1, 0): 1, (4, "A", "y", 1, 2, 0): 1, (4, "B", "x", 1, 4, 0): 1,
            (4, "A", None, 2, 3, 1): 1, (4, "B", None, 1, 4, 1): 1, (4, None, None, 3, 7, 3): 1,
            (6, "B", "x", 1, 4, 0): 1, (6, "B", None, 1, 4, 1): 1, (6, None, None, 1, 4, 3): 1,
        }
    )  # fmt: skip


@pytest.mark.together
def test_answers_lie_by_window(bench: Bench) -> None:
    bench.ingest(*(row(sym, 1.0, 1, "x", at) for at in (1, 3, 5) for sym in "AB"))
    finish(bench)
    ends = [each["window_end"] for each in bench.answers("r")]
    assert ends == sorted(ends)
    assert len(set(ends)) == 4


def test_the_first_of_a_window_are_the_first_of_all_sets(bench: Bench) -> None:
    bench.ingest(*(row(f"s{at}", 1.0, at, "xyz"[at % 3], 1) for at in range(12)))
    finish(bench)
    assert said(bench, "best", "sym", "note", "q") == Counter({(4, None, None, 66): 1, (4, None, "z", 26): 1})


def test_an_answer_that_fails_is_a_dead_letter_of_its_own(bench: Bench) -> None:
    bench.ingest(row("A", 1.0, 1, "x", 1), row("A", 1.0, 2, "y", 1), row("A", 1.0, 4, "y", 1))
    finish(bench)
    assert said(bench, "shaped", "note", "r") == Counter({(4, "y", 6): 1, (4, None, 3): 1})
    assert len(bench.dead("shaped@1")) == 1


def test_a_late_row_counts_once(bench: Bench) -> None:
    bench.ingest(row("A", 1.0, 1, "x", 1), row("A", 1.0, 1, "x", 20))
    bench.step()
    bench.ingest(row("A", 1.0, 1, "x", 2), row("B", 1.0, 1, "y", 2), row("B", 1.0, 1, "y", 21))
    finish(bench)
    for query in ("r", "fine", "best", "e"):
        assert bench.runtime.tally.get("late", f"{query}@1") == 2


def test_an_empty_window_has_the_group_of_no_keys(bench: Bench) -> None:
    bench.ingest(row("A", 1.0, 1, "x", 1), row("A", 1.0, 2, "x", 7))
    finish(bench)
    assert said(bench, "e", "note", "n", "q") == Counter(
        {
            (2, "x", 1, 1): 1, (2, None, 1, 1): 1,
            (4, None, 0, None): 1, (6, None, 0, None): 1,
            (8, "x", 1, 2): 1, (8, None, 1, 2): 1,
        }
    )  # fmt: skip


def test_it_goes_on_after_a_crash(tmp_path: Path) -> None:
    for number in range(4):
        bench = Bench(tmp_path, ROLLUP)
        bench.ingest(row("A", 1.0, 1, "x", number), row("B", 1.0, 2, "y", number))
        bench.step()
        bench.close()
    bench = Bench(tmp_path, ROLLUP)
    finish(bench)
    assert said(bench, "r", "n", "q", "id")[(4, 8, 12, 3)] == 1
    assert said(bench, "r", "id") == Counter(
        {(end, id): 1 if id == 3 else 2 for end in (2, 4, 6) for id in (0, 1, 3)}
    )
    bench.close()


@pytest.mark.together
def test_a_query_that_comes_later_has_its_coarser_sets_of_what_there_is(tmp_path: Path) -> None:
    bench = Bench(tmp_path, FINE)
    bench.ingest(row("A", 1.0, 1, "x", 1), row("A", 1.0, 2, "y", 3))
    bench.step()
    bench.change(FINE + ROLLUP)
    bench.ingest(row("B", 1.0, 4, "x", 3))
    finish(bench)
    assert said(bench, "r", "q", "id")[(4, 7, 3)] == 1
    bench.change(ROLLUP)
    bench.ingest(row("B", 1.0, 8, "x", 21))
    finish(bench)
    assert said(bench, "r", "q", "id")[(24, 8, 3)] == 1
    bench.close()


def test_the_first_key_has_the_highest_bit() -> None:
    assert [grouping_id(each) for each in ([], [True], [True, False], [False, True, True])] == [0, 1, 2, 3]
