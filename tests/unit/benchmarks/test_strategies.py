"""Golab's three ways to run windows: his worked examples, and random rows against SQL as of every instant."""

from __future__ import annotations

from collections import Counter
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.strategies.engines import ByPattern, Direct, NegativeTuples, Strategy, each_instant
from benchmarks.strategies.lives import (
    Distinct,
    Join,
    Lacking,
    Latest,
    Life,
    Message,
    Minus,
    Plan,
    Total,
    Window,
    label,
    rows_at,
)
from benchmarks.strategies.operators import DeltaStar
from benchmarks.strategies.outputs import Greatest, last_made, made_within, new_at
from benchmarks.strategies.structures import Calendar
from benchmarks.strategies.tables import NotRetroactive, Retroactive
from weft.plan.relationpatterns import Pattern

ANY = settings(deadline=None, max_examples=60)
Fed = tuple[str, tuple[object, ...], float]


def fed(stream: str, text: str) -> list[Fed]:
    """`a1 b2`: the value a at 1, b at 2; each row also says what it is called."""
    return [(stream, (word[0], word), float(word[1:])) for word in text.split()]


def in_order(*rows: list[Fed]) -> list[Fed]:
    return sorted((row for each in rows for row in each), key=lambda row: row[2])


def told(strategy: Strategy) -> list[str]:
    """`+a1@5`: what came and what was taken back, by name, and when."""
    return [
        f"{'-' if message.taken_back else '+'}{''.join(map(str, message.life.values[1::2]))}@{now:g}"
        for now, message in strategy.events
    ]


def named(answers: list[Counter[tuple[object, ...]]]) -> list[str]:
    return [" ".join(sorted("".join(map(str, row[1::2])) for row in each.elements())) for each in answers]


def every_way(plan: Plan) -> list[Strategy]:
    ways: list[Strategy] = [
        NegativeTuples(plan),
        NegativeTuples(plan, buckets=2),
        ByPattern(plan),
        ByPattern(plan, 3),
        ByPattern(plan, often=True),
    ]
    return ways if label(plan) is Pattern.STRICT else [*ways, Direct(plan)]


class TestWindowsAndSelections:
    def test_v1_a_row_is_there_until_its_window_is_over(self) -> None:
        for strategy in every_way(Window("s", 5)):
            answers = named(each_instant(strategy, fed("s", "a1"), 6))
            assert answers == ["", "a1", "a1", "a1", "a1", "a1", ""]

    def test_v2_a_selection_leaves_in_order(self) -> None:
        plan = Window("s", 5, lambda values: values[0] == "a")
        for strategy in every_way(plan):
            answers = named(each_instant(strategy, fed("s", "a1 b2 a4 c7"), 9))
            assert answers[1:] == ["a1"] * 3 + ["a1 a4"] * 2 + ["a4"] * 3 + [""]
        assert label(plan) is Pattern.WEAKEST


V3 = Join(Window("s1", 10), Window("s2", 10))
V3_ROWS = in_order(fed("s1", "a2 c5 c11"), fed("s2", "c3 a6"))


class TestJoins:
    def test_v3_pairs_leave_in_another_order_than_they_come(self) -> None:
        for strategy in every_way(V3):
            answers = named(each_instant(strategy, V3_ROWS, 13))
            assert answers[4:7] == ["", "c5c3", "a2a6 c5c3"]
            assert answers[10:] == ["a2a6 c5c3", "a2a6 c11c3 c5c3", "c11c3 c5c3", ""]
        lives = [(m.life.ts, m.life.exp) for _, m in strategy.events]
        assert lives == [(5, 13), (6, 12), (11, 13)]
        assert label(V3) is Pattern.WEAK

    def test_v15_messages(self) -> None:
        negative, direct, pattern = NegativeTuples(V3), Direct(V3), ByPattern(V3)
        for strategy in (negative, direct, pattern):
            each_instant(strategy, V3_ROWS, 30)
        assert negative.nodes[-1].given == {False: 5, True: 5}
        assert negative.view_given == {False: 3, True: 3}
        assert sorted(told(negative)[3:]) == ["-a2a6@12", "-c11c3@13", "-c5c3@13"]
        for strategy in (direct, pattern):
            assert strategy.nodes[-1].given == {False: 5}
            assert strategy.view_given == {False: 3}

    @pytest.mark.parametrize(("third", "names"), [("a4", ["a1a2a4"]), ("a9", [])])
    def test_v10_internal_windows_bound_what_is_kept_and_not_what_was_told(
        self, third: str, names: list[str]
    ) -> None:
        plan = Join(Join(Window("s1", 5), Window("s2", 5)), Window("s3", 5))
        rows = in_order(fed("s1", "a1"), fed("s2", "a2"), fed("s3", third))
        for way in (NegativeTuples, ByPattern, Direct):
            strategy = way(plan, internal=True)
            answers = named(each_instant(strategy, rows, 40))
            assert answers[-1].split() == names

    def test_v22_one_external_window_does_not_leave_in_order(self) -> None:
        rows = in_order(fed("s1", "a1 a5"), fed("s2", "a2 a9"))
        strategy = ByPattern(V3)
        each_instant(strategy, rows, 10)
        # only s1 is external: a pair lives as long as the row of s1
        lives = [(m.life.ts, float(str(m.life.values[1])[1:]) + 10) for _, m in strategy.events]
        assert sorted(lives) == [(2, 11), (5, 15), (9, 11), (9, 15)]
        assert [exp for _, exp in lives] != sorted(exp for _, exp in lives)


DISTINCT = Distinct(Window("s", 10), (0,))
V4_ROWS = fed("s", "a1 b2 a4 a6 b7 c9")


class TestDistinct:
    def test_v4_answers(self) -> None:
        expected = ["", "a", *["a b"] * 7, *["a b c"] * 7, "b c", "c", "c", ""]
        for strategy in every_way(DISTINCT):
            found = each_instant(strategy, V4_ROWS, 19)
            assert [" ".join(sorted(str(row[0]) for row in each)) for each in found] == expected

    def test_v4_what_each_way_tells(self) -> None:
        star, naive, counting = ByPattern(DISTINCT), Direct(DISTINCT), NegativeTuples(DISTINCT)
        for strategy in (star, naive, counting):
            each_instant(strategy, V4_ROWS, 20)
        lives = [(m.life.values[0], m.life.ts, m.life.exp) for _, m in star.events]
        assert lives == [("a", 1, 11), ("b", 2, 12), ("c", 9, 19), ("a", 11, 16), ("b", 12, 17)]
        assert lives == [(m.life.values[0], m.life.ts, m.life.exp) for _, m in naive.events]
        changes = [f"{'-' if m.taken_back else '+'}{m.life.values[0]}@{now:g}" for now, m in counting.events]
        assert changes == ["+a@1", "+b@2", "+c@9", "-a@16", "-b@17", "-c@19"]

    def test_v4_what_each_way_keeps(self) -> None:
        most = {}
        for way in (ByPattern, Direct):
            strategy = way(DISTINCT)
            sizes = []
            for row in V4_ROWS:
                strategy.feed(*row)
                sizes.append(sum(map(len, strategy.nodes[-1].operator.structures())))
            most[way] = max(sizes)
        assert most == {ByPattern: 5, Direct: 9}

    def test_v5_the_equal_row_that_lives_longest_goes_on(self) -> None:
        star = DeltaStar((0,), 50, 10)
        for number, (ts, exp) in enumerate([(1, 30), (2, 50), (3, 40)]):
            list(star.take(0, Message(Life(("a",), ts, exp, (number,))), ts))
        (next_,) = star.expire(30)
        assert (next_.life.ts, next_.life.exp) == (30, 50)
        assert list(star.expire(49)) == []
        assert star.rows == 1
        assert list(star.expire(50)) == []
        assert star.rows == 0


class TestAbsence:
    rows = in_order(fed("s1", "a1 a3 b6"), fed("s2", "a5 b8"))

    def plan(self, lacking: Lacking, right: float = 10) -> Minus:
        return Minus(Window("s1", 10), Window("s2", right), lacking)

    def test_v6_bags(self) -> None:
        youngest, oldest = (ByPattern(self.plan(each)) for each in (Lacking.YOUNGEST, Lacking.OLDEST))
        for strategy in (youngest, oldest):
            answers = each_instant(strategy, self.rows, 11)
            keys = ["".join(sorted(str(row[0]) for row in each.elements())) for each in answers[1:]]
            assert keys == ["a", "a", "aa", "aa", "a", "ab", "ab", "a", "a", "a", ""]
        assert told(youngest) == ["+a1@1", "+a3@3", "-a1@5", "+b6@6", "-b6@8", "-a3@11"]
        assert told(oldest) == ["+a1@1", "+a3@3", "-a3@5", "+b6@6", "-b6@8"]

    def test_v7_rows_come_back(self) -> None:
        rows = in_order(fed("s1", "a1 a7 b9"), fed("s2", "a2 b10"))
        bag, none = (ByPattern(self.plan(each, 6)) for each in (Lacking.YOUNGEST, Lacking.NO_MATCH))
        for strategy in (bag, none):
            each_instant(strategy, rows, 20)
        assert told(bag) == ["+a1@1", "-a1@2", "+a7@7", "+a1@8", "+b9@9", "-b9@10", "+b9@16"]
        assert told(none) == ["+a1@1", "-a1@2", "+a1@8", "+a7@8", "+b9@9", "-b9@10", "+b9@16"]

    def test_v7_with_more_matches_than_rows_one_that_leaves_tells_nothing(self) -> None:
        rows = in_order(fed("s1", "a3"), fed("s2", "a1 a2"))
        strategy = ByPattern(Minus(Window("s1", 20), Window("s2", 6), Lacking.YOUNGEST))
        each_instant(strategy, rows, 7)
        assert told(strategy) == []
        strategy.advance(8)
        assert told(strategy) == ["+a3@8"]

    def test_rows_without_values_in_common_are_never_taken_back(self) -> None:
        rows = in_order(fed("s1", "a1 b3"), fed("s2", "c2 d4"))
        for lacking in Lacking:
            strategy = ByPattern(self.plan(lacking))
            each_instant(strategy, rows, 30)
            assert strategy.counts.taken_back == 0

    def test_the_direct_way_cannot(self) -> None:
        with pytest.raises(ValueError, match="cannot run this plan"):
            Direct(self.plan(Lacking.NO_MATCH))


class TestSums:
    values = (3, 1, 4, 1, 5, 9, 2)

    @pytest.mark.parametrize(
        ("plan", "sums"),
        [(Latest("s", 5), [3, 4, 8, 9, 14, 20, 21]), (Window("s", inf), [3, 4, 8, 9, 14, 23, 25])],
    )
    def test_v8_sliding_and_unbounded_external_and_internal(self, plan: Plan, sums: list[int]) -> None:
        for way in (NegativeTuples, ByPattern):
            strategy = way(Total(plan, grouped=False))
            found = []
            for at, value in enumerate(self.values):
                strategy.feed("s", (value,), at)
                (answer,) = strategy.answer(at)
                found.append(answer[0])
            assert found == sums
            last = {}  # of several changes at one instant the last is what is told
            for now, message in strategy.events:
                last[now] = message.life.values[0]
            assert list(last.values()) == sums

    def test_v21_sums_of_chunks(self) -> None:
        strategy = NegativeTuples(Total(Latest("chunks", 10), grouped=False))
        found = []
        for chunk in range(1, 13):
            strategy.feed("chunks", (chunk,), 6 * chunk)
            found.append(next(iter(strategy.answer(6 * chunk)))[0])
        assert found[9:] == [55, 65, 75]

    def test_v19_the_greatest_value_by_its_own_clock(self) -> None:
        greatest = Greatest()
        greatest.row(75, 39, 99)
        greatest.row(73, 50, 110)
        greatest.heartbeat(98)
        assert greatest.value == 75
        greatest.heartbeat(100)  # all rows from 98 on were dropped below, but the time is told
        assert greatest.value == 73

    def test_v20_rows_that_can_never_be_the_greatest_are_dropped(self) -> None:
        greatest, answers = Greatest(), {}
        for ts, value in ((1, 75), (2, 68), (3, 73), (5, 64), (6, 61)):
            greatest.row(value, ts, ts + 6)
            answers[ts] = greatest.value
        assert greatest.kept == [75, 73, 64, 61]
        greatest.heartbeat(7)
        assert (answers[5], answers[6], greatest.value) == (75, 75, 73)


def life(name: str, ts: float, exp: float) -> Life:
    return Life((name,), ts, exp, (name, ts))


class TestTables:
    def run(self, join: Retroactive | NotRetroactive) -> list[str]:
        happens = [
            (0, join.insert, "IBM"), (1, join.row, "SUN"), (2, join.insert, "SUN"), (3, join.row, "IBM"),
            (4, join.delete, "IBM"), (6, join.row, "SUN"),
        ]  # fmt: skip
        found = []
        for now, do, key in happens:
            messages = do(life(key, now, now + 10)) if do == join.row else do(key, now)  # type: ignore[operator]
            found += [f"{now}{'-' if m.taken_back else '+'}{m.life.key}{m.life.exp:g}" for m in messages]
        return found

    def test_v9_a_table_that_reaches_back_and_one_that_does_not(self) -> None:
        assert self.run(NotRetroactive()) == ["3+IBM13", "6+SUN16"]
        assert self.run(Retroactive()) == ["2+SUN11", "3+IBM13", "4-IBM13", "6+SUN16"]


class TestOutputs:
    lives = (life("c5c3", 5, 13), life("a2a6", 6, 12), life("c11c3", 11, 13))

    def test_v11_windows_over_the_output(self) -> None:
        rows = [" ".join(str(one.key) for one in last_made(self.lives, 2, t)) for t in (5, 6, 11, 99)]
        assert rows == ["c5c3", "c5c3 a2a6", "a2a6 c11c3", "a2a6 c11c3"]
        within = [
            " ".join(str(one.key) for one in made_within(self.lives, 4, t)) for t in (5, 8, 9, 10, 14, 15)
        ]
        assert within == ["c5c3", "c5c3 a2a6", "a2a6", "", "c11c3", ""]

    def test_v12_rows_that_come_and_go_between_two_evaluations(self) -> None:
        strategy = ByPattern(Join(Window("s1", 12), Window("s2", 12)))
        each_instant(strategy, in_order(fed("s1", "a1 b1"), fed("s2", "b4 a11")), 15)
        lives = [message.life for _, message in strategy.events]
        assert [(one.key, one.ts, one.exp) for one in lives] == [("b", 4, 13), ("a", 11, 13)]
        for restore, third in ((False, []), (True, ["a"])):
            told_at = [[one.key for one in new_at(lives, t, 5, restore)] for t in (5, 10, 15)]
            assert told_at == [["b"], [], third]


class TestCalendar:
    def test_v14_partitions_are_used_again(self) -> None:
        calendar = Calendar(50, 5)
        numbers = {exp: calendar.number(exp) % 5 for exp in (55, 61, 70, 100, 104, 105)}
        assert numbers == {55: 0, 61: 1, 70: 1, 100: 4, 104: 0, 105: 0}
        for exp in (55, 61, 70, 100):
            calendar.insert(life("x", 50, exp))
        assert [one.exp for one in calendar.expire(60)] == [55]
        calendar.insert(life("y", 60, 104))
        assert [one.exp for one in calendar.expire(103)] == [61, 70, 100]
        assert [one.exp for one in calendar] == [104]

    def test_v14_two_turns_in_one_partition(self) -> None:
        calendar = Calendar(50, 5)
        for exp in (57, 60, 105):
            calendar.insert(life("x", 55, exp))
        assert [one.exp for one in calendar.expire(58)] == [57]
        assert [one.exp for one in calendar.expire(60)] == [60]
        assert [one.exp for one in calendar.expire(105)] == [105]


# Random rows and plans


@st.composite
def some_rows(draw: st.DrawFn) -> list[Fed]:
    steps = draw(
        st.lists(
            st.tuples(st.integers(0, 3), st.sampled_from(["s1", "s2", "s3"]), st.sampled_from("abc")),
            max_size=25,
        )
    )
    at, rows = 0, []
    for number, (step, stream, value) in enumerate(steps):
        at += step
        rows.append((stream, (value, number % 4), float(at)))
    return rows


some_window = st.builds(Window, st.sampled_from(["s1", "s2", "s3"]), st.integers(1, 12))
weak_plans = st.recursive(
    some_window,
    lambda below: st.one_of(
        st.builds(Join, below, below),
        st.builds(Distinct, below, st.sampled_from([(0, 0), (0, 1)])),
    ),
    max_leaves=3,
)
strict_plans = st.recursive(
    some_window,
    lambda below: st.one_of(
        st.builds(Join, below, below),
        st.builds(Distinct, below, st.just((0, 1))),
        st.builds(Minus, below, below),
    ),
    max_leaves=4,
)


def check_all(plan: Plan, rows: list[Fed]) -> None:
    history: dict[str, list[tuple[float, tuple[object, ...]]]] = {}
    for stream, values, ts in rows:
        history.setdefault(stream, []).append((ts, values))
    until = int(rows[-1][2] if rows else 0) + 14
    expected = [Counter(rows_at(plan, history, t)) for t in range(until + 1)]
    for strategy in every_way(plan):
        assert each_instant(strategy, rows, until) == expected, type(strategy).__name__
        assert strategy.rows == 0


@ANY
@given(weak_plans, some_rows())
def test_all_three_answer_as_sql_does_at_every_instant(plan: Plan, rows: list[Fed]) -> None:
    check_all(plan, rows)


@ANY
@given(strict_plans, some_rows())
def test_with_absence_anywhere_in_the_plan(plan: Plan, rows: list[Fed]) -> None:
    check_all(plan, rows)


@ANY
@given(st.sampled_from([Lacking.YOUNGEST, Lacking.OLDEST]), some_window, some_window, some_rows())
def test_bags(lacking: Lacking, left: Window, right: Window, rows: list[Fed]) -> None:
    check_all(Minus(left, right, lacking), rows)


@ANY
@given(some_window, some_window, some_rows())
def test_telling_the_oldest_takes_back_no_more_than_telling_the_youngest(
    left: Window, right: Window, rows: list[Fed]
) -> None:
    back = []
    for lacking in (Lacking.OLDEST, Lacking.YOUNGEST):
        strategy = ByPattern(Minus(left, right, lacking))
        each_instant(strategy, rows, int(rows[-1][2] if rows else 0) + 14)
        back.append(strategy.counts.taken_back)
    assert back[0] <= back[1]


@ANY
@given(weak_plans, some_rows())
def test_delta_star_keeps_at_most_twice_what_it_told(plan: Plan, rows: list[Fed]) -> None:
    strategy = ByPattern(Distinct(plan, (0,)))
    (star,) = [node.operator for node in strategy.nodes[-1:]]
    assert isinstance(star, DeltaStar)
    for row in rows:
        strategy.feed(*row)
        assert star.rows <= 2 * star.told


@ANY
@given(weak_plans, some_rows())
def test_nothing_is_taken_back_where_rows_leave_when_they_said(plan: Plan, rows: list[Fed]) -> None:
    for way in (ByPattern, Direct):
        strategy = way(plan)
        each_instant(strategy, rows, int(rows[-1][2] if rows else 0) + 14)
        assert strategy.counts.taken_back == 0
