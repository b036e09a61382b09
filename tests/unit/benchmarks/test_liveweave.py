"""Queries that come and go: the worked example, and how far the plan drifts from a fresh one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.weavers.costs import groups_of, two_level
from benchmarks.weavers.live import LiveWeave
from tests.unit.share.weave.windows import TABLE_3, classes_of, window
from weft.lang.statements import WindowSpec
from weft.share.slicing import overlap
from weft.share.weave.classes import EdgeClass
from weft.share.weave.history import history_of
from weft.share.weave.points import points_of


def from_scratch(classes: list[EdgeClass], price: float) -> Iterable[tuple[int, ...]]:
    history = history_of(classes, points_of(classes))
    return history.partition(history.best_cut(price))


def fresh_cost(windows: list[WindowSpec], price: float) -> float:
    classes = classes_of(windows)
    points = points_of(classes)
    history = history_of(classes, points)
    plan = history.partition(history.best_cut(price))
    return two_level(price, groups_of(plan, classes, points))


def add(live: LiveWeave, name: str, one: WindowSpec) -> None:
    live.add(name, one, float(overlap(one)))


def named(live: LiveWeave) -> set[str]:
    return {"".join(sorted(map(str, group))) for group in live.partition()}


def test_the_worked_example() -> None:
    live = LiveWeave(1.2)
    for name, one in zip("abc", TABLE_3, strict=True):
        add(live, name, one)
    live = live.rewoven(from_scratch)
    assert named(live) == {"ac", "b"}
    assert live.cost == pytest.approx(4.3)
    add(live, "d", window(10, 5))
    assert (named(live), live.cost) == ({"ac", "bd"}, pytest.approx(4.7))
    add(live, "e", window(20, 20))
    assert (named(live), live.cost) == ({"ac", "bde"}, pytest.approx(4.9))
    live.remove("a")
    assert (named(live), live.cost) == ({"c", "bde"}, pytest.approx(3.9))
    live.remove("e")
    assert (named(live), live.cost) == ({"bcd"}, pytest.approx(3.6))


def test_order_matters_until_it_is_woven_anew() -> None:
    live = LiveWeave(1.2)
    for name, one in zip("abcde", [*TABLE_3, window(10, 5), window(20, 20)], strict=True):
        add(live, name, one)
    assert live.cost == pytest.approx(5.6)
    assert live.rewoven(from_scratch).cost == pytest.approx(4.9)


some_windows = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 15)), min_size=1, max_size=12)


@given(some_windows, st.data())
def test_its_numbers_are_those_of_its_groups(sizes: list[tuple[int, int]], data: st.DataObject) -> None:
    live, windows = LiveWeave(2.0), {}
    for at, size in enumerate(sizes):
        windows[at] = window(*size)
        live.add(at, windows[at], float(overlap(windows[at])))
        if data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(sorted(windows)))
            live.remove(gone)
            del windows[gone]
    assert sorted(name for group in live.partition() for name in group) == sorted(windows)  # type: ignore[type-var]
    for group, members in zip(live.groups(), live.partition(), strict=True):
        classes = classes_of([windows[name] for name in members])  # type: ignore[index]
        assert group.rate == pytest.approx(points_of(classes).rate(range(len(classes))), rel=0.15)
        assert group.reads == pytest.approx(sum(overlap(windows[name]) for name in members))  # type: ignore[index]


def test_growth_is_what_calls_for_weaving_anew() -> None:
    random = np.random.default_rng(2)
    live, windows = LiveWeave(50.0), []
    worst, rebuilt = 0.0, 0
    for at in range(160):
        slide = int(random.choice([1, 2, 5, 7, 10, 15, 30, 60, 90, 120, 300]))
        windows.append(window(slide * int(random.integers(1, 50)), slide))
        add(live, f"q{at}", windows[-1])
        if live.is_stale:
            live, rebuilt = live.rewoven(from_scratch), rebuilt + 1
        if at >= 50 and at % 10 == 0:
            worst = max(worst, live.cost / fresh_cost(windows, 50.0) - 1)
    assert worst < 0.1
    assert rebuilt < 60
