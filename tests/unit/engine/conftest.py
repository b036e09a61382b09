"""Tests of the engine that hold cells run twice: with all cells in one place, and with cells in buckets.

Those of restarts run once more, in buckets and with their home elsewhere; those of steps once more with every
answer written as soon as it is made, as those of a large step are.
"""

from __future__ import annotations

import pytest

from tests.unit.engine.bench import Bench
from weft.log import answers, bundle

WHOLE = (bundle.PIECE_BYTES, answers.RECENT_BYTES)
PIECES = (1, 300)  # bytes: some answers are read back by the sinks, some are not


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    together = metafunc.definition.get_closest_marker("together") is not None
    if "Bench" in vars(metafunc.module) and not together:
        kinds = {"together": (0, "here", WHOLE), "buckets": (3, "here", WHOLE)}
        if metafunc.module.__name__.endswith("test_restarts"):
            kinds["elsewhere"] = (3, "bucket", PIECES)
        if metafunc.module.__name__.endswith(("test_step", "test_families")):
            kinds["pieces"] = (0, "here", PIECES)
        metafunc.parametrize("placement", kinds.values(), ids=kinds, indirect=True)


@pytest.fixture(autouse=True)
def placement(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    buckets, store, (piece, recent) = getattr(request, "param", (0, "here", WHOLE))
    monkeypatch.setattr(Bench, "buckets", buckets)
    monkeypatch.setattr(Bench, "store", store)
    monkeypatch.setattr(bundle, "PIECE_BYTES", piece)
    monkeypatch.setattr(answers, "RECENT_BYTES", recent)
