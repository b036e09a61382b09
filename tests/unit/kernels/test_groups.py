from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.groups import GroupIndex

TEXTS = st.sampled_from(["", "a", "b", None, "NULL"])
NUMBERS = st.sampled_from([0.0, -0.0, math.nan, None, 1.5])
COUNTS = st.none() | st.integers(-2, 2)
rows = st.lists(st.tuples(TEXTS, NUMBERS, COUNTS), max_size=20)


def columns(batch: list[tuple[object, ...]]) -> list[pa.Array]:
    types = (pa.string(), pa.float64(), pa.int64())
    return [pa.array([row[at] for row in batch], type) for at, type in enumerate(types)]


def plain(row: tuple[object, ...]) -> str:
    return repr(tuple(value + 0.0 if isinstance(value, float) else value for value in row))


@given(st.lists(rows, max_size=4))
def test_equal_keys_have_one_id_in_order_of_appearance(batches: list[list[tuple[object, ...]]]) -> None:
    index, known = GroupIndex(3), {}
    for batch in batches:
        expected = [known.setdefault(plain(row), len(known)) for row in batch]
        assert index.add(columns(batch)).tolist() == expected
    assert len(index) == len(known)
    taken = list(zip(*(array.to_pylist() for array in index.take(np.arange(len(known))))))
    assert [plain(row) for row in taken] == list(known)


@given(rows, rows)
def test_lookup_finds_what_was_added_and_nothing_else(
    added: list[tuple[object, ...]], asked: list[tuple[object, ...]]
) -> None:
    index, known = GroupIndex(3), {}
    for row in added:
        known.setdefault(plain(row), len(known))
    index.add(columns(added))
    assert index.lookup(columns(asked)).tolist() == [known.get(plain(row), -1) for row in asked]


def test_kept_groups_are_numbered_anew_and_the_rest_forgotten() -> None:
    index = GroupIndex(1)
    index.add([pa.array(["a", "b", "c", "d"])])
    index.keep(np.array([1, 3]))
    assert index.lookup([pa.array(["a", "b", "c", "d"])]).tolist() == [-1, 0, -1, 1]
    assert index.add([pa.array(["a", "d"])]).tolist() == [2, 1]


def test_without_keys_there_is_one_group() -> None:
    index = GroupIndex(0)
    assert index.add([], 3).tolist() == [0, 0, 0]
    assert len(index) == 1
    assert index.take(np.array([0])) == []


@pytest.mark.parametrize(
    "array",
    [
        pa.array([date(2020, 1, 1), None, date(1, 1, 1)]),
        pa.array([datetime(2020, 1, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        pa.array([253402300800000000, -62135596900000000], pa.timestamp("us")),  # beyond Python's datetime
        pa.array([Decimal("1.20"), Decimal("-3.40"), None], pa.decimal128(20, 2)),
        pa.array([True, False, None]),
        pa.array([b"", b"\xff", None]),
        pa.array([1.5, None, math.nan], pa.float32()),
        pa.array([[1, 2], [], None], pa.list_(pa.int32())),
        pa.array([{"a": 1}, {"a": None}], pa.struct([("a", pa.int32())])),
    ],
    ids=lambda array: str(array.type),
)
def test_keys_of_every_type_come_back_as_they_were(array: pa.Array) -> None:
    index = GroupIndex(1)
    ids = index.add([array])
    assert ids.tolist() == list(range(len(array)))
    assert index.add([array]).tolist() == ids.tolist()
    (taken,) = index.take(ids)
    assert taken.type == array.type
    if pa.types.is_floating(array.type):  # NaN equals NaN only as text
        taken, array = taken.cast(pa.string()), array.cast(pa.string())
    assert taken.equals(array)
