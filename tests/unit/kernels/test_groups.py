from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.groups import GroupIndex
from weft.kernels.hashing import hash_plain
from weft.kernels.plain import Plain, Words

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


TYPES: dict[pa.DataType, st.SearchStrategy[object]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-3, 3),
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float32(): st.sampled_from([0.0, -0.0, math.nan, 1.5, -math.inf]),
    pa.float64(): st.floats() | st.sampled_from([0.0, -0.0, math.nan]),
    pa.date32(): st.dates(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(UTC)),
    pa.decimal128(38, 0): st.integers(1 - 10**38, 10**38 - 1).map(Decimal) | st.just(Decimal(2**64)),
    pa.string(): st.text(max_size=3) | st.sampled_from(["", "a", "a\x00", "x" * 64, "x" * 65, "x" * 200]),
    pa.large_string(): st.text(max_size=20),
    pa.binary(): st.binary(max_size=10),
    pa.list_(pa.int8()): st.lists(st.integers(0, 2), max_size=2),
    pa.null(): st.none(),
}
key_types = st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=3)


class Weak(GroupIndex):
    """Its first seeds give few different hashes."""

    @staticmethod
    def _hash(keys: Sequence[Plain], rows: int, seed: int = 0) -> Words:
        return hash_plain(keys, rows, seed) % np.uint64(seed + 1 if seed < 3 else 1 << 60)


def exact(row: tuple[object, ...]) -> str:
    return repr(tuple(value + 0.0 if isinstance(value, float) else value for value in row))


@pytest.mark.parametrize("index", [GroupIndex, Weak])
@given(data=st.data(), types=key_types)
def test_ids_are_those_of_a_dict_for_keys_of_every_type(
    index: type[GroupIndex], data: st.DataObject, types: list[pa.DataType]
) -> None:
    row = st.tuples(*(st.none() | TYPES[type] for type in types))
    groups, known = index(len(types)), {}
    for drawn in data.draw(st.lists(st.lists(row, max_size=12), max_size=4)):
        start = data.draw(st.integers(0, 3))
        keys = [pa.array([r[at] for r in drawn], type).slice(start) for at, type in enumerate(types)]
        batch = list(zip(*(key.to_pylist() for key in keys)))
        assert groups.lookup(keys).tolist() == [known.get(exact(r), -1) for r in batch]
        assert groups.add(keys).tolist() == [known.setdefault(exact(r), len(known)) for r in batch]
        assert groups.lookup(keys).tolist() == [known[exact(r)] for r in batch]
    everything = np.arange(len(groups))
    assert [exact(r) for r in zip(*(key.to_pylist() for key in groups.take(everything)))] == list(known)
    prefixes = [exact(r[:-1]) for r in zip(*(key.to_pylist() for key in groups.take(everything)))]
    family = groups.family(everything).tolist()
    assert len(set(zip(family, prefixes))) == len(set(family)) == len(set(prefixes))
    kept = np.array(sorted(data.draw(st.sets(st.sampled_from(range(len(known)))))) if known else [], np.int64)
    keys = groups.take(kept)
    groups.keep(kept)
    if known:
        assert len(groups) == len(kept)
        assert groups.lookup(keys).tolist() == list(range(len(kept)))


@pytest.mark.parametrize("text", [False, True])
def test_a_hundred_thousand_groups_come_in_batches_with_repeats(text: bool) -> None:
    rng = np.random.default_rng(7)
    index, known = GroupIndex(1), {}
    for _ in range(4):
        numbers = rng.integers(0, 150_000, 120_000)
        expected = [known.setdefault(number, len(known)) for number in numbers.tolist()]
        keys = pa.array(numbers)
        assert index.add([keys.cast(pa.string()) if text else keys]).tolist() == expected
    taken = index.take(np.arange(len(index)))[0].cast(pa.int64())
    assert taken.to_pylist() == list(known)
    assert index.nbytes < 60 * len(index)


def test_a_few_keys_again_and_again_make_a_small_index() -> None:
    index = GroupIndex(1)
    index.add([pa.array(np.arange(1_000_000) % 100)])
    assert index.nbytes < 200_000
