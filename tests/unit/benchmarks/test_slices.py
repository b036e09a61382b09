"""The benchmark of slices: all ways answer alike, and hold what the formulas say."""

from __future__ import annotations

import pytest

from benchmarks.slices import WINDOWS, Setting, arriving, matches, run, windows_of
from benchmarks.strategies.windowjoin import Query, answer_of

SETTING = Setting(10, (5, 10, 30), 0.5, 0.1)


def wanted(row) -> bool:
    return row.value[1] < SETTING.passes


def test_all_ways_give_every_query_its_pairs_in_order() -> None:
    rows = arriving(4, 60, SETTING.match, seed=5)
    queries = [Query(5), Query(10, wanted), Query(30, wanted)]
    expected = [sorted(pair.key + pair.left.key for pair in answer_of(q, rows, matches)) for q in queries]
    assert all(expected)
    for way in SETTING.ways().values():
        for row in rows:
            way.feed(row)
        assert [sorted(pair.key + pair.left.key for pair in each) for each in way.answers] == expected
        assert all([p.key for p in each] == sorted(p.key for p in each) for each in way.answers)


@pytest.mark.parametrize("passes", [0.2, 0.8])
def test_rows_held_are_those_of_the_formulas(passes: float) -> None:
    setting = Setting(10, WINDOWS["Uniform"], passes, 0.1)
    rows = arriving(10, 120, 0.1, seed=6)
    for way, joins in setting.ways().items():
        assert run(joins, rows, 30).held == pytest.approx(setting.expected()[way], rel=0.08), way


def test_a_parted_stream_holds_the_other_twice() -> None:
    held = SETTING.expected()
    assert held["slices"] < held["push-down"] < held["pull-up"]
    assert Setting(10, (20, 25, 30), 0.8, 0.1).expected()["push-down"] > held["pull-up"]


@pytest.mark.parametrize("count", [12, 24, 36])
@pytest.mark.parametrize("name", ["Uniform", "Mostly-Small", "Small-Large"])
def test_windows_of_more_queries_lie_as_those_of_twelve(name: str, count: int) -> None:
    windows = windows_of(name, count)
    assert len(set(windows)) == count
    assert max(windows) == 30


def test_the_windows_of_twelve_queries_are_the_papers() -> None:
    assert windows_of("Uniform", 12) == [2.5 * n for n in range(1, 13)]
    assert windows_of("Mostly-Small", 12) == [*range(1, 11), 20, 30]
    assert windows_of("Small-Large", 12) == [*range(1, 7), *range(25, 31)]


def test_rows_come_as_often_as_asked_and_match_as_often() -> None:
    rows = arriving(50, 100, 0.1, seed=7)
    assert len(rows) == pytest.approx(10_000, rel=0.05)
    values = [row.value[0] for row in rows]
    assert values.count(3) / len(values) == pytest.approx(0.1, rel=0.15)
