"""Windows that follow a beat are put together from runs, and come out as if from the values themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kernels.bounds import Bounds
from weft.kernels.combine import ADD, KINDS, LEAST_OF, MOMENTS, PAIR, Arrays, Ints, Kind
from weft.kernels.dyadic import Dyadic

GROUPS = 3
COMPS = np.array([1, 0])


def values(kind: Kind, random: np.random.Generator, cells: int) -> Arrays:
    """Small whole numbers: sums of them are exact in any order."""
    if kind is MOMENTS:
        n = random.integers(0, 2, (len(COMPS), cells)).astype(float)
        return n, n * random.integers(0, 9, n.shape), np.zeros_like(n)
    shape = (len(COMPS), cells)
    return tuple(random.integers(-9, 9, shape).astype(dtype) for dtype in kind.dtypes)


def expected(bank: Dyadic, lo: Ints, hi: Ints) -> Arrays:
    """Position after position, each added to all windows that hold it."""
    base = tuple(array[COMPS] for array in bank.base())
    found = bank.kind.empty((len(COMPS), len(lo), GROUPS))
    for step in range(int((hi - lo).max(initial=0))):
        held = np.flatnonzero(lo + step < hi)
        some = bank.kind.combine(
            tuple(array[:, held] for array in found), tuple(array[:, lo[held] + step] for array in base)
        )
        for array, values in zip(found, some):
            array[:, held] = values
    return found


def check(bank: Dyadic, first: int, step: int, length: int) -> None:
    lo = np.arange(first, bank.size - length + 1, step)
    assert_right(bank, lo, lo + length)


def check_early(bank: Dyadic, origin: int, step: int, length: int) -> None:
    """Windows of which the first reach back to before the first position."""
    hi = np.arange(origin + 1, bank.size + 1, step)
    assert_right(bank, np.maximum(hi - length, origin), hi)


def assert_right(bank: Dyadic, lo: Ints, hi: Ints) -> None:
    for array, wanted in zip(bank.ranges(Bounds(lo, hi), COMPS), expected(bank, lo, hi), strict=True):
        np.testing.assert_allclose(array, wanted, rtol=1e-12)


@pytest.mark.parametrize("kind", [ADD, LEAST_OF, MOMENTS, PAIR], ids=lambda kind: kind.name)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_runs_answer_as_the_values_do(kind: Kind, seed: int) -> None:
    random = np.random.default_rng(seed)
    bank = Dyadic(kind, (GROUPS,))
    bank.widen(2)
    bank.append(40)
    for _ in range(8):
        change(bank, random)
        for _ in range(4):  # asked often enough, runs are made
            check_early(bank, *(int(random.integers(*drawn)) for drawn in ((0, 2), (1, 3), (2, 90))))
            check(bank, *(int(random.integers(*drawn)) for drawn in ((0, 4), (1, 4), (2, 12))))


def change(bank: Dyadic, random: np.random.Generator) -> None:
    """What may happen between two answers: new positions, late values, groups, positions that go."""
    match int(random.integers(0, 6)):
        case 0 if bank.size > 40:
            bank.drop(int(random.integers(1, 10)))
        case 1:
            bank.insert(np.array([2, 5]))
        case 2:
            bank.keep_groups(np.array([2, 0, 1]))
        case _:
            bank.append(int(random.integers(1, 30)))
    rows = random.choice(bank.size, 20, replace=False)
    if random.integers(0, 2):
        rows = np.arange(bank.size - 20, bank.size)
    groups = random.integers(0, GROUPS, len(rows))
    bank.put(rows, groups, COMPS, values(bank.kind, random, len(rows)))


def test_runs_are_made_for_what_is_asked_again_and_again() -> None:
    bank = Dyadic(LEAST_OF, (GROUPS,))
    bank.widen(2)
    bank.append(400)
    change(bank, np.random.default_rng(1))
    for _ in range(2):  # 2 * 133 windows are fewer than 400 positions
        check(bank, 0, 3, 5)
        assert not bank._spans._levels
    for _ in range(2):
        check(bank, 0, 3, 5)
    assert list(bank._spans._levels) == [1, 0]


def test_windows_that_begin_before_the_first_slice_are_made_one_of_the_other() -> None:
    bank = Dyadic(LEAST_OF, (GROUPS,))
    bank.widen(2)
    bank.append(40)
    change(bank, np.random.default_rng(1))
    check_early(bank, 0, 1, 90)
    assert list(bank._running._made) == [1, 0]


def test_combining_twice_is_harmless_only_where_a_kind_says_so() -> None:
    random = np.random.default_rng(3)
    for kind in KINDS:
        if kind.idempotent:
            some = tuple(random.integers(-9, 9, 20).astype(dtype) for dtype in kind.dtypes)
            for array, twice in zip(some, kind.combine(some, some)):
                np.testing.assert_array_equal(array, twice)
