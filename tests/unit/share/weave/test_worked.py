"""The literature's worked examples, number by number with misprints put right, and its bounds (Guirguis).

Its windows begin at multiples of their slide: so do those of ours that have their range as offset. A slice is
named by the second that it ends at.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.weavers.costs import Group, groups_of, no_share, three_level, two_level, weaveability
from benchmarks.weavers.searches import all_apart, all_together, exhaustive
from tests.unit.share.weave.windows import EXAMPLE_3, EXAMPLE_9, GOLDEN, TABLE_3, window
from weft.engine.windows import floored
from weft.kernels.choosing import holds
from weft.lang.parse import parse_expression
from weft.lang.statements import WindowSpec
from weft.share.signatures import signature_of
from weft.share.slicing import distinct_pairs, overlap, pairs_of
from weft.share.weave.classes import EdgeClass
from weft.share.weave.history import Partition, history_of
from weft.share.weave.points import has_edge, points_of, probes_of
from weft.times import SECOND


def from_zero(windows: Sequence[WindowSpec]) -> list[WindowSpec]:
    """The same windows, beginning at multiples of their slides."""
    return [WindowSpec(one.range, one.slide, one.range) for one in windows]


def period(windows: Sequence[WindowSpec]) -> int:
    """The composite slide, in seconds."""
    return lcm(*(one.slide // SECOND for one in windows))


def edges(windows: Sequence[WindowSpec], until: int | None = None) -> list[int]:
    """The seconds after 0, up to the end of the composite slide, at which one of them has an edge."""
    times = np.arange(1, (until or period(windows)) + 1)
    found = has_edge(times * SECOND, distinct_pairs(from_zero(windows)))
    return [int(time) for time in times[found]]


class Each:
    """Every query as a class of its own, also those with the same edges."""

    def __init__(self, windows: Sequence[WindowSpec]) -> None:
        self.classes = [
            EdgeClass(tuple(sorted(pairs_of(one))), (at,), float(overlap(one)))
            for at, one in enumerate(windows)
        ]
        self.points = points_of(self.classes)
        self.history = history_of(self.classes, self.points)
        self.count = len(windows)
        self.fine = self.points.rate(range(self.count))

    def partition(self, text: str) -> Partition:
        """`ab/c` as places."""
        return tuple(tuple(ord(letter) - 97 for letter in group) for group in text.split("/"))

    def named(self, partition: Partition) -> str:
        return "/".join("".join(chr(97 + at) for at in group) for group in partition)

    def groups(self, text: str) -> tuple[Group, ...]:
        return groups_of(self.partition(text), self.classes, self.points)

    def two(self, text: str, rows: float) -> float:
        return two_level(rows, self.groups(text))

    def three(self, text: str, rows: float) -> float:
        return three_level(rows, self.fine, self.groups(text))

    def woven(self, price: float) -> str:
        return self.named(self.history.partition(self.history.best_cut(price)))

    def gain(self, one: str, other: str, rows: float) -> float:
        """What it saves to merge two groups."""
        return self.two(f"{one}/{other}", rows) - self.two(one + other, rows)


def really_read(windows: Sequence[WindowSpec]) -> list[float]:
    """Of each query the slices a second that its windows hold, counted window by window."""
    whole = period(windows)
    longest = max(one.range for one in windows) // SECOND
    ends = np.array(edges(windows, until=2 * whole + longest))
    found = []
    for one in windows:
        starts = np.arange(0, whole, one.slide // SECOND)
        until = starts + one.range // SECOND
        held = np.searchsorted(ends, until, side="right") - np.searchsorted(ends, starts, side="right")
        found.append(float(held.sum()) / whole)
    return found


@pytest.mark.parametrize(
    ("windows", "of_each", "of_all"),
    [
        pytest.param(
            EXAMPLE_3, [[3, 9, 12, 18], [4, 6, 10, 12, 16, 18]], [3, 4, 6, 9, 10, 12, 16, 18], id="example-3"
        ),
        pytest.param(
            [window(7, 5), window(3, 3)],
            [[2, 5, 7, 10, 12, 15], [3, 6, 9, 12, 15]],
            [2, 3, 5, 6, 7, 9, 10, 12, 15],
            id="example-5",
        ),
        pytest.param(
            EXAMPLE_9[:2],
            [[3, 5, 8, 10, 13, 15, 18, 20], [1, 4, 5, 8, 9, 12, 13, 16, 17, 20]],
            [1, 3, 4, 5, 8, 9, 10, 12, 13, 15, 16, 17, 18, 20],
            id="example-7",
        ),
    ],
)
def test_edges(windows: list[WindowSpec], of_each: list[list[int]], of_all: list[int]) -> None:
    whole = period(windows)
    assert [edges([one], until=whole) for one in windows] == of_each
    assert edges(windows) == of_all
    assert Each(windows).fine == pytest.approx(len(of_all) / whole)


def test_example_3_has_two_common_edges_and_less_work_than_is_charged() -> None:
    a, b = EXAMPLE_3
    assert sorted({*edges([a], until=18)} & {*edges([b], until=18)}) == [12, 18]
    assert really_read([a]) == pytest.approx([0.3333], abs=1e-4)
    assert really_read([b]) == pytest.approx([0.5])
    assert really_read([a, b]) == pytest.approx([0.6111, 0.7222], abs=1e-4)


def test_example_5_takes_a_probe_more_from_the_other_side() -> None:
    x, y = (tuple(pairs_of(one)) for one in (window(7, 5), window(3, 3)))
    assert [len(probes_of([one], [other]).times) for one, other in ((y, x), (x, y))] == [5, 6]
    found = [probes_of([one], [other]).common([other]) for one, other in ((y, x), (x, y))]
    assert found == pytest.approx([2 / 15, 2 / 15])


def slices_read(one: WindowSpec, ends: Sequence[int], edge: int) -> list[int]:
    """Which fine slices, by their ends, a strand of one query folds into its own that ends at that edge."""
    starts = np.array([0, *ends[:-1]]) * SECOND
    own = floored(starts, pairs_of(from_zero([one])[0])) // SECOND
    mine = own == max(at for at in [0, *edges([one], until=edge)] if at < edge)
    return [end for end, is_mine in zip(ends, mine.tolist(), strict=True) if is_mine]


def test_example_7_folds_fine_slices_into_those_of_each_query() -> None:
    a, b = EXAMPLE_9[:2]
    ends = edges([a, b])
    assert slices_read(a, ends, 3) == [1, 3]
    assert slices_read(b, ends, 4) == [3, 4]
    assert slices_read(a, ends, 5) == [4, 5]
    assert slices_read(b, ends, 5) == [5]


@pytest.mark.parametrize(
    ("plan", "two", "three"),
    [
        ("a/b/c", 5.5, 4.3),
        ("ab/c", 5.3, 4.9),
        ("bc/a", 5.0, 4.6),
        ("ac/b", 4.3, 3.9),
        ("abc", 4.4, 4.8),
    ],
)
def test_table_3_costs(plan: str, two: float, three: float) -> None:
    case = Each(TABLE_3)
    assert case.two(plan, 1.2) == pytest.approx(two)
    assert case.three(plan, 1.2) == pytest.approx(three)


def test_table_3_gains_and_weaveability() -> None:
    case = Each(TABLE_3)
    pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("ac", "b")]
    assert [case.gain(*pair, 1.2) for pair in pairs] == pytest.approx([0.2, 0.5, 1.2, -0.1])
    degrees = [weaveability(case.partition(x)[0], case.partition(y)[0], case.points).degree for x, y in pairs]
    assert degrees == pytest.approx([1 / 8, 1 / 8, 1, 1 / 8])
    assert [one.rate for one in case.classes] == pytest.approx([0.25, 0.2, 0.25])
    assert [one.reads for one in case.classes] == [4, 2, 2]
    assert [case.woven(rows) for rows in (1.2, 1.2999, 1.3001)] == ["ac/b", "ac/b", "abc"]


def test_what_merges_gain_when_queries_come_and_go() -> None:
    """Table 3 with d = (10, 5), e = (20, 20)."""
    case = Each([*TABLE_3, window(10, 5), window(20, 20)])
    assert case.two("ac/bd/e", 1.2) == pytest.approx(4.7 + 1.2 + 1 / 20)
    assert case.gain("bd", "e", 1.2) == pytest.approx(1.05)
    assert case.gain("ac", "e", 1.2) == pytest.approx(1.0)
    assert case.gain("bde", "c", 1.2) == pytest.approx(-0.1)  # a is gone
    assert case.gain("bd", "c", 1.2) == pytest.approx(0.1)  # so is e


def test_example_9_ties() -> None:
    """Three partitions cost the same; merged is only what saves something."""
    four, case = Each(EXAMPLE_9), Each(EXAMPLE_9[:3])
    assert [one.rate for one in four.classes] == pytest.approx([0.4, 0.5, 1.0, 0.5])
    assert [one.reads for one in four.classes] == [2, 2, 10, 2]
    assert case.fine == pytest.approx(1.0)
    assert [case.three(plan, 0.0) for plan in ("a/b/c", "ab/c", "bc/a")] == pytest.approx([14.8] * 3)
    assert case.gain("a", "b", case.fine) == pytest.approx(0.0, abs=1e-12)
    assert case.woven(case.fine) == "a/b/c"
    assert [case.woven(rows) for rows in (0.99, 1.01, 1.19, 1.21)] == ["a/b/c", "ab/c", "ab/c", "abc"]
    assert case.two("ab/c", 1.2) == pytest.approx(case.two("abc", 1.2))


def test_example_8_says_which_cells_each_query_picks() -> None:
    """Cells are known by signature and slice; q_a (8, 5) asks for the high bit, q_b (5, 4) for the low one.

    slice       (0, 1]         (1, 3]      At 3 q_a folds the cells with its bit of both slices into (0, 3].
    signature   01  10  11     01  11      At 1 q_b has taken those with its bit of the first: 01 is free,
                                           11 waits for q_a. There is no 10 in the second: no such rows.
    """
    a, b = EXAMPLE_9[:2]
    conditions = [parse_expression(text) for text in ("p > 1", "q > 2")]
    signature = signature_of(conditions)
    assert signature is not None
    high = max(conditions, key=lambda one: signature.bits[one.sql])
    low = min(conditions, key=lambda one: signature.bits[one.sql])
    cells = [(0b01, 1), (0b10, 1), (0b11, 1), (0b01, 3), (0b11, 3)]
    keys = pa.array([key for key, _ in cells], pa.int64())

    def picked(one: WindowSpec, condition: object, edge: int) -> set[tuple[int, int]]:
        picks = signature.picked([condition])  # type: ignore[union-attr, list-item]
        assert picks is not None
        chosen = holds([picks.pick(0)], [keys]).tolist()
        read = slices_read(one, edges([a, b]), edge)
        return {cell for cell, there in zip(cells, chosen, strict=True) if there and cell[1] in read}

    of_a, of_b = picked(a, high, 3), picked(b, low, 1)
    assert of_a == {(0b10, 1), (0b11, 1), (0b11, 3)}
    assert of_b == {(0b01, 1), (0b11, 1)}
    assert of_b - of_a == {(0b01, 1)}  # freed at 1
    assert of_b & of_a == {(0b11, 1)}  # stays until both have read it
    assert picked(b, low, 4) == {(0b01, 3), (0b11, 3)}


def test_the_golden_numbers() -> None:
    case = Each(GOLDEN)
    assert [one.range % one.slide // SECOND for one in GOLDEN] == [0, 3, 0, 5, 6, 0, 0, 0]
    assert [one.reads for one in case.classes] == [3, 3, 2, 3, 3, 3, 3, 3]
    wanted = [1 / 4, 1 / 3, 1 / 10, 1 / 5, 1 / 6, 1 / 6, 1 / 15, 1 / 20]
    assert [one.rate for one in case.classes] == pytest.approx(wanted)
    assert (period(GOLDEN), len(edges(GOLDEN))) == (60, 36)
    assert case.classes[4].pairs == case.classes[5].pairs == ((6 * SECOND, 0),)


def test_the_golden_merges() -> None:
    case = Each(GOLDEN)
    groups = {at: chr(97 + at) for at in range(8)}
    merged = []
    for merge in case.history.merges:
        merged.append({groups[merge.kept], groups.pop(merge.gone)})
        groups[merge.kept] = "".join(sorted("".join(merged[-1])))
    assert merged == [
        {"e", "f"},
        {"c", "h"},
        {"ch", "g"},
        {"cgh", "d"},
        {"b", "ef"},
        {"a", "bef"},
        {"abef", "cdgh"},
    ]
    found = [merge.penalty for merge in case.history.merges]
    assert found == pytest.approx([0, 0.15, 0.366667, 0.533333, 1.0, 2.25, 5.6], abs=1e-6)


@pytest.mark.parametrize(
    ("price", "best", "cost"),
    [
        (0.5, "a/b/cd/ef/gh", 6.85),
        (2.0, "a/bef/cdgh", 11.95),
        (5.0, "abef/cdgh", 18.2),
        (20.0, "abcdefgh", 33.8),
    ],
)
def test_the_golden_optimum(price: float, best: str, cost: float) -> None:
    case = Each(GOLDEN)
    found, least = exhaustive(case.classes, case.points, price)
    assert least == pytest.approx(cost)
    assert case.two(best, price) == pytest.approx(cost)
    assert case.named(found) == best


def test_three_golden_levels_tie() -> None:
    case = Each(GOLDEN)
    assert case.woven(case.fine) == "a/b/cdgh/ef"
    for plan in ("a/b/cdgh/ef", "a/b/cd/ef/gh"):
        assert case.three(plan, 0.0) == pytest.approx(7.35)
    assert exhaustive(case.classes, case.points, case.fine)[1] == pytest.approx(7.35)


some_windows = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from([1, 2, 3, 4, 5, 6, 8, 10, 12])), min_size=2, max_size=6
).map(lambda sizes: [window(*size) for size in sizes])


@given(some_windows, st.floats(0.01, 50))
def test_beside_a_slide_of_a_second_sharing_all_pays_from_the_mean_overlap_on(
    windows: list[WindowSpec], rows: float
) -> None:
    case = Each([window(3, 1), *windows])
    shared = two_level(rows, groups_of(all_together(case.count), case.classes, case.points))
    reads = sum(one.reads for one in case.classes)
    alone = sum(one.rate * one.reads for one in case.classes)
    assert case.fine == pytest.approx(1.0)
    assert shared == pytest.approx(rows + reads)
    bound = (reads - alone) / (case.count - 1)
    if abs(rows - bound) > 1e-6:
        assert (shared < no_share(rows, case.classes)) == (rows > bound)


@given(some_windows, st.integers(2, 4), st.integers(1, 10), st.floats(0.01, 50))
def test_edges_that_are_there_already_cost_their_own_queries_alone(
    windows: list[WindowSpec], times: int, overlaps: int, rows: float
) -> None:
    """All edges of y are edges of x: x stays as it is, y reads as many slices as x has."""
    slide = windows[0].slide * times
    inner = WindowSpec(slide * overlaps, slide)  # it begins and ends where windows[0] ends
    case = Each([*windows, inner])
    x, y = tuple(range(len(windows))), (len(windows),)
    ((whole,), (outer, own)) = (
        groups_of((x + y,), case.classes, case.points),
        groups_of((x, y), case.classes, case.points),
    )
    assert whole.rate == pytest.approx(outer.rate)
    gain = two_level(rows, [outer, own]) - two_level(rows, [whole])
    assert gain == pytest.approx(rows - (outer.rate - own.rate) * own.reads)


@given(some_windows)
def test_what_is_charged_bounds_what_is_read(windows: list[WindowSpec]) -> None:
    """Slices from a window's end to the next one's start are in a window less; whole overlaps have none."""
    case = Each(windows)
    charged = [case.fine * one.reads for one in case.classes]
    for one, most, read in zip(windows, charged, really_read(windows), strict=True):
        assert read <= most * (1 + 1e-9)
        if one.range % one.slide == 0:
            assert read == pytest.approx(most)


def test_apart_and_together_are_what_no_share_and_shared_charge() -> None:
    case = Each(GOLDEN)
    for partition, wanted in ((all_apart(8), 3.9), (all_together(8), 13.8)):
        assert two_level(0.0, groups_of(partition, case.classes, case.points)) == pytest.approx(wanted)
