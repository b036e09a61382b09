"""Tests of the engine that hold cells run twice: with all cells in one place, and with cells in buckets."""

from __future__ import annotations

import pytest

from tests.unit.engine.bench import Bench


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    together = metafunc.definition.get_closest_marker("together") is not None
    if "Bench" in vars(metafunc.module) and not together:
        metafunc.parametrize("placement", [0, 3], ids=["together", "buckets"], indirect=True)


@pytest.fixture(autouse=True)
def placement(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bench, "buckets", getattr(request, "param", 0))
