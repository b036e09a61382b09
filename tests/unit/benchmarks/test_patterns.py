"""The benchmark of update patterns: its trace, and what each way does, in counts that no machine changes."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.patterns import NT, QUESTIONS, UPA, early, lines, measure, trace
from benchmarks.strategies.lives import label
from weft.plan.relationpatterns import Pattern


def question(name: str):
    return next(each for each in QUESTIONS if each.name == name)


def test_a_seed_gives_the_same_trace_and_each_link_a_row_at_a_time() -> None:
    rows = trace(3, 50, seed=1)
    assert rows == trace(3, 50, seed=1) != trace(3, 50, seed=2)
    assert Counter(row[0] for row in rows) == {"link1": 50, "link2": 50, "link3": 50}
    assert [row[2] for row in rows] == sorted(row[2] for row in rows)


def test_telnet_gives_about_ten_times_the_pairs_of_ftp() -> None:
    rows = trace(2, 3000, seed=3)
    found = [
        measure(UPA, question(f"Q1 join, {protocol}").plans(1500)[""], rows, 1500).answer
        for protocol in ("telnet", "ftp")
    ]
    assert 5 < found[0] / found[1] < 20


@pytest.mark.parametrize("name", [each.name for each in QUESTIONS])
def test_all_ways_answer_the_same(name: str) -> None:
    told = list(lines(question(name), [60], after=60))
    assert len(told) >= 1 + len(question(name).ways)


@pytest.mark.parametrize("name", ["Q1 join, ftp", "Q2 distinct source"])
def test_by_pattern_sends_fewer_messages_than_negative_tuples(name: str) -> None:
    rows, plan = trace(2, 600, seed=4), question(name).plans(300)[""]
    negative, pattern = measure(NT, plan, rows, 300), measure(UPA, plan, rows, 300)
    assert pattern.messages < negative.messages
    assert pattern.answer == negative.answer


def test_some_rows_of_absence_leave_before_their_time() -> None:
    plan = question("Q3 negation").plans(300)[""]
    assert 0.1 < early(plan, trace(2, 900, seed=5)) < 0.9


def test_both_plans_of_negation_and_join_are_strict() -> None:
    assert {label(plan) for plan in question("Q4 negation and join").plans(10).values()} == {Pattern.STRICT}
