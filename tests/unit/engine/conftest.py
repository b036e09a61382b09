"""Tests of the engine that hold cells run twice: with all cells in one place, and with cells in buckets.

Those of restarts run once more, in buckets and with their home elsewhere.
"""

from __future__ import annotations

import pytest

from tests.unit.engine.bench import Bench


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    together = metafunc.definition.get_closest_marker("together") is not None
    if "Bench" in vars(metafunc.module) and not together:
        kinds = {"together": (0, "here"), "buckets": (3, "here")}
        if metafunc.module.__name__.endswith("test_restarts"):
            kinds["elsewhere"] = (3, "bucket")
        metafunc.parametrize("placement", kinds.values(), ids=kinds, indirect=True)


@pytest.fixture(autouse=True)
def placement(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    buckets, store = getattr(request, "param", (0, "here"))
    monkeypatch.setattr(Bench, "buckets", buckets)
    monkeypatch.setattr(Bench, "store", store)
