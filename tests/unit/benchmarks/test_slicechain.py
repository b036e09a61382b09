"""The state-slice chain: its worked examples, and every invariant the paper states, on random rows."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.strategies.chaincuts import merge, split
from benchmarks.strategies.countchain import CountChain
from benchmarks.strategies.slicechain import Slice, SliceChain, one_way
from benchmarks.strategies.windowjoin import Pair, Query, Row, answer_of, window_join
from weft.share.chain import Chain

ANY = settings(deadline=None, max_examples=60)


def rows_of(text: str, values: dict[str, int] | None = None) -> list[Row]:
    """`a1@1 b1@2`: rows of the left side are called a, those of the right b."""
    found = []
    for order, word in enumerate(text.split()):
        name, at = word.split("@")
        found.append(Row("ab".index(name[0]), float(at), order, (values or {}).get(name), name))
    return found


def names(pairs: list[Pair]) -> list[str]:
    return [pair.name for pair in pairs]


def held(slice_: Slice, side: int) -> list[str]:
    return [row.name for row in slice_.held[side]]


def queued(slice_: Slice) -> list[str]:
    return [copy.row.name for copy in slice_.queue]


E1 = rows_of("a1@1 b1@2 a2@3 b2@5 a3@6 b3@9")


class TestRegularJoin:
    @pytest.mark.parametrize(
        ("window", "expected"),
        [(2, "a1b1 a2b1 a3b2"), (5, "a1b1 a1b2 a2b1 a2b2 a3b1 a3b2 a3b3")],
    )
    def test_by_all_rows_and_by_a_chain(self, window: float, expected: str) -> None:
        assert sorted(names(window_join(E1, window))) == expected.split()
        chain = SliceChain([window], [Query(window)])
        for row in E1:
            chain.feed(row)
        assert sorted(names(chain.answers[0])) == expected.split()

    def test_rows_of_one_instant_meet_once(self) -> None:
        for text in ("a1@4 b1@4", "b1@4 a1@4"):
            chain = SliceChain([1], [Query(1)])
            for row in rows_of(text):
                chain.feed(row)
            assert names(chain.answers[0]) == ["a1b1"] == names(window_join(rows_of(text), 1))


TABLE_2 = rows_of("a1@1 a2@2 a3@3 b1@4 b2@5 a4@8")


def trace(keeps_equal: bool, last: int) -> list[tuple[int, str, str, str, str]]:
    """What Table 2 shows for each second: a row that comes runs the first slice, else the second one runs."""
    chain = SliceChain([2, 4], [Query(4)], copies=one_way, keeps_equal=keeps_equal)
    coming = {int(row.at): row for row in TABLE_2}
    lines = []
    for second in range(1, last + 1):
        before = len(chain.made)
        if second in coming:
            chain.arrive(coming[second])
            chain.step(0)
        else:
            chain.step(1)
        first, then = chain.slices
        shown = [held(first, 0), queued(then), held(then, 0), sorted(names(chain.made[before:]))]
        lines.append((second, *(",".join(reversed(each)) for each in shown[:3]), ",".join(shown[3])))
    return lines


class TestTable2:
    def test_as_printed_a_row_as_old_as_the_slice_stays(self) -> None:
        assert trace(keeps_equal=True, last=10) == [
            (1, "a1", "", "", ""),
            (2, "a2,a1", "", "", ""),
            (3, "a3,a2,a1", "", "", ""),
            (4, "a3,a2", "b1,a1", "", "a2b1,a3b1"),
            (5, "a3", "b2,a2,b1,a1", "", "a3b2"),
            (6, "a3", "b2,a2,b1", "a1", ""),
            (7, "a3", "b2,a2", "a1", "a1b1"),
            (8, "a4,a3", "b2,a2", "a1", ""),
            (9, "a4,a3", "b2", "a2,a1", ""),
            (10, "a4,a3", "", "a2,a1", "a1b2,a2b2"),
        ]

    def test_half_open(self) -> None:
        assert trace(keeps_equal=False, last=11)[3:] == [
            (4, "a3", "b1,a2,a1", "", "a3b1"),
            (5, "", "b2,a3,b1,a2,a1", "", ""),
            (6, "", "b2,a3,b1,a2", "a1", ""),
            (7, "", "b2,a3,b1", "a2,a1", ""),
            (8, "a4", "b2,a3,b1", "a2,a1", ""),
            (9, "a4", "b2,a3", "a2,a1", "a1b1,a2b1"),
            (10, "a4", "b2", "a3,a2,a1", ""),
            (11, "a4", "", "a3,a2", "a2b2,a3b2"),
        ]

    def test_a_queue_that_is_sorted_by_time_gives_pairs_twice(self) -> None:
        chain = SliceChain([2, 4], [Query(4)], copies=one_way)
        for row in TABLE_2[:5]:
            chain.arrive(row)
            chain.step(0)
        then = chain.slices[1].queue
        ordered = sorted(then, key=lambda copy: copy.row.at)
        then.clear()
        then.extend(ordered)
        before = len(chain.made)
        chain.run()
        again = names(chain.made[before:])
        assert sorted(again) == ["a1b1", "a2b1", "a2b2", "a3b1", "a3b2"]
        assert Counter(names(chain.made))["a3b1"] == 2
        tested = [pair.name for pair in chain.made[before:] if pair.apart >= 2]
        assert sorted(names(chain.made[:before]) + tested) == ["a1b1", "a2b1", "a2b2", "a3b1", "a3b2"]


VALUES = {"a1": 10, "a2": 50, "a3": 20}
E4 = rows_of("a1@1 b1@2 a2@3 b2@5 a3@6 b3@9", VALUES)


class TestFilterBetweenSlices:
    def fed(self) -> tuple[SliceChain, list[tuple[str, str, str, str, list[str], list[str]]]]:
        chain = SliceChain([2, 5], [Query(2), Query(5, lambda row: row.value > 15)])  # type: ignore[operator]
        lines = []
        for row in E4:
            before = [len(answers) for answers in chain.answers]
            chain.feed(row)
            states = [",".join(held(each, side)) for each in chain.slices for side in (0, 1)]
            news = [names(answers[start:]) for answers, start in zip(chain.answers, before)]
            lines.append((*states, *news))
        return chain, lines

    def test_the_worked_example(self) -> None:
        chain, lines = self.fed()
        assert lines == [
            ("a1", "", "", "", [], []),
            ("a1", "b1", "", "", ["a1b1"], []),
            ("a1,a2", "b1", "", "", ["a2b1"], ["a2b1"]),
            ("", "b1,b2", "a2", "", [], ["a2b2"]),
            ("a3", "b2", "a2", "b1", ["a3b2"], ["a3b2", "a3b1"]),
            ("", "b2,b3", "a3", "b1", [], ["a3b3"]),
        ]
        assert chain.counters.probes == 6

    def test_without_the_filter_one_more_pair_is_compared(self) -> None:
        chain = SliceChain([2, 5], [Query(2), Query(5)])
        for row in E4:
            chain.feed(row)
        assert chain.counters.probes == 7

    @pytest.mark.parametrize(("value", "reach"), [(10, 1), (30, 3), (70, 3), (-5, 0)])
    def test_a_row_is_held_as_long_as_the_longest_window_that_wants_it(self, value: int, reach: int) -> None:
        wants = [Query(window, lambda row, least=least: row.value > least) for window, least in
                 ((1, 0), (2, 50), (3, 20))]  # fmt: skip
        chain = SliceChain([1, 2, 3], wants)
        chain.arrive(Row(0, 0.0, 0, value))
        assert [copy.row.reach for copy in chain.slices[0].queue] == [reach] * (2 if reach else 0)


class TestChanging:
    def fed(self, chain: SliceChain, rows: list[Row]) -> SliceChain:
        for row in rows:
            chain.feed(row)
        return chain

    def test_the_worked_example(self) -> None:
        chain = self.fed(SliceChain([5], [Query(5)]), E1[:5])
        assert (held(chain.slices[0], 0), held(chain.slices[0], 1)) == (["a1", "a2", "a3"], ["b1", "b2"])
        chain.add(Query(2))
        assert [(each.start, each.end, each.rows) for each in chain.slices] == [(0, 2, 5), (2, 5, 0)]
        chain.feed(E1[5])
        assert sorted(names(chain.answers[0])) == sorted(names(window_join(E1, 5)))
        assert chain.answers[1] == []
        chain.merge(2)
        assert (held(chain.slices[0], 0), held(chain.slices[0], 1)) == (["a3"], ["b1", "b2", "b3"])
        assert (chain.slices[0].start, chain.slices[0].end) == (0, 5)


@pytest.mark.parametrize("schedule", range(5))
def test_windows_counted_in_rows(schedule: int) -> None:
    random = Random(schedule)
    chain = CountChain([1, 2])
    for order, name in enumerate(["a1", "b1", "a2", "a3", "b2"]):
        chain.arrive(Row("ab".index(name[0]), float(order), order, name=name))
        while random.random() < 0.5 and (waiting := chain.waiting()):
            chain.step(random.choice(waiting))
    while waiting := chain.waiting():
        chain.step(random.choice(waiting))
    assert [sorted(names(each)) for each in chain.found] == [["a1b1", "a2b1", "a3b1", "a3b2"], ["a2b2"]]


# Random rows


@st.composite
def some_rows(draw: st.DrawFn) -> list[Row]:
    steps = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3)), max_size=40))
    at, rows = 0, []
    for order, (step, side, value) in enumerate(steps):
        at += step
        rows.append(Row(side, float(at), order, value, f"{'ab'[side]}{order}"))
    return rows


windows = st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True).map(sorted)
seeds = st.integers(0, 2**32)


def equal(left: Row, right: Row) -> bool:
    return left.value == right.value


def filtered(windows: list[int]) -> list[Query]:
    """Queries of which each wants other rows, of both sides."""
    return [
        Query(window, lambda row, n=n: (row.value + n) % 3 > 0, lambda row, n=n: (row.value * n) % 4 < 3)
        for n, window in enumerate(windows)
    ]


def run(chain: SliceChain, rows: list[Row], seed: int) -> None:
    """Rows come while slices run in any order."""
    random = Random(seed)
    for row in rows:
        chain.arrive(row)
        while random.random() < 0.6 and (waiting := [n for n, s in enumerate(chain.slices) if s.queue]):
            chain.step(random.choice(waiting))
    while waiting := [n for n, s in enumerate(chain.slices) if s.queue]:
        chain.step(random.choice(waiting))


@ANY
@given(some_rows(), windows, seeds)
def test_lemma_1_a_slice_holds_the_rows_of_its_ages_and_no_others(
    rows: list[Row], ends: list[int], seed: int
) -> None:
    def check(slice_: Slice, male: Row) -> None:
        ages = {
            row
            for row in rows
            if row.side != male.side
            and row.order < male.order
            and slice_.start <= male.at - row.at < slice_.end
        }
        assert set(slice_.held[1 - male.side]) == ages

    run(SliceChain(ends, [Query(end) for end in ends], probed=check), rows, seed)


@ANY
@given(some_rows(), windows, seeds)
def test_theorems_1_and_2_the_slices_make_the_pairs_of_the_longest_window_once(
    rows: list[Row], ends: list[int], seed: int
) -> None:
    chain = SliceChain(ends, [Query(ends[-1])])
    run(chain, rows, seed)
    assert sorted(names(chain.made)) == sorted(names(window_join(rows, ends[-1])))
    half = SliceChain(ends, [Query(ends[-1])], copies=one_way)
    run(half, rows, seed)
    assert sorted(names(half.made)) == sorted(names(window_join(rows, ends[-1], 0)))


@ANY
@given(some_rows(), windows, seeds)
def test_every_query_is_answered_by_the_slices_up_to_its_window_in_order(
    rows: list[Row], ends: list[int], seed: int
) -> None:
    for queries in ([Query(end) for end in ends], filtered(ends)):
        chain = SliceChain(ends, queries, equal)
        run(chain, rows, seed)
        for query, answers in zip(queries, chain.answers):
            assert sorted(names(answers)) == sorted(names(answer_of(query, rows, equal)))
            assert [pair.key for pair in answers] == sorted(pair.key for pair in answers)


@ANY
@given(some_rows(), windows, seeds, st.data())
def test_merged_slices_answer_the_same(
    rows: list[Row], ends: list[int], seed: int, data: st.DataObject
) -> None:
    cuts = [*data.draw(st.lists(st.sampled_from(ends), unique=True).map(sorted)), ends[-1]]
    queries = filtered(ends)
    chain = SliceChain(sorted(set(cuts)), queries, equal)
    run(chain, rows, seed)
    for query, answers in zip(queries, chain.answers):
        assert sorted(names(answers)) == sorted(names(answer_of(query, rows, equal)))


@ANY
@given(some_rows(), windows, seeds)
def test_a_row_is_in_one_place_at_a_time(rows: list[Row], ends: list[int], seed: int) -> None:
    random, chain = Random(seed), SliceChain(ends, [Query(end) for end in ends])
    for row in rows:
        chain.arrive(row)
        for _ in range(random.randrange(4)):
            if waiting := [n for n, s in enumerate(chain.slices) if s.queue]:
                chain.step(random.choice(waiting))
        places = Counter(each.order for s in chain.slices for side in s.held for each in side)
        places += Counter(copy.row.order for s in chain.slices for copy in s.queue if not copy.male)
        assert set(places.values()) <= {1}


@ANY
@given(some_rows(), windows)
def test_theorem_3_a_chain_holds_and_compares_what_one_join_does(rows: list[Row], ends: list[int]) -> None:
    queries = [Query(end) for end in ends]
    chain, whole = SliceChain(ends, queries), SliceChain(ends[-1:], queries)
    for row in rows:
        chain.feed(row)
        whole.feed(row)
        assert chain.rows == whole.rows
    assert chain.counters.probes == whole.counters.probes


@ANY
@given(some_rows(), windows)
def test_theorem_4_what_is_held_still_matters_to_some_query(rows: list[Row], ends: list[int]) -> None:
    queries = filtered(ends)
    chain = SliceChain(ends, queries)
    for row in rows:
        chain.feed(row)
        for side in (0, 1):
            latest = max((one.at for one in rows[: row.order + 1] if one.side != side), default=None)
            still = {
                one for one in rows[: row.order + 1] if one.side == side and _matters(one, latest, queries)
            }
            kept = {each for s in chain.slices for each in s.held[side]}
            assert still <= kept
            reach = {one.order: max((q.window for q in queries if q.wants(one)), default=0) for one in kept}
            assert all(reach.values())
            if all(q.wants(one) for q in queries for one in rows if one.side != side):
                assert kept == still


def _matters(row: Row, latest: float | None, queries: list[Query]) -> bool:
    reach = max((query.window for query in queries if query.wants(row)), default=0)
    return reach > 0 and (latest is None or latest < row.at or latest - row.at < reach)


@ANY
@given(some_rows(), st.integers(1, 12), st.integers(1, 12))
def test_windows_of_unequal_length_are_two_chains(rows: list[Row], left: int, right: int) -> None:
    def turned(row: Row) -> Row:
        return Row(1 - row.side, row.at, row.order, row.value, row.name)

    found = []
    for length, those in ((left, rows), (right, [turned(row) for row in rows])):
        ends = sorted({max(length // 2, 1), length})
        half = SliceChain(ends, [Query(length)], copies=one_way)
        for row in those:
            half.feed(row)
        found += [frozenset((pair.left.name, pair.right.name)) for pair in half.made]
    expected = [frozenset((pair.left.name, pair.right.name)) for pair in window_join(rows, left, right)]
    assert Counter(found) == Counter(expected)


@ANY
@given(some_rows(), st.integers(2, 12), seeds)
def test_cutting_and_merging_while_rows_come_changes_no_answer(
    rows: list[Row], longest: int, seed: int
) -> None:
    random, plan = Random(seed), Chain((longest,))
    queries = [Query(longest), Query(1, lambda row: row.value != 2)]
    chain = SliceChain([longest], queries, equal)
    for row in rows:
        chain.arrive(row)
        if random.random() < 0.5 and (waiting := [n for n, s in enumerate(chain.slices) if s.queue]):
            chain.step(random.choice(waiting))
        at = random.randrange(1, longest)
        if random.random() < 0.3:
            change = (chain.merge, merge) if at in plan.ends else (chain.split, split)
            change[0](at)
            plan = change[1](plan, at)
    chain.run()
    assert tuple(each.end for each in chain.slices) == plan.ends
    for query, answers in zip(queries, chain.answers):
        assert sorted(names(answers)) == sorted(names(answer_of(query, rows, equal)))
