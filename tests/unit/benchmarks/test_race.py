"""A race of the one contestant that starts at once; and what becomes of those that cannot."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from benchmarks import answers, flink_home
from benchmarks.answers import Verdict
from benchmarks.race import Settings, Unequal, race
from benchmarks.side import Order
from benchmarks.turns import Ended, Turns
from benchmarks.workloads import Sizes, find

SIZES = Sizes(rows=20_000, files=4)


def settings(place: Path) -> Settings:
    (place / "file").touch()
    only = frozenset({"duck", "duck_scan", "flink"})
    return Settings(SIZES, place / "data", place / "scratch", place / "file" / "flink", repeat=2, only=only)


def test_a_race_measures_checks_and_says_who_could_not_run(tmp_path: Path) -> None:
    said: list[str] = []
    result = race(find("ten-csv", SIZES), settings(tmp_path), said.append)
    assert list(result.sides) == ["duck", "duck_scan"]
    duck = result.sides["duck"]
    assert duck.rows == 20_000
    assert len(duck.runs) == 2
    assert duck.cold is not None
    assert duck.cold.cpu > duck.cpu  # it has the start of the process in it
    assert result.equal["duck"].endswith("answers equal")
    assert list(result.absent) == ["flink"]
    assert not result.full
    assert len(said) == 3


def test_a_race_ends_at_the_first_wrong_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "compare", lambda *_: Verdict(5, "", 1, 0, 0, "q, window to 1, key 2"))
    with pytest.raises(Unequal, match="ten-csv, duck: 1 missing"):
        race(find("ten-csv", SIZES), settings(tmp_path), lambda _: None)


def test_a_process_that_dies_is_noticed(tmp_path: Path) -> None:
    order = Order("no such workload", "duck", SIZES, str(tmp_path), str(tmp_path), 0.0, "1g")
    with Turns(sys.executable, order, os.environ) as turns, pytest.raises(Ended, match="exit code 1"):
        turns.tell("warm")


def test_flink_that_cannot_be_installed_is_a_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = flink_home.python(tmp_path / "file" / "flink")
    assert isinstance(found, flink_home.Unavailable)
    assert "file" in found.reason
