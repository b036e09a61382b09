from __future__ import annotations

from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kernels.relations import lots
from weft.kernels.relations.store import RowStore
from weft.kernels.relations.tables import NEVER, Lives

FAR = 1 << 60  # beside a key, too far for 64 bits


@dataclass(frozen=True)
class Row:
    key: int | None
    other: str | None
    begin: int
    end: int


def _row(key: int | None, other: str | None, begin: int, length: int) -> Row:
    return Row(key, other, begin, NEVER if length == NEVER else begin + length)


KEYS = st.sampled_from([1, 2, None])
OTHERS = st.sampled_from(["x", None])
BEGINS = st.integers(-1, 9) | st.sampled_from([FAR, FAR + 1, -FAR])
LENGTHS = st.sampled_from([3, 5, 8]) | st.sampled_from([0, 1, 4, NEVER])
ROWS = st.lists(st.builds(_row, KEYS, OTHERS, BEGINS, LENGTHS), max_size=12)
CLASSES = st.sampled_from([(), ((3,), (5,), (8,)), ((3, 5, 8),), ((5, 8), (3, NEVER)), ((NEVER,),)])


def keys_of(rows: list[Row], count: int) -> list[pa.Array]:
    columns = [
        pa.array([row.key for row in rows], pa.int64()),
        pa.array([row.other for row in rows], pa.string()),
    ]
    return columns[:count]


def lives_of(rows: list[Row], first: int = 0) -> Lives:
    begins, ends = (np.array([getattr(row, name) for row in rows], np.int64) for name in ("begin", "end"))
    return Lives(pa.table({"n": pa.array(np.arange(first, first + len(rows)))}), begins, ends)


def meets(held: Row, row: Row, count: int) -> bool:
    mine, theirs = ((each.key, each.other)[:count] for each in (held, row))
    return mine == theirs and max(held.begin, row.begin) < min(held.end, row.end)


@settings(max_examples=120)
@given(st.lists(st.tuples(ROWS, st.none() | st.integers(0, 9)), max_size=6), ROWS, CLASSES, st.data())
def test_pairs_are_all_rows_with_equal_keys_that_live_at_the_same_time(
    steps: list[tuple[list[Row], int | None]],
    probe: list[Row],
    classes: tuple[tuple[int, ...], ...],
    data: st.DataObject,
) -> None:
    count, null_safe = data.draw(st.integers(0, 2)), data.draw(st.booleans())
    held = RowStore(count, classes, null_safe=null_safe, schema=pa.schema({"n": pa.int64()}))
    expected: list[tuple[int, Row]] = []
    number, before = 0, -(2**63)
    for rows, expired in steps:
        held.add(keys_of(rows, count), lives_of(rows, number))
        expected += [(number + at, row) for at, row in enumerate(rows)]
        number += len(rows)
        if expired is not None:
            held.expire(expired)
            before = max(before, expired)
        expected = [(n, row) for n, row in expected if row.end > max(before, row.begin)]
        expected = [(n, row) for n, row in expected if null_safe or None not in (row.key, row.other)[:count]]
        assert len(held) == len(expected)
        if data.draw(st.booleans(), label="regroup"):
            held.regroup(data.draw(CLASSES))

    lives = lives_of(probe)
    found = held.pairs(keys_of(probe, count), lives.begins, lives.ends)
    pairs = [
        (at, n, max(mine.begin, row.begin), min(mine.end, row.end))
        for at, row in enumerate(probe)
        for n, mine in expected
        if meets(mine, row, count)
    ]
    numbers = held.take(found.refs, ["n"]).column("n").to_pylist()
    got = zip(found.rows.tolist(), numbers, found.begins.tolist(), found.ends.tolist(), strict=True)
    assert sorted(got) == pairs
    by_number = dict(expected)
    assert held.begins(found.refs).tolist() == [by_number[n].begin for n in numbers]
    assert held.ends(found.refs).tolist() == [by_number[n].end for n in numbers]


def test_lives_that_only_touch_do_not_meet() -> None:
    for classes in ((), ((5,),), ((5, 7),)):
        held = RowStore(0, classes)
        held.add([], lives_of([_row(0, None, begin, 5) for begin in (10, 11, 12)]))
        for begin, end, expected in (
            (15, 16, [1, 2]),
            (9, 10, []),
            (9, 11, [0]),
            (16, 99, [2]),
            (17, 18, []),
        ):
            found = held.pairs([], np.array([begin]), np.array([end]))
            assert sorted(found.refs.tolist()) == expected


def test_a_late_row_does_not_meet_those_that_have_been_forgotten() -> None:
    held = RowStore(0, ((50,),))
    held.add([], lives_of([_row(0, None, begin, 50) for begin in range(100)]))
    held.expire(60)
    found = held.pairs([], np.array([5]), np.array([30]))
    assert sorted(held.take(found.refs, ["n"]).column("n").to_pylist()) == list(range(11, 30))


def test_begins_may_lie_further_apart_than_there_are_bits() -> None:
    rows = [_row(key, None, begin, 5) for key in range(40) for begin in (-FAR, 0, 1, FAR)]
    held = RowStore(1, ((5,),))
    held.add(keys_of(rows, 1), lives_of(rows))
    probe = [_row(key, None, begin, 1) for key in (0, 7, 39) for begin in (-FAR, -3, 3, 5, FAR + 4, FAR + 5)]
    lives = lives_of(probe)
    found = held.pairs(keys_of(probe, 1), lives.begins, lives.ends)
    expected = [(at, n) for at, row in enumerate(probe) for n, mine in enumerate(rows) if meets(mine, row, 1)]
    assert sorted(zip(found.rows.tolist(), found.refs.tolist())) == expected


def filled(batches: int, rows: int, length: int, classes: tuple[tuple[int, ...], ...]) -> RowStore:
    """Rows one microsecond after the other, of a few keys."""
    held = RowStore(1, classes)
    for batch in range(batches):
        begins = np.arange(batch * rows, (batch + 1) * rows)
        keys = pa.array([f"key {begin % 7}" for begin in begins])
        held.add([keys], Lives(pa.table({"n": pa.array(begins)}), begins, begins + length))
    return held


def test_rows_leave_from_the_front_and_with_them_the_memory() -> None:
    held = filled(40, 1000, 30_000, ((30_000,),))
    full = held.nbytes
    held.expire(60_000)
    assert len(held) == 9_999
    assert held.live(65_000).tolist() == list(range(35_001, 40_000))
    assert held.nbytes < full / 2
    held.expire(100_000)
    assert len(held) == 0
    assert held.nbytes < full / 20


def test_rows_that_end_in_any_order_leave_little_behind() -> None:
    held = RowStore(0)
    begins = np.arange(80_000)
    ends = np.where(begins % 10 == 0, NEVER, 100_000)
    for at in range(0, 80_000, 20_000):
        some = slice(at, at + 20_000)
        held.add([], Lives(pa.table({"n": begins[some]}), begins[some], ends[some]))
    full = held.nbytes
    held.expire(100_000)
    assert len(held) == 8_000
    assert held.nbytes < full / 5
    found = held.pairs([], np.array([3]), np.array([25]))
    assert held.take(found.refs, ["n"]).column("n").to_pylist() == [0, 10, 20]
    assert (found.begins.tolist(), found.ends.tolist()) == ([3, 10, 20], [25, 25, 25])


def test_keys_are_forgotten_with_their_rows() -> None:
    held = RowStore(1, ((10,),))
    for begin in range(0, 100_000, 10_000):
        begins = np.arange(begin, begin + 10_000)
        held.expire(begin)
        held.add([pa.array(begins)], Lives(pa.table({"n": begins}), begins, begins + 10))
    assert held.nbytes < 5_000_000
    begins = np.array([99_995, 5])
    found = held.pairs([pa.array(begins)], begins, begins + 1)
    assert held.take(found.refs, ["n"]).column("n").to_pylist() == [99_995]


def test_very_many_pairs_come_in_pieces() -> None:
    held = filled(4, 1000, 5_000, ((5_000,),))
    begins = np.full(500, 4_000)
    key = pa.array(["key 3", "key 4"] * 250)
    with patch.object(lots, "PIECE", 10_000):
        pieces = list(held.pieces([key], begins, begins + 1))
    together = held.pairs([key], begins, begins + 1)
    assert len(pieces) > 20
    assert max(map(len, pieces)) <= 10_000 + 571
    pairs = {pair for each in pieces for pair in zip(each.rows.tolist(), each.refs.tolist())}
    assert len(pairs) == sum(map(len, pieces)) == len(together) == 500 * 571
    assert pairs == set(zip(together.rows.tolist(), together.refs.tolist()))


def test_nothing_is_found_where_nothing_was_added() -> None:
    held = RowStore(1, schema=pa.schema({"n": pa.string()}))
    found = held.pairs([pa.array(["a"])], np.array([1]), np.array([2]))
    assert len(found) == len(held) == 0
    assert held.take(found.refs, ["n"]).schema == pa.schema({"n": pa.string()})
