"""Chains of links: the published numbers, and random chains against trying every way to cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.strategies.chaincuts import (
    all_chains,
    exhaustive,
    held_by,
    merge,
    pulled_up,
    split,
    with_window,
    without_window,
)
from benchmarks.strategies.chainsavings import (
    TwoQueries,
    apart,
    over_pulled_up,
    over_pushed_down,
    pushed_down,
    sliced,
)
from benchmarks.strategies.chainsavings import pulled_up as one_join
from weft.share.chain import (
    Arrivals,
    Chain,
    ChainConstants,
    Chained,
    Condition,
    Fan,
    Reader,
    cpu_opt,
    mem_opt,
)
from weft.times import SECOND

UNIFORM = [2.5 * n for n in range(1, 13)]
MOSTLY_SMALL = [*range(1, 11), 20, 30]
SMALL_LARGE = [*range(1, 7), *range(25, 31)]


def seconds(*lengths: float) -> tuple[int, ...]:
    return tuple(round(length * SECOND) for length in lengths)


def chained(
    windows: list[float], rate: float, match: float, constants: ChainConstants | None = None
) -> Chained:
    return Chained([Reader(w) for w in seconds(*windows)], Arrivals(rate, rate, match), constants)


def two(two: TwoQueries) -> Chained:
    filtered = Condition("passes", two.passes)
    short, long = seconds(two.short, two.long)
    return Chained([Reader(short), Reader(long, filtered)], Arrivals(two.rate, two.rate, two.match))


class TestTheWorkedExample:
    three = (1, 2, 10)

    def test_the_cost_of_every_link(self) -> None:
        costs = chained([*self.three], 10, 0.05, ChainConstants(operator=1))
        found = {
            (start, end): costs.cost(*seconds(start, end))
            for start, end in [(0, 1), (1, 2), (2, 10), (0, 2), (1, 10), (0, 10)]
        }
        assert found == pytest.approx(
            {(0, 1): 240, (1, 2): 240, (2, 10): 1640, (0, 2): 460, (1, 10): 1930, (0, 10): 2240}
        )

    def test_the_cheapest_chain_merges_the_first_two(self) -> None:
        costs = chained([*self.three], 10, 0.05, ChainConstants(operator=1))
        assert cpu_opt(costs) == Chain(seconds(2, 10))
        assert costs.cost_of(cpu_opt(costs)) == pytest.approx(2100)
        assert costs.cost_of(mem_opt(costs)) == pytest.approx(2120)
        assert costs.cost_of(Chain(seconds(1, 10))) == pytest.approx(2170)
        assert costs.cost_of(pulled_up(costs)) == pytest.approx(2240)

    def test_of_equal_chains_that_with_more_links(self) -> None:
        costs = chained([*self.three], 10, 0.1, ChainConstants(operator=1))
        assert costs.cost_of(Chain(seconds(2, 10))) == pytest.approx(costs.cost_of(mem_opt(costs)))
        assert cpu_opt(costs) == mem_opt(costs)


def test_equal_windows_are_cut_once() -> None:
    assert mem_opt(chained([5, 2, 5], 1, 0.1)) == Chain(seconds(2, 5))


@pytest.mark.parametrize(
    ("windows", "links", "cost"),
    [(UNIFORM, {12}, 24960), (MOSTLY_SMALL, {7}, 24760), (SMALL_LARGE, {6, 7}, 24760)],
)
def test_twelve_queries(windows: list[float], links: set[int], cost: float) -> None:
    costs = chained(windows, 20, 0.025, ChainConstants(operator=1))
    best = cpu_opt(costs)
    assert len(best.ends) in links
    assert costs.cost_of(best) == pytest.approx(cost)
    assert costs.cost_of(exhaustive(costs)) == pytest.approx(cost)


def test_mostly_small_merges_pairs() -> None:
    costs = chained([*MOSTLY_SMALL], 20, 0.025, ChainConstants(operator=1))
    assert cpu_opt(costs) == Chain(seconds(2, 4, 6, 8, 10, 20, 30))


@pytest.mark.parametrize("windows", [UNIFORM, MOSTLY_SMALL, SMALL_LARGE])
def test_without_overhead_a_fast_stream_is_cut_everywhere(windows: list[float]) -> None:
    costs = chained(windows, 80, 0.025)
    assert cpu_opt(costs) == mem_opt(costs)
    assert costs.cost_of(mem_opt(costs)) == pytest.approx(385_920)


@pytest.mark.parametrize(
    ("fan", "overhead", "windows", "ends"),
    [
        (Fan.LINEAR, 60, SMALL_LARGE, (6, 30)),
        (Fan.LOGARITHMIC, 7, MOSTLY_SMALL, (10, 20, 30)),
        (Fan.CONSTANT, 0.2, MOSTLY_SMALL, (10, 20, 30)),
        (Fan.CONSTANT, 0.2, UNIFORM, tuple(UNIFORM)),
    ],
)
def test_the_shapes_of_the_paper_come_from_different_routers(
    fan: Fan, overhead: float, windows: list[float], ends: tuple[float, ...]
) -> None:
    costs = chained(windows, 20, 0.025, ChainConstants(operator=overhead, fan=fan))
    assert cpu_opt(costs) == Chain(seconds(*ends))


HELD = [
    ((5, 10, 30), 0.2, 40, 45),
    ((5, 10, 30), 0.5, 47.5, 52.5),
    ((5, 10, 30), 0.8, 55, 60),
    ((10, 20, 30), 0.2, 44, 54),
    ((10, 20, 30), 0.5, 50, 60),
    ((10, 20, 30), 0.8, 56, 66),
    ((20, 25, 30), 0.2, 52, 72),
    ((20, 25, 30), 0.5, 55, 75),
    ((20, 25, 30), 0.8, 58, 78),
]


@pytest.mark.parametrize(("windows", "passes", "in_slices", "parted"), HELD)
def test_rows_held_by_three_queries(
    windows: tuple[int, int, int], passes: float, in_slices: float, parted: float
) -> None:
    first, *others = seconds(*windows)
    readers = [Reader(first), *(Reader(window, Condition("p", passes)) for window in others)]
    costs = Chained(readers, Arrivals(1, 1, 0.1))
    assert held_by(costs, mem_opt(costs)) == pytest.approx(in_slices)
    assert held_by(costs, pulled_up(costs)) == pytest.approx(60)
    assert pushed_down(TwoQueries(1, windows[0], 30, passes, 0.1)).held == pytest.approx(parted)


SAVED = [
    (1 / 2, 0.5, 0.1, 0.1250, 0.2222, 0.3333, 0.0588),
    (1 / 2, 0.2, 0.1, 0.2000, 0.2381, 0.4583, 0.0299),
    (1 / 2, 0.8, 0.1, 0.0500, 0.2083, 0.2083, 0.0777),
    (1 / 3, 0.5, 0.1, 0.1667, 0.1667, 0.4167, 0.0667),
    (1 / 2, 1.0, 0.1, 0.0000, 0.2000, 0.1250, 0.0870),
    (1 / 2, 0.5, 0.4, 0.1250, 0.2222, 0.4722, 0.1739),
    (1 / 2, 0.5, 0.025, 0.1250, 0.2222, 0.2738, 0.0161),
    (1 / 60, 0.01, 0.1, 0.4867, 0.0160, 0.9765, 0.0343),
]


@pytest.mark.parametrize(("ratio", "passes", "match", "held_up", "held_down", "work_up", "work_down"), SAVED)
def test_the_savings_of_equation_4(
    ratio: float,
    passes: float,
    match: float,
    held_up: float,
    held_down: float,
    work_up: float,
    work_down: float,
) -> None:
    both = TwoQueries(10, ratio * 60, 60, passes, match)
    up, down = over_pulled_up(both), over_pushed_down(both)
    assert (up.held, down.held) == pytest.approx((held_up, held_down), abs=5e-5)
    assert (up.work, down.work) == pytest.approx((work_up, work_down), abs=5e-5)


def test_the_costs_of_two_queries() -> None:
    both = TwoQueries(10, 2, 10, 0.5, 0.1)
    assert [way(both).held for way in (one_join, pushed_down, sliced)] == pytest.approx([200, 180, 160])
    assert [way(both).work for way in (one_join, pushed_down, sliced)] == pytest.approx([2420, 1380, 1305])
    assert [way(both).pairs for way in (one_join, pushed_down, sliced)] == pytest.approx([2400, 1340, 1240])
    assert apart(both).held == pytest.approx(2 * 10 * 2 + 1.5 * 10 * 10)
    assert apart(both).work == pytest.approx(400 + 20 + 10 + 1000 + 15)


part = st.floats(0.01, 1)
some_pair = st.builds(
    lambda rate, short, more, passes, match: TwoQueries(rate, short, short + more, passes, match),
    st.floats(1, 100), st.integers(1, 50), st.integers(1, 50), part, part,
)  # fmt: skip


@given(some_pair)
def test_equation_4_is_the_difference_of_the_models(both: TwoQueries) -> None:
    slices = sliced(both)
    for other, saved in ((one_join, over_pulled_up(both)), (pushed_down, over_pushed_down(both))):
        price = other(both)
        assert 1 - slices.held / price.held == pytest.approx(saved.held, abs=1e-9)
        assert 1 - slices.pairs / price.pairs == pytest.approx(saved.work, abs=1e-9)


@given(some_pair)
def test_links_cost_what_the_models_of_two_queries_say(both: TwoQueries) -> None:
    costs = two(both)
    union = 2 * both.rate
    assert costs.cost_of(mem_opt(costs)) + union == pytest.approx(sliced(both).work)
    assert costs.cost_of(pulled_up(costs)) == pytest.approx(one_join(both).work)
    assert held_by(costs, mem_opt(costs)) == pytest.approx(sliced(both).held)
    assert held_by(costs, pulled_up(costs)) == pytest.approx(one_join(both).held)


conditions = st.sampled_from([None, Condition("a", 0.1), Condition("b", 0.5), Condition("c", 0.9)])
some_readers = st.lists(
    st.builds(Reader, st.integers(1, 40).map(lambda n: n * SECOND), conditions, conditions),
    min_size=1, max_size=9,
)  # fmt: skip
some_constants = st.builds(
    ChainConstants,
    purge=st.floats(0, 2), compare=st.sampled_from([0.0, 1.0]), lookup=st.floats(0, 20),
    halving=st.floats(0, 3), match=st.floats(0, 3), route=st.floats(0, 3), test=st.floats(0, 2),
    operator=st.floats(0, 200), call=st.floats(0, 5000), fan=st.sampled_from(list(Fan)),
)  # fmt: skip
some_arrivals = st.builds(Arrivals, st.floats(1, 100), st.floats(1, 100), st.floats(0.001, 0.5))


@settings(deadline=None)
@given(some_readers, some_arrivals, some_constants)
def test_the_shortest_path_is_the_cheapest_of_all_chains(
    readers: list[Reader], arrivals: Arrivals, constants: ChainConstants
) -> None:
    costs = Chained(readers, arrivals, constants)
    best = cpu_opt(costs)
    assert costs.cost_of(best) == pytest.approx(costs.cost_of(exhaustive(costs)), rel=1e-9)
    assert best in set(all_chains(costs))


@settings(deadline=None)
@given(some_readers, some_arrivals)
def test_a_cut_at_every_window_holds_the_fewest_rows(readers: list[Reader], arrivals: Arrivals) -> None:
    costs = Chained(readers, arrivals)
    least = min(held_by(costs, chain) for chain in all_chains(costs))
    assert held_by(costs, mem_opt(costs)) == pytest.approx(least)


@settings(deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=9), some_arrivals)
def test_without_conditions_all_chains_hold_as_much(windows: list[int], arrivals: Arrivals) -> None:
    costs = Chained([Reader(window * SECOND) for window in windows], arrivals)
    whole = (arrivals.left + arrivals.right) * max(windows)
    assert [held_by(costs, chain) for chain in all_chains(costs)] == pytest.approx(
        [whole] * 2 ** (len(set(windows)) - 1)
    )


def test_look_ups_make_links_dearer_than_comparisons_do() -> None:
    slow, fast = ChainConstants(), ChainConstants(compare=0, lookup=400, match=1)
    assert cpu_opt(chained([1, 2, 10], 10, 0.5, slow)) == Chain(seconds(1, 2, 10))
    assert cpu_opt(chained([1, 2, 10], 10, 0.5, fast)) == Chain(seconds(10))


def test_a_batch_each_second_merges_slow_streams_and_not_fast_ones() -> None:
    constants = ChainConstants(compare=0, lookup=1, match=1, call=1000)
    assert cpu_opt(chained([1, 2, 10], 10, 0.1, constants)) == Chain(seconds(10))
    assert cpu_opt(chained([1, 2, 10], 1000, 0.1, constants)) == Chain(seconds(1, 2, 10))


class TestChanging:
    chain = Chain(seconds(2, 5, 9))

    def test_split_and_merge_undo_each_other(self) -> None:
        cut = split(self.chain, 7 * SECOND)
        assert cut == Chain(seconds(2, 5, 7, 9))
        assert merge(cut, 7 * SECOND) == self.chain

    def test_only_inside_a_link_can_be_split(self) -> None:
        for at in (0, 5, 9, 10):
            with pytest.raises(ValueError, match=r"no link of .* inside"):
                split(self.chain, at * SECOND)

    def test_only_where_two_links_meet_can_be_merged(self) -> None:
        for at in (0, 3, 9):
            with pytest.raises(ValueError, match=r"no two links of .* meet at"):
                merge(self.chain, at * SECOND)

    def test_a_window_that_comes(self) -> None:
        assert with_window(self.chain, 5 * SECOND) == self.chain
        assert with_window(self.chain, 3 * SECOND) == Chain(seconds(2, 3, 5, 9))
        assert with_window(self.chain, 20 * SECOND) == Chain(seconds(2, 5, 9, 20))

    def test_a_window_that_goes(self) -> None:
        two, five, nine = self.chain.ends
        assert without_window(self.chain, five, [two, five, nine]) == self.chain
        assert without_window(self.chain, five, [two, nine]) == Chain((two, nine))
        assert without_window(self.chain, nine, [two, five]) == Chain((two, five))

    def test_it_prints(self) -> None:
        assert str(Chain(seconds(2.5, 10))) == "[0,2.5) [2.5,10)"


def test_a_chain_needs_windows() -> None:
    with pytest.raises(ValueError, match="needs windows"):
        Chained([], Arrivals(1, 1, 1))
