"""Edge rates: exact, by points and by sample, against counting edges one by one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.weavers.costs import weaveability
from tests.unit.share.weave.windows import EXAMPLE_3, classes_of, window
from weft.lang.statements import WindowSpec
from weft.share.slicing import distinct_pairs, pairs_of
from weft.share.weave import rates
from weft.share.weave.density import TooMany, common, density
from weft.share.weave.points import common_rates, points_of, probes_of
from weft.times import DAY, SECOND, WEEK

some_windows = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 12)), min_size=1, max_size=6)


def all_pairs(windows: list[WindowSpec]) -> list[tuple[int, int]]:
    return [pair for one in windows for pair in pairs_of(one)]


def counted(windows: list[WindowSpec]) -> float:
    """Edges a second, counted over a time in which all slides up to 12 s fit."""
    period = 27720
    edges = np.zeros(2 * period, bool)  # in half seconds
    for slide, phase in all_pairs(windows):
        edges[2 * phase // SECOND :: 2 * slide // SECOND] = True
    return float(edges.sum()) / period


def test_example_3() -> None:
    classes = classes_of(EXAMPLE_3)
    points = points_of(classes)
    assert [one.rate for one in classes] == pytest.approx([2 / 9, 1 / 3])
    assert points.exact
    assert points.rate([0, 1]) == pytest.approx(8 / 18)
    woven = weaveability([0], [1], points)
    assert (woven.degree, woven.contained) == (pytest.approx(0.25), False)


def test_example_5_probes_with_the_fewer_edges() -> None:
    x, y = window(7, 5), window(3, 3)
    points = points_of(classes_of([x, y]))
    assert points.rate([0, 1]) == pytest.approx(0.6)
    assert weaveability([0], [1], points).degree == pytest.approx(2 / 9)
    probes = probes_of([tuple(pairs_of(y))], [tuple(pairs_of(x))])
    assert len(probes.times) == 5
    assert probes.common([tuple(pairs_of(x))]) == pytest.approx(2 / 15)


def test_example_7() -> None:
    assert points_of(classes_of([window(8, 5), window(5, 4)])).rate([0, 1]) == pytest.approx(0.7)


def test_containment_is_told_apart_from_weaveability() -> None:
    woven = weaveability([0], [1], points_of(classes_of([window(2, 2), window(6, 6)])))
    assert (woven.degree, woven.contained) == (pytest.approx(1 / 3), True)


@given(some_windows)
def test_all_ways_count_the_same(sizes: list[tuple[int, int]]) -> None:
    windows = [window(*size) for size in sizes]
    classes = classes_of(windows)
    points = points_of(classes)
    expected = counted(windows)
    assert points.exact
    assert points.rate(range(len(classes))) == pytest.approx(expected)
    assert density(all_pairs(windows)) * SECOND == pytest.approx(expected)
    assert probes_of([one.pairs for one in classes], (), most=1 << 16).rate == pytest.approx(expected)


@given(some_windows)
def test_common_rates_of_pairs(sizes: list[tuple[int, int]]) -> None:
    classes = classes_of([window(*size) for size in sizes])
    points, rates = points_of(classes), common_rates(classes)
    for i, one in enumerate(classes):
        for j, other in enumerate(classes):
            both = points.held([i]) & points.held([j])
            assert rates[i, j] == pytest.approx(points.weights[both].sum())
            met = sum(common(a, b) for a in one.pairs for b in other.pairs) * SECOND
            assert rates[i, j] == pytest.approx(met)


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_a_sample_is_right_on_the_average(seed: int) -> None:
    random = np.random.default_rng(seed)
    windows = [
        window(int(s) * int(n), int(s)) for s, n in zip(random.integers(2, 13, 8), random.integers(1, 9, 8))
    ]
    classes = classes_of(windows)
    exact = points_of(classes)
    sampled = points_of(classes, seed=seed, longest=1, sampled=1 << 14)
    assert not sampled.exact
    everything = range(len(classes))
    assert sampled.rate(everything) == pytest.approx(exact.rate(everything), rel=0.1)
    probes = probes_of([classes[0].pairs], [one.pairs for one in classes[1:]], seed=seed, most=1000)
    apart = exact.held([0]) & exact.held(everything[1:]) if len(classes) > 1 else exact.held([0]) & False
    assert probes.common(one.pairs for one in classes[1:]) == pytest.approx(
        float(exact.weights[apart].sum()), abs=0.1 * classes[0].rate
    )


WAYS = {
    "counted": {},
    "recursion": {"LONGEST": 1},
    "sample": {"LONGEST": 1, "FEW": 0},
}


@pytest.mark.parametrize("way", WAYS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=some_windows)
def test_a_union_has_a_rate_that_says_whether_it_is_exact(
    sizes: list[tuple[int, int]], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in WAYS[way].items():
        monkeypatch.setattr(rates, name, value)
    windows = [window(*size) for size in sizes]
    pairs = distinct_pairs(windows)
    found = rates.union_rate.__wrapped__(pairs)  # what was found before in another way is not asked
    assert found.exact or way == "sample"
    assert found.value == pytest.approx(counted(windows), rel=1e-9 if found.exact else 0.1)


def test_slides_without_a_common_factor_are_independent_however_long_their_period_is() -> None:
    slides = [99_989 * SECOND, 99_971 * SECOND, 99_961 * SECOND]
    found = rates.union_rate(tuple((slide, 0) for slide in slides))
    assert found.exact
    assert found.value == pytest.approx(1 - np.prod([1 - SECOND / slide for slide in slides]))


@pytest.mark.parametrize("slide", [WEEK, 20_000 * DAY])
def test_rates_of_long_slides_are_exact_to_the_last_digits(slide: int) -> None:
    found = rates.union_rate(((slide, 0), (slide + 1, 0)))
    wanted = SECOND * (Fraction(1, slide) + Fraction(1, slide + 1) - Fraction(1, slide * (slide + 1)))
    assert found.exact
    assert found.value == pytest.approx(float(wanted), rel=1e-12)


@pytest.mark.parametrize("phase", [0, -1])
def test_slides_of_centuries_have_rates_too(phase: int) -> None:
    """Of one a few hundred edges are in reach of a sample; at 0 all have the first."""
    slides = [60_001 * DAY + at for at in range(1, 40)]
    found = rates.union_rate(tuple((slide, phase % slide) for slide in slides))
    assert not found.exact
    assert found.value == pytest.approx(sum(SECOND / slide for slide in slides), rel=0.01)
    points = points_of(classes_of([window(3, 2), *(WindowSpec(slide - 1, slide) for slide in slides)]))
    assert points.rate(range(40)) == pytest.approx(1.0)


def test_two_hundred_arbitrary_slides_are_estimated() -> None:
    random = np.random.default_rng(3)
    windows = [window(int(s) * 7 + 1, int(s)) for s in random.integers(2, 100_000, 200)]
    pairs, points = distinct_pairs(windows), points_of(classes_of(windows))
    found = rates.union_rate(pairs)
    assert not found.exact
    assert found.value == pytest.approx(points.rate(range(200)), rel=0.05)


def test_arbitrary_slides_have_rates_too() -> None:
    random = np.random.default_rng(3)
    windows = [window(int(s) * 7 + 1, int(s)) for s in random.integers(2, 100_000, 200)]
    classes = classes_of(windows)
    points = points_of(classes)
    assert not points.exact
    total = points.rate(range(len(classes)))
    assert max(one.rate for one in classes) <= total <= sum(one.rate for one in classes)


def test_the_exact_way_gives_up_in_time() -> None:
    pairs = [(s, s // 3) for s in range(30, 400, 6)]
    with pytest.raises(TooMany):
        density(pairs, steps=100)
