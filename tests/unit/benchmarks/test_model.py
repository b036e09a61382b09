"""The benchmark of the cost model: its programs can be had again, and its verdict is a rank correlation."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.model import MOST_ANSWERS, Data, draw_queries, program, rank_correlation
from weft.lang.parse import parse_program
from weft.plan.bind import bind_program


def test_a_seed_gives_the_same_programs_and_they_bind() -> None:
    data = Data(1000, 100, 2)
    drawn = [draw_queries(random.Random(seed), data) for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]
    for queries in drawn:
        assert len(bind_program(parse_program(program(queries, Path("rows")))).queries) == len(queries)


def test_no_program_has_too_many_answers() -> None:
    choose, long = random.Random(1), Data(1000, 100_000, 1)
    for _ in range(20):
        queries = draw_queries(choose, long)
        assert len(queries) * 10 * long.seconds / 60 <= MOST_ANSWERS  # the fewest groups, the longest slide


@pytest.mark.parametrize(
    ("mine", "other", "expected"),
    [([1, 2, 3], [10, 20, 1000], 1.0), ([1, 2, 3], [3, 2, 1], -1.0), ([1, 2, 3, 4], [1, 3, 2, 4], 0.8)],
)
def test_the_rank_correlation_looks_at_the_order_alone(mine, other, expected) -> None:
    assert rank_correlation(mine, other) == pytest.approx(expected)
