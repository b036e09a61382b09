"""The workloads that plans are held against the best there is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.weaving import above_best, few, small
from weft.lang.statements import WindowSpec


@pytest.mark.parametrize("workload", [small, lambda seed: few(seed, 0.05, 1)])
def test_workloads_are_hard_and_a_polish_brings_plans_nearer_to_the_best(
    workload: Callable[[int], tuple[list[WindowSpec], float]],
) -> None:
    found = [above_best(*workload(seed)) for seed in range(30)]
    assert sum(groups > 1 for _, _, groups in found) > 10
    assert all(-1e-9 <= polished <= merged + 1e-9 for merged, polished, _ in found)
    assert max(merged for merged, _, _ in found) > 0.1
