"""Signatures of rows, and groups picked by their bits, against the obvious loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.kernels.model import CASES, GRAIN, PRESENT, Row
from tests.unit.kernels.test_state import STATES, Model, rows, windows
from weft.kernels.picks import Choice, HasAll, OneOf
from weft.kernels.signatures import covers, signatures
from weft.share.signatures import least


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=62))
def test_a_bit_for_each_condition(held: list[list[bool]]) -> None:
    found = signatures([np.array(each) for each in held], 3)
    assert found.tolist() == [sum(each[row] << bit for bit, each in enumerate(held)) for row in range(3)]


def test_without_conditions_there_is_no_bit() -> None:
    assert signatures([], 2).tolist() == [0, 0]


masks = st.lists(st.integers(1, 63), min_size=1, max_size=6)


@given(st.lists(st.integers(0, 63), max_size=20), masks)
def test_what_is_covered_is_covered_by_the_least_masks(found: list[int], asked: list[int]) -> None:
    wanted = [any(each & mask == mask for mask in asked) for each in found]
    assert covers(np.array(found, np.int64), asked).tolist() == wanted
    assert covers(np.array(found, np.int64), least(asked)).tolist() == wanted


@pytest.mark.parametrize(
    ("asked", "found"), [([3], (3,)), ([3, 1], (1,)), ([3, 5, 7], (3, 5)), ([6, 3, 3], (3, 6)), ([], ())]
)
def test_the_least_masks(asked: list[int], found: tuple[int, ...]) -> None:
    assert least(asked) == found


class Signed(Model):
    """With a text and a signature as keys."""

    key_types = (pa.string(), pa.int64())


keys = st.tuples(st.sampled_from(["x", "y", None]), st.none() | st.integers(0, 7))
batches = st.lists(st.builds(lambda row, key: replace(row, key=key), rows, keys), min_size=1, max_size=25)
picks = st.builds(lambda mask: HasAll(1, mask), st.integers(1, 7))


@pytest.mark.parametrize("kind", STATES)
@settings(max_examples=8, deadline=None, report_multiple_bugs=False)
@given(
    folded=st.lists(st.tuples(batches, st.integers(0, len(CASES))), min_size=1, max_size=2),
    asked=st.lists(picks, min_size=1, max_size=2),
    seen=st.sampled_from([(), (0,)]),
)
def test_bits_answer_as_if_only_their_rows_had_come(
    kind: str, folded: list[tuple[list[Row], int]], asked: list[HasAll], seen: tuple[int, ...]
) -> None:
    model = Signed(STATES[kind](2))
    for batch, count in folded:
        model.fold(batch, count)
        for pick in asked:
            model.check(PRESENT, *windows(3, 2), Choice((pick,), seen))
            model.check(PRESENT, *windows(5, 2), Choice((pick, OneOf(0, ("x", "z"))), seen))
    model.expire(2 * GRAIN)
    model.check(PRESENT, *windows(5, 2), Choice((asked[0],), seen))
