"""Weft on Spark gives the rows of every case, bit by bit of its two loops."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.spark.replay import Replay
from weft.testing.cases import Case, read_cases
from weft.testing.harness import check

CASES = [case for path in sorted(Path(__file__).parent.glob("*.test")) for case in read_cases(path)]


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_weft_agrees(case: Case, spark, tmp_path: Path) -> None:
    adapter = Replay(spark, tmp_path / "home")
    try:
        check(case, adapter)
    finally:
        adapter.stop()
