"""The judge itself: what it lets pass, and what it does not."""

from __future__ import annotations

from decimal import Decimal

import pytest

from weft.testing import compare
from weft.testing.compare import Bound, difference


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([(1, "a"), (2, "b")], [(2, "b"), (1, "a")]),
        ([(1.0,), (1.0,)], [(1.0,), (1.0 + 1e-12,)]),
        ([(float("nan"),)], [(float("nan"),)]),
        ([(None, 2)], [(None, 2)]),
        ([(Decimal("1.50"),)], [(Decimal("1.5"),)]),
        ([([1.0, None],)], [([1.0, None],)]),
        ([(0.1, "x"), (0.1, "y")], [(0.1 + 1e-15, "y"), (0.1, "x")]),
    ],
)
def test_the_same(one, other) -> None:
    assert difference(one, other) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([(1,)], []),
        ([(1,)], [(1,), (1,)]),
        ([(1,), (1,), (2,)], [(1,), (2,), (2,)]),
        ([(1,)], [(2,)]),
        ([(1.0,)], [(1.0 + 1e-6,)]),
        ([(None,)], [(0,)]),
        ([(float("nan"),)], [(None,)]),
        ([(float("inf"),)], [(float("-inf"),)]),
        ([(True,)], [(1.5,)]),
        ([("",)], [(None,)]),
        ([(Decimal("1.50"),)], [(Decimal("1.51"),)]),
        ([([1, 2],)], [([2, 1],)]),
    ],
)
def test_not_the_same(one, other) -> None:
    assert difference(one, other) != ""


def test_an_approximate_column_has_a_bound_of_its_own() -> None:
    assert difference([(1, 100)], [(1, 104)], (None, Bound(0.05))) == ""
    assert difference([(1, 100)], [(1, 106)], (None, Bound(0.05))) != ""
    assert difference([(1, 100)], [(2, 100)], (None, Bound(0.05))) != ""


def test_a_difference_says_what_is_missing_and_what_is_too_many() -> None:
    assert difference([(1, "a"), (2, "b")], [(2, "b"), (3, "c")]).splitlines() == [
        "2 rows expected, 2 found",
        "  - 1 a",
        "  + 3 c",
    ]


def test_rows_that_are_equal_to_the_letter_are_not_compared_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = []
    same = compare._same
    monkeypatch.setattr(compare, "_same", lambda *rows: compared.append(rows) or same(*rows))
    equal = [(n, n / 10) for n in range(1000)]
    found = difference([(-n, 0.5) for n in range(1, 11)] + equal, [*equal, (1, 0.1 + 1e-6), (7, 0.7)])
    assert found.splitlines() == [
        "1010 rows expected, 1002 found",
        *(f"  - {-n} 0.5" for n in range(10, 0, -1)),
        "  + 1 0.100001",
        "  + 7 0.7",
    ]
    assert len(compared) == 40  # ten with two, both ways
