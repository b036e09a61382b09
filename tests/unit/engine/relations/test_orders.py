"""In which order joins of several streams look through their windows."""

from __future__ import annotations

import pytest

from benchmarks.orders import JOINS, Joined
from weft.engine.relations import joining


def test_no_order_is_taken_that_pairs_all_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """All conditions are about the first stream: the order that costs least on paper has it last."""
    monkeypatch.setattr(joining, "EVERY", 1)
    made = Joined(JOINS["three, one fast"])
    for _ in range(3):
        made.step(made.made())
    assert made.join.order.index(0) < 2
