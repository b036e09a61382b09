"""Cells in files of one machine: taken once, at the right moment, or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from weft.engine.arena import Arena
from weft.engine.errands import Errand, Feeds
from weft.engine.windows import Reach
from weft.kernels.columns import ColumnSpec
from weft.kernels.state import FeedState

COUNT = ColumnSpec("count(*)", "count", None, None)
ERRAND = Errand(
    home="unread",
    run="home-1",
    stream="s",
    buckets=2,
    floors={},
    base=None,
    start=-1,
    after=-1,
    upto=4,
    before=Reach(),
    reach=Reach(),
    first=None,
    answers="unused",
)
NEXT = replace(ERRAND, after=4, upto=5)


def feeds(groups: int) -> Feeds:
    state = FeedState(1)
    keys = pa.array([f"key {at}" for at in range(groups)])
    state.fold(np.full(groups, 7), [keys], {COUNT: {"": pa.array(np.arange(1, groups + 1))}})
    return {(False, ("k",)): state}


def counts(held: Feeds) -> dict[str, int]:
    (state,) = held.values()
    answered = state.answer(np.array([0]), np.array([10]), COUNT, [COUNT])
    (keys,) = state.keys(answered.group)
    return dict(zip(keys.to_pylist(), answered.values[COUNT][0].tolist(), strict=True))


@pytest.mark.parametrize("groups", [1, 5000])
def test_another_worker_goes_on_where_one_stopped(tmp_path: Path, groups: int) -> None:
    Arena(tmp_path).put(ERRAND, 0, feeds(groups))
    found = Arena(tmp_path).take(NEXT, 0)
    assert found is not None
    assert counts(found) == counts(feeds(groups))
    (state,) = found.values()
    state.fold(np.array([7]), [pa.array(["key 0"])], {COUNT: {"": pa.array([10])}})
    Arena(tmp_path).put(NEXT, 0, found)
    again = Arena(tmp_path).take(replace(NEXT, after=5), 0)
    assert again is not None
    assert counts(again) == counts(feeds(groups)) | {"key 0": 11}


def test_cells_of_another_moment_are_not_taken(tmp_path: Path) -> None:
    Arena(tmp_path).put(ERRAND, 0, feeds(3))
    assert Arena(tmp_path).take(replace(NEXT, after=3), 0) is None
    assert Arena(tmp_path).take(NEXT, 0) is None  # whoever looked has taken them away


@pytest.mark.parametrize("other", [{"run": "home-2"}, {"stream": "t"}])
def test_cells_of_others_are_not_taken(tmp_path: Path, other: dict[str, str]) -> None:
    Arena(tmp_path).put(ERRAND, 0, feeds(3))
    assert Arena(tmp_path).take(replace(NEXT, **other), 0) is None  # type: ignore[arg-type]
    assert Arena(tmp_path).take(NEXT, 1) is None
    assert Arena(tmp_path).take(NEXT, 0) is not None


def test_a_step_that_is_done_again_does_not_find_what_it_left(tmp_path: Path) -> None:
    """Without a new batch, but with windows closed: their cells are expired."""
    step = replace(ERRAND, after=4, reach=Reach(9))
    Arena(tmp_path).put(step, 0, feeds(3))
    assert Arena(tmp_path).take(step, 0) is None


def test_what_was_taken_is_gone(tmp_path: Path) -> None:
    """A second attempt of a task must not share cells with the first."""
    Arena(tmp_path).put(ERRAND, 0, feeds(3))
    assert Arena(tmp_path).take(NEXT, 0) is not None
    assert Arena(tmp_path).take(NEXT, 0) is None


def test_a_file_that_is_missing_is_a_miss(tmp_path: Path) -> None:
    Arena(tmp_path).put(ERRAND, 0, feeds(3))
    for path in tmp_path.rglob("*.cells"):
        path.unlink()
    assert Arena(tmp_path).take(NEXT, 0) is None


def test_nothing_piles_up(tmp_path: Path) -> None:
    arena = Arena(tmp_path)
    for at in range(5):
        arena.put(replace(ERRAND, upto=at), 0, feeds(3))
    arena.put(replace(ERRAND, run="home-2"), 0, feeds(3))
    assert sorted(path.name.rpartition(".")[2] for path in tmp_path.rglob("*.*") if path.is_file()) == [
        "cells",
        "json",
    ]
