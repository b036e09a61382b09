from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.relations.tables import NEVER, Changes, Lives

TIMES = st.integers(0, 8)
LIVES = st.lists(st.tuples(st.sampled_from("ab"), TIMES, TIMES | st.just(NEVER)), max_size=8)


def lives(rows: list[tuple[str, int, int]]) -> Lives:
    begins, ends = (np.array([row[at] for row in rows], np.int64) for at in (1, 2))
    return Lives(pa.table({"v": pa.array([row[0] for row in rows], pa.string())}), begins, ends)


def plain(changes: Changes) -> list[tuple[str, int, int]]:
    return list(zip(changes.table.column("v").to_pylist(), changes.times.tolist(), changes.weights.tolist()))


@given(LIVES, TIMES, TIMES)
def test_changes_bring_what_is_there_from_one_instant_to_another(
    rows: list[tuple[str, int, int]], since: int, upto: int
) -> None:
    def there(at: int) -> Counter[str]:
        return Counter(value for value, begin, end in rows if begin <= at < end)

    changes = plain(lives(rows).changes(since, upto))
    assert all(since <= time < upto for _, time, _ in changes)
    for at in range(since, upto):
        held = there(since - 1)
        for value, time, weight in changes:
            held[value] += weight if time <= at else 0
        assert +held == there(at)
        assert min(held.values(), default=0) >= 0


def test_lives_are_taken_filtered_and_put_together() -> None:
    some = lives([("a", 1, 4), ("b", 2, NEVER), ("c", 0, 3)])
    again = Lives.concat([some.take(np.array([2, 0])), some.filter(some.ends == NEVER), lives([])])
    assert again.table.column("v").to_pylist() == ["c", "a", "b"]
    assert (again.begins.tolist(), again.ends.tolist()) == ([0, 1, 2], [3, 4, NEVER])
    assert len(Lives.empty(some.table.schema)) == 0
    assert Lives.empty(some.table.schema).table.schema == some.table.schema


def test_changes_are_taken_filtered_and_put_together() -> None:
    some = lives([("a", 1, 4), ("b", 2, NEVER)]).changes(0, 9)
    again = Changes.concat(
        [some.filter(some.weights < 0), some.take(np.array([1])), some.filter(some.times > 9)]
    )
    assert plain(again) == [("a", 4, -1), ("b", 2, 1)]
    assert len(Changes.empty(some.table.schema)) == 0


def test_rows_without_columns_are_counted() -> None:
    bare = Lives(pa.table({}), np.array([1, 2]), np.array([5, NEVER]))
    assert len(bare.filter(bare.begins == 2)) == 1
    assert bare.changes(0, 9).weights.tolist() == [1, 1, -1]
    assert len(Lives.concat([bare, bare])) == 4
