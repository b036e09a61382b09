"""Which queries share: the literature's worked examples with corrected numbers, and what must hold of any
weave."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.weavers.costs import groups_of, no_share, three_level, two_level
from benchmarks.weavers.searches import (
    all_apart,
    all_together,
    at_random,
    exhaustive,
    inserted,
    union_rates,
)
from tests.unit.share.weave.windows import (
    EXAMPLE_3,
    EXAMPLE_9,
    GOLDEN,
    NOT_OPTIMAL,
    TABLE_3,
    classes_of,
    window,
)
from weft.lang.statements import WindowSpec
from weft.share.weave.classes import EdgeClass
from weft.share.weave.history import History, Partition, history_of
from weft.share.weave.points import Points, points_of
from weft.share.weave.search import Groups, moved


class Case:
    """Windows as the optimizers see them."""

    def __init__(self, windows: list[WindowSpec]) -> None:
        self.classes: list[EdgeClass] = classes_of(windows)
        self.points: Points = points_of(self.classes)
        self.history: History = history_of(self.classes, self.points)
        self.count = len(self.classes)
        self.fine = self.points.rate(range(self.count))

    def cost(self, partition: Partition, rows: float) -> float:
        return two_level(rows, groups_of(partition, self.classes, self.points))

    def three(self, partition: Partition, rows: float) -> float:
        return three_level(rows, self.fine, groups_of(partition, self.classes, self.points))

    def woven(self, price: float) -> Partition:
        return self.history.partition(self.history.best_cut(price))

    def named(self, partition: Partition) -> set[str]:
        """Groups by the letters of their queries."""
        return {
            "".join(sorted(chr(97 + query) for at in group for query in self.classes[at].members))
            for group in partition
        }


def test_of_nothing_nothing_is_merged() -> None:
    assert history_of([], points_of([])) == History(0, 0.0, ())


def test_example_3_breaks_even_at_two_thirds() -> None:
    case = Case(EXAMPLE_3)
    assert case.cost(all_apart(2), 0.0) == pytest.approx(1.1111, abs=1e-4)
    assert case.cost(all_together(2), 0.0) == pytest.approx(1.7778, abs=1e-4)
    assert len(case.woven(0.66)) == 2
    assert len(case.woven(0.67)) == 1


def test_table_3() -> None:
    case = Case(TABLE_3)  # a and c have the same edges, and are one class
    assert no_share(1.2, case.classes) == pytest.approx(5.5)
    assert case.named(case.woven(1.2)) == {"ac", "b"}
    assert case.cost(case.woven(1.2), 1.2) == pytest.approx(4.3)
    assert case.cost(all_together(2), 1.2) == pytest.approx(4.4)
    assert case.three(case.woven(1.2), 1.2) == pytest.approx(3.9)
    assert case.three(all_together(2), 1.2) == pytest.approx(4.8)
    assert case.named(case.woven(1.3001)) == {"abc"}


def test_example_9_costs() -> None:
    case = Case(EXAMPLE_9[:3])
    for groups, reading, three in [
        (((0,), (1,), (2,)), 11.8, 14.8),
        (((0, 1), (2,)), 12.8, 14.8),
        (((0, 2), (1,)), 13.0, 15.0),
        (((0,), (1, 2)), 12.8, 14.8),
        (((0, 1, 2),), 14.0, 15.0),
    ]:
        assert case.cost(groups, 0.0) == pytest.approx(reading)
        assert case.three(groups, 0.0) == pytest.approx(three)
    assert case.named(case.woven(1.1)) == {"ab", "c"}


def test_the_golden_workload() -> None:
    case = Case(GOLDEN)
    assert case.fine == pytest.approx(0.6)
    assert no_share(0.0, case.classes) == pytest.approx(3.9)
    penalties = [merge.penalty for merge in case.history.merges]  # e and f are one class already
    assert penalties == pytest.approx([0.15, 0.366667, 0.533333, 1.0, 2.25, 5.6], abs=1e-6)


@pytest.mark.parametrize(
    ("rows", "apart", "shared", "groups", "woven", "best"),
    [
        (0.5, 7.9, 14.3, {"a", "b", "cgh", "d", "ef"}, 6.916667, 6.85),
        (2.0, 19.9, 15.8, {"a", "bef", "cdgh"}, 11.95, 11.95),
        (5.0, 43.9, 18.8, {"abef", "cdgh"}, 18.2, 18.2),
        (20.0, 163.9, 33.8, {"abcdefgh"}, 33.8, 33.8),
    ],
)
def test_the_golden_plans(
    rows: float, apart: float, shared: float, groups: set[str], woven: float, best: float
) -> None:
    case = Case(GOLDEN)
    assert no_share(rows, case.classes) == pytest.approx(apart)
    assert case.cost(all_together(case.count), rows) == pytest.approx(shared)
    assert case.named(case.woven(rows)) == groups
    assert case.cost(case.woven(rows), rows) == pytest.approx(woven, abs=1e-6)
    assert exhaustive(case.classes, case.points, rows)[1] == pytest.approx(best, abs=1e-6)


def test_three_levels_of_the_golden_workload() -> None:
    case = Case(GOLDEN)
    plan = case.woven(case.fine)
    assert case.named(plan) == {"a", "b", "cdgh", "ef"}
    assert case.three(plan, 100.0) == pytest.approx(107.35)
    assert exhaustive(case.classes, case.points, case.fine)[1] == pytest.approx(7.35)


def test_merging_is_not_always_best() -> None:
    case = Case(NOT_OPTIMAL)
    assert case.named(case.woven(2.0)) == {"a", "bcd"}
    assert case.cost(case.woven(2.0), 2.0) == pytest.approx(8.416667, abs=1e-6)
    best, cost = exhaustive(case.classes, case.points, 2.0)
    assert case.named(best) == {"ac", "bd"}
    assert cost == pytest.approx(7.860606, abs=1e-6)


some_windows = st.lists(
    st.tuples(st.integers(1, 60), st.sampled_from([1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 15])),
    min_size=1,
    max_size=7,
).map(lambda sizes: [window(*size) for size in sizes])
prices = st.floats(0.01, 50)


@given(some_windows, prices)
def test_what_holds_of_any_plan(windows: list[WindowSpec], price: float) -> None:
    case = Case(windows)
    best, least = exhaustive(case.classes, case.points, price)
    assert case.cost(best, price) == pytest.approx(least)
    woven = case.cost(case.woven(price), price)
    alone = sum(one.rate * one.reads for one in case.classes)
    for plan in (all_apart(case.count), all_together(case.count)):
        assert woven <= case.cost(plan, price) * (1 + 1e-9)
    for plan in (inserted(case.classes, case.points, price), at_random(case.count, 1), case.woven(price)):
        assert sorted(at for group in plan for at in group) == list(range(case.count))
        assert case.cost(plan, price) >= least * (1 - 1e-9)
    assert woven >= (price + alone) * (1 - 1e-9)
    assert no_share(price, case.classes) <= len(windows) * woven * (1 + 1e-9)


@given(some_windows, prices)
def test_a_polish_never_makes_it_worse(windows: list[WindowSpec], price: float) -> None:
    case = Case(windows)
    start = case.woven(price)
    plan, _ = moved(case.classes, case.points, price, start, steps=100)
    assert case.cost(plan, price) <= case.cost(start, price) * (1 + 1e-9)
    free, _ = moved(case.classes, case.points, price, all_apart(case.count), steps=100)
    assert case.cost(free, price) <= case.cost(all_apart(case.count), price) * (1 + 1e-9)


@given(some_windows, prices, st.integers(0, 100))
def test_groups_may_begin_with_what_would_be_put_there(
    windows: list[WindowSpec], price: float, seed: int
) -> None:
    case = Case(windows)
    start = at_random(case.count, seed)
    begun = Groups(case.classes, case.points, price, start)
    put = Groups(case.classes, case.points, price)
    for place, group in enumerate(start):
        for at in group:
            put.put(at, place)
    assert begun.partition() == put.partition() == start
    assert begun.costs(slice(None)) == pytest.approx(put.costs(slice(None)), abs=1e-9)
    while begun.improve():
        assert put.improve()
        assert begun.partition() == put.partition()
        fresh = Groups(case.classes, case.points, price, begun.partition())
        assert np.sort(begun.costs(slice(None))) == pytest.approx(np.sort(fresh.costs(slice(None))), abs=1e-9)


@given(some_windows, prices)
@example(
    [window(1, 1), window(1, 8), window(9, 3), window(11, 5)], 2.0
)  # two pairs cost the same, but for rounding
def test_one_history_serves_every_rate(windows: list[WindowSpec], price: float) -> None:
    """It is the greedy run by the letter, and no worse than where that stops for a price: of pairs that cost
    least, up to rounding, any may be merged."""
    case = Case(windows)
    plan = {at: [at] for at in range(case.count)}
    stopped = None
    for merge in case.history.merges:
        penalties = {
            (x, y): _penalty(case, plan[x], plan[y]) for x, y in itertools.combinations(sorted(plan), 2)
        }
        least = min(penalties.values())
        assert penalties[merge.kept, merge.gone] == pytest.approx(least, abs=1e-9)
        assert merge.penalty == pytest.approx(least, abs=1e-9)
        if stopped is None and least >= price:
            stopped = list(plan.values())
        plan[merge.kept] = sorted(plan[merge.kept] + plan.pop(merge.gone))
    assert len(plan) == 1
    direct = case.cost(tuple(map(tuple, stopped or plan.values())), price)
    assert case.cost(case.woven(price), price) <= direct * (1 + 1e-6)


def _penalty(case: Case, x: list[int], y: list[int]) -> float:
    ((together,), (first, other)) = (
        groups_of((tuple(x + y),), case.classes, case.points),
        groups_of((tuple(x), tuple(y)), case.classes, case.points),
    )
    return together.reading - first.reading - other.reading


@given(some_windows)
def test_rates_of_all_sets(windows: list[WindowSpec]) -> None:
    case = Case(windows)
    rates = union_rates(case.points, case.count)
    for chosen in range(1, 1 << case.count):
        members = [at for at in range(case.count) if chosen >> at & 1]
        assert rates[chosen] == pytest.approx(case.points.rate(members))


def test_collapsed_classes_cost_no_more_than_queries_apart() -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        sizes = [
            window(int(r), int(s)) for r, s in zip(random.integers(1, 20, 5), random.choice([2, 3, 4, 6], 5))
        ]
        case = Case(sizes)
        each = [EdgeClass(one.pairs, (m,), 1.0) for one in case.classes for m in one.members]
        whole = [EdgeClass(one.pairs, one.members, float(len(one.members))) for one in case.classes]
        assert exhaustive(whole, points_of(whole), 0.7)[1] == pytest.approx(
            exhaustive(each, points_of(each), 0.7)[1]
        )
