"""Relations in buckets on a home: all that is said of them is as in the driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.engine.crew import LocalCrew
from tests.unit.engine.relations.homes import OnHome, rows
from tests.unit.engine.relations.test_restarts import PROGRAM, STREAMS, live, told
from weft.engine import runtime

FEEDS = [
    ("a", rows(("A", 1, 1), ("B", 2, 12))),
    ("b", rows(("A", 3, 11))),
    ("a", rows(("A", 4, 7))),  # complete before 10
    ("b", rows(("C", 5, 5))),  # complete before 11
    ("a", rows(("C", 6, 13))),
    ("b", rows(("A", 7, 14))),
    None,
    ("a", rows(("B", 8, 48))),
    ("b", rows(("B", 9, 49))),
    None,
]


@pytest.mark.parametrize("stops", [False, True])
def test_all_that_is_counted_is_as_in_the_driver(tmp_path: Path, stops: bool) -> None:
    said = []
    for at, crew in enumerate((None, LocalCrew(3))):
        adapter = OnHome(tmp_path / str(at), crew)
        live(adapter, PROGRAM, FEEDS, stops)
        names = list(adapter.runtime.running)
        said.append(
            {name: (told(adapter, name), adapter.late(name), adapter.dead(name)) for name in names}
            | {kind: [adapter.runtime.tally.total(kind)] for kind in ("answers", "windows", "late")}
        )
        assert bool(adapter.runtime.spreads) == bool(crew)
        adapter.stop()
    assert said[0] == said[1]
    assert said[0]["late"][0]


def test_a_bucket_goes_on_with_what_it_held(tmp_path: Path) -> None:
    adapter = OnHome(tmp_path / "home", LocalCrew(3, forgets=0.0))
    live(adapter, PROGRAM, FEEDS, stops=False)
    assert adapter.runtime.spreads.reloads == 3  # at the first step there is nothing yet
    adapter.stop()


ONCE = "SELECT DISTINCT k, v FROM a [RANGE 9 SECONDS]"
KEYS = f"{STREAMS}CREATE QUERY keys AS {ONCE};\n"
BESIDE = f"{KEYS}CREATE QUERY counted AS SELECT COUNT(*) AS n FROM ({ONCE}) x;\n"


@pytest.mark.parametrize("then", [None, LocalCrew(2)], ids=["driver", "buckets"])
def test_what_lies_in_the_driver_and_in_buckets_is_there_once_after_a_restart(
    tmp_path: Path, then: LocalCrew | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query without a key that comes before any row tells of the same DISTINCT as one in buckets."""
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1)
    answers = []
    for stops in (False, True):
        adapter = OnHome(tmp_path / f"{stops}", LocalCrew(3))
        adapter.start(KEYS)
        adapter.change(BESIDE)
        adapter.ingest("a", rows(("A", 1, 1), ("B", 2, 2), ("A", 1, 5)))
        adapter.ingest("a", rows(("Z", 0, 8)))
        assert adapter.runtime.spreads.queries == {"keys"}
        if stops:
            adapter.crew = then
            adapter.restart(BESIDE)
        adapter.ingest("a", rows(("A", 1, 12), ("B", 2, 13)))
        adapter.drain(None)
        answers.append({name: told(adapter, name) for name in ("keys", "counted")})
        adapter.stop()
    assert answers[1] == answers[0]
