"""EMIT CHANGES of a query that is changed under its name: each version puts right what it told itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engine.crew import LocalCrew
from tests.unit.engine.relations.homes import OnHome
from tests.unit.engine.relations.test_restarts import STREAMS, rows, told
from weft.engine import runtime

PAIRS = "SELECT {} FROM a [RANGE 10 SECONDS] x JOIN b [RANGE 10 SECONDS] y ON x.k = y.k EMIT CHANGES"
ONE = f"{STREAMS}CREATE QUERY early AS {PAIRS.format('x.v, y.v AS w')};"
SAME_COLUMNS = f"{STREAMS}CREATE QUERY early AS {PAIRS.format('x.v + 1 AS v, y.v AS w')};"
OTHER_COLUMNS = f"{STREAMS}CREATE QUERY early AS {PAIRS.format('x.k')};"


@pytest.fixture(params=[None, LocalCrew(3)], ids=["driver", "buckets"])
def home(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[OnHome]:
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 2)
    made = OnHome(tmp_path / "home", request.param)
    yield made
    made.stop()


def early(home: OnHome) -> list[tuple[Any, ...]]:
    """What its newest version told: sign, time in seconds, and the row."""
    return [(row[0], row[1].timestamp(), *row[2:]) for row in told(home, "early")]


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize(
    ("text", "row"), [(SAME_COLUMNS, (7, 9)), (OTHER_COLUMNS, ("B",))], ids=["same-columns", "other-columns"]
)
def test_a_new_version_takes_nothing_back_that_it_did_not_tell(
    home: OnHome, text: str, row: tuple[Any, ...], stops: bool
) -> None:
    home.start(ONE)
    home.ingest("a", rows(("A", 1, 11)))
    home.ingest("b", rows(("A", 2, 12)))
    home.ingest("a", rows(("Z", 0, 13)))  # complete before 11: the pair of 12 is not certain yet
    assert early(home) == [("+", 12.0, 1, 2)]
    home.change(text)
    if stops:
        home.restart(text)
    home.ingest("a", rows(("B", 6, 20)))
    home.ingest("b", rows(("B", 9, 21)))
    home.ingest("a", rows(("Z", 0, 22)))
    if stops:
        home.restart(text)
    home.drain(None)
    assert early(home) == [("+", 21.0, *row), ("-", 30.0, *row)]
