"""The order of multi-way joins: the thesis's examples, and random streams against trying every order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from random import Random
from statistics import mean, median, quantiles

import pytest

from weft.share.joinorder import (
    FEW,
    Order,
    Side,
    best_order,
    choose_order,
    cost,
    cost_from,
    exhaustive,
    first_order,
    pairs_held,
    reorder_pays,
)

TABLE_5_3 = [Side(10, 100, 500), Side(1, 100, 50), Side(1, 200, 40), Side(3, 100, 5)]
TABLE_5_5 = [Side(10, 100, 40), Side(1, 100, 100), Side(1, 100, 8), Side(1, 100, 5)]
TABLE_5_6 = [Side(11, 100, 200), Side(10, 100, 100), Side(1, 100, 65), Side(1, 100, 20)]


def by_size(sides: Sequence[Side]) -> Order:
    """The smallest first: what is best where all columns have as many values."""
    return tuple(sorted(range(len(sides)), key=lambda at: (sides[at].looked_at, at)))


def order(*streams: int) -> tuple[int, ...]:
    return tuple(stream - 1 for stream in streams)


def all_costs(sides: list[Side]) -> list[float]:
    return [cost(each, sides) for each in permutations(range(len(sides)))]


def test_the_cost_by_stream() -> None:
    first = order(1, 2, 3, 4)
    assert [cost_from(at, first, TABLE_5_3) for at in range(4)] == pytest.approx([3800, 3800, 2400, 6000])


def test_the_sizes_of_joins() -> None:
    found = {
        (i + 1, j + 1): pairs_held(TABLE_5_3[i], TABLE_5_3[j]) for i in range(4) for j in range(i + 1, 4)
    }
    assert found == {(1, 2): 200, (1, 3): 400, (1, 4): 600, (2, 3): 400, (2, 4): 600, (3, 4): 1500}


@pytest.mark.parametrize(
    ("sides", "start", "at_start", "chosen", "best", "worst"),
    [
        (TABLE_5_3, order(1, 2, 3, 4), 16_000, order(1, 2, 3, 4), 16_000, 86_850),
        (TABLE_5_5, order(2, 3, 4, 1), 42_600, order(2, 1, 3, 4), 16_200, 135_150),
        (TABLE_5_6, order(3, 4, 1, 2), 49_542, order(3, 1, 4, 2), 47_977, None),
    ],
)
def test_the_published_examples(sides, start, at_start, chosen, best, worst) -> None:
    assert first_order(sides) == start
    assert cost(start, sides) == pytest.approx(at_start, abs=0.5)
    assert choose_order(sides) == chosen == exhaustive(sides)
    assert cost(chosen, sides) == pytest.approx(best, abs=0.5)
    if worst is not None:
        assert max(all_costs(sides)) == pytest.approx(worst, abs=0.5)


def test_other_orders_of_the_published_examples() -> None:
    assert cost(order(1, 2, 3, 4), TABLE_5_5) == pytest.approx(21_000)
    assert cost(order(4, 3, 2, 1), TABLE_5_3) == pytest.approx(86_850)
    assert cost(order(4, 3, 1, 2), TABLE_5_5) == pytest.approx(135_150)
    for each, expected in (((3, 1, 2, 4), 51_954), ((1, 2, 3, 4), 68_200), ((2, 1, 3, 4), 79_000)):
        assert cost(order(*each), TABLE_5_6) == pytest.approx(expected, abs=0.5)
    assert mean(all_costs(TABLE_5_6)) == pytest.approx(63_362, abs=0.5)


def test_table_5_5_as_printed_ranks_the_same_at_ten_times_the_cost() -> None:
    printed = [Side(100, 100, 40), *TABLE_5_5[1:]]
    orders = (order(2, 1, 3, 4), order(2, 3, 4, 1), order(1, 2, 3, 4), order(4, 3, 1, 2))
    assert [cost(each, printed) for each in orders] == pytest.approx([160_200, 420_600, 210_000, 1_347_900])


def test_where_all_have_as_many_values_the_smallest_goes_first() -> None:
    sides = [Side(3, 10, 7), Side(1, 10, 7), Side(2, 10, 7)]
    assert by_size(sides) == order(2, 3, 1) == first_order(sides)


def test_hashed_windows_are_ordered_by_the_bucket() -> None:
    sides = [Side(3, 10, 60, buckets=10), Side(1, 10, 60, buckets=10), Side(2, 10, 60, buckets=10)]
    assert by_size(sides) == exhaustive(sides) == order(2, 3, 1)


def test_a_small_bucket_with_more_matches_does_not_go_first() -> None:
    sides = [Side(2, 100, 50, buckets=50), Side(1, 100, 50), Side(1, 100, 50)]
    assert by_size(sides) == order(1, 2, 3)
    assert exhaustive(sides) == order(2, 3, 1)


def test_buckets_change_what_is_looked_at_and_not_what_is_found() -> None:
    sides = [Side(1, 10, 5), Side(1, 20, 5, buckets=4), Side(1, 30, 5)]
    assert cost_from(0, (0, 1, 2), sides) == pytest.approx(20 / 4 + 20 / 5 * 30)


def drawn(random: Random) -> list[Side]:
    return [
        Side(random.choice([1, 2, 5, 10, 20]), random.choice([50, 100, 200]), random.randint(5, 500))
        for _ in range(4)
    ]


def test_random_streams_come_close_to_the_best() -> None:
    random = Random(7)
    first, chosen, average, exact = [], [], [], 0
    for _ in range(1000):
        sides = drawn(random)
        costs = all_costs(sides)
        first.append(cost(first_order(sides), sides) / min(costs))
        chosen.append(cost(choose_order(sides), sides) / min(costs))
        average.append(mean(costs) / min(costs))
        exact += chosen[-1] < 1 + 1e-9
    assert all(one <= other for one, other in zip(chosen, first))
    assert mean(chosen) == pytest.approx(1.11, abs=0.08)
    assert median(chosen) == pytest.approx(1.006, abs=0.03)
    assert quantiles(chosen, n=20)[-1] == pytest.approx(1.54, abs=0.25)
    assert mean(first) == pytest.approx(1.17, abs=0.15)
    assert mean(average) == pytest.approx(2.52, abs=0.8)
    assert exact == pytest.approx(480, abs=120)


def test_for_a_few_streams_the_best_and_for_many_the_best_candidate() -> None:
    random = Random(3)
    for count, same in ((2, exhaustive), (4, exhaustive), (FEW, exhaustive), (FEW + 1, choose_order)):
        sides = (drawn(random) + drawn(random))[:count]
        assert best_order(sides) == same(sides)


def test_no_more_streams_than_can_be_tried() -> None:
    with pytest.raises(ValueError, match="9 streams have too many orders"):
        exhaustive([Side(1, 1, 1)] * 9)


def test_two_streams_have_one_cost() -> None:
    sides = [Side(3, 10, 4), Side(5, 20, 4)]
    assert cost((0, 1), sides) == cost((1, 0), sides) == 3 * 100 + 5 * 30


@pytest.mark.parametrize(
    ("switch", "horizon", "pays"), [(0, 1, True), (999, 10, True), (1000, 10, False), (1001, 10, False)]
)
def test_another_order_pays_if_it_saves_more_than_the_change_costs(switch, horizon, pays) -> None:
    assert reorder_pays(current=300, best=200, switch=switch, horizon=horizon) is pays
    assert not reorder_pays(current=200, best=200, switch=0, horizon=horizon)
