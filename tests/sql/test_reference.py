"""The rows of every case are what the reference says. `pytest --update` rewrites them from DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.sql.oracles import DuckOracle, SparkOracle
from weft.testing.cases import Case, read_cases, rewrite
from weft.testing.harness import check, updated

FILES = sorted(Path(__file__).parent.glob("*.test"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        if metafunc.config.getoption("--update"):
            update_all()
        oracles = ("spark", "duckdb") if "spark" in metafunc.fixturenames else ("duckdb",)
        chosen = [_marked(case, oracles) for case in all_cases() if case.oracle in oracles]
        metafunc.parametrize("case", chosen)


def _marked(case: Case, oracles: Sequence[str]) -> Any:
    """That Spark in batch agrees with DuckDB where both can judge is worth knowing, but takes minutes."""
    slow = [pytest.mark.slow] if case.oracle != oracles[0] else []
    return pytest.param(case, marks=slow, id=case.id)


@cache
def update_all() -> None:
    for path in FILES:
        cases = [case for case in read_cases(path) if case.oracle == "duckdb" and not case.refused]
        found: dict[int, Sequence[str]] = {}
        for case in cases:
            with suppress(Exception):  # its own test says what is wrong with it
                found |= updated(case, DuckOracle())
        rewrite(path, found)


def all_cases() -> list[Case]:
    return [case for path in FILES for case in read_cases(path)]


def test_there_are_enough_cases() -> None:
    cases = all_cases()
    assert len(cases) >= 120
    assert len({case.id for case in cases}) == len(cases)


def test_duckdb_agrees(case: Case) -> None:
    check(case, DuckOracle())


@pytest.mark.spark
def test_spark_in_batch_agrees(case: Case, spark) -> None:
    check(case, SparkOracle(spark))
