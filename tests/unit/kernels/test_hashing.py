"""Hashes decide where groups live: they must never change, and spread evenly in all their bits."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.hashing import hash_keys

PINNED = [
    (
        pa.array([0, 1, -1, None], pa.int64()),
        [0x48218226FF3CD4BF, 0x9E0160293A33AAF7, 0xF2C27EF86A95B080, 0x9EC97C9E9965292C],
    ),
    (pa.array([True, False, None]), [0x9E0160293A33AAF7, 0x48218226FF3CD4BF, 0x9EC97C9E9965292C]),
    (
        pa.array([0.0, 1.5, math.nan, None]),
        [0x48218226FF3CD4BF, 0x79D2A77931B3630F, 0x7E9F8F103A97E3BD, 0x9EC97C9E9965292C],
    ),
    (pa.array([Decimal("1.20"), None], pa.decimal128(20, 2)), [0xD8919A3F83D0CB13, 0xE516756C9F9C85F0]),
    (pa.array([date(2020, 1, 1)]), [0x8769394AF945B596]),
    (
        pa.array(["", "a", "user-00000017", "é" * 60, None]),
        [0x48218226FF3CD4BF, 0x44D9F1FBE5CFA57D, 0x70B953C334C72700, 0xE97FF89CC1D59EAA, 0x9EC97C9E9965292C],
    ),
    (
        pa.array([[1, 2], [], None], pa.list_(pa.int32())),
        [0x9E0CF6CF3708AEC1, 0x3B97975BCA98E976, 0xFBD69203449D64D],
    ),
]


@pytest.mark.parametrize(("array", "expected"), PINNED, ids=lambda part: str(getattr(part, "type", "")))
def test_hashes_never_change(array: pa.Array, expected: list[int]) -> None:
    assert hash_keys([array], len(array)).tolist() == expected


def test_the_hash_of_several_keys_and_of_another_seed_never_changes() -> None:
    keys = [pa.array(["a", "b"]), pa.array([1, 2])]
    assert hash_keys(keys, 2).tolist() == [0x3D51D92DB543EA8E, 0x7FE54C38BE4A5ADE]
    assert hash_keys(keys, 2, seed=1).tolist() == [0xB6B2F2FEF56786E2, 0x237F3F87D04275CE]
    assert hash_keys([], 2).tolist() == [0, 0]


def test_equal_values_hash_alike_whatever_their_width() -> None:
    texts, numbers = ["", "abc", "x" * 100, None], [0, -5, 7, None]
    for type in (pa.large_string(), pa.binary(), pa.large_binary()):
        same(pa.array(texts), pa.array(texts).cast(type))
    for type in (pa.int8(), pa.int16(), pa.int32(), pa.duration("us"), pa.timestamp("us")):
        same(pa.array(numbers, pa.int64()), pa.array(numbers, type))
    same(pa.array([0.0, math.nan]), pa.array([-0.0, -math.nan]))


def same(left: pa.Array, right: pa.Array) -> None:
    assert hash_keys([left], len(left)).tolist() == hash_keys([right], len(right)).tolist()


@given(
    st.lists(st.none() | st.binary(max_size=20) | st.binary(min_size=60, max_size=150), max_size=12),
    st.integers(0, 12),
    st.integers(0, 12),
)
def test_a_hash_follows_from_its_own_key_alone(values: list[bytes | None], start: int, length: int) -> None:
    array = pa.array(values, pa.binary())
    whole = hash_keys([array], len(array))
    part = array.slice(start, length)
    assert hash_keys([part], len(part)).tolist() == whole[start : start + length].tolist()
    alone = [int(hash_keys([pa.array([value], pa.binary())], 1)[0]) for value in values]
    assert whole.tolist() == alone
    assert len(set(alone)) == len(set(values))


KEYS = {
    "numbers one after the other": pa.array(np.arange(1 << 16)),
    "numbers far apart": pa.array(np.arange(1 << 16) << 47),
    "floats": pa.array(np.arange(1 << 16) / 4),
    "texts": pa.array([f"user-{n:08d}" for n in range(1 << 16)]),
    "long texts": pa.array([f"{n:09d}" + "-" * 70 + f"{n % 7:09d}" for n in range(1 << 16)]),
}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("seed", [0, 1])
def test_keys_spread_evenly_by_any_bits(name: str, seed: int) -> None:
    hashes = hash_keys([KEYS[name]], 1 << 16, seed)
    assert len(np.unique(hashes)) == 1 << 16
    for buckets in (2, 3, 7, 16, 256):
        evenly(hashes % np.uint64(buckets), buckets)
    for shift in range(0, 60, 4):
        evenly((hashes >> np.uint64(shift)) & np.uint64(15), 16)


def evenly(found: np.ndarray, buckets: int) -> None:
    """Chi squared within seven deviations of what chance gives."""
    counts, expected = np.bincount(found.astype(np.int64), minlength=buckets), len(found) / buckets
    chi = float(((counts - expected) ** 2 / expected).sum())
    assert chi < buckets - 1 + 7 * math.sqrt(2 * (buckets - 1)) + 7


def test_the_order_of_keys_matters() -> None:
    left, right = pa.array(["a", "", "ab"]), pa.array(["b", "ab", ""])
    assert len(set(hash_keys([left, right], 3)) | set(hash_keys([right, left], 3))) == 4
