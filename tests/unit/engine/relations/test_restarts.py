"""Relations that are stopped and started again: what is told is as if nothing had happened."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.unit.engine.relations.homes import OnHome, rows
from weft.engine import runtime
from weft.testing.values import rows_of

STREAMS = """
CREATE STREAM a (k STRING, v INT, at TIMESTAMP) TIMESTAMP BY at DELAY 2 SECONDS MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = 'rows');
CREATE STREAM b (k STRING, v INT, at TIMESTAMP) TIMESTAMP BY at DELAY 0 SECONDS MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = 'rows');
"""


@pytest.fixture
def adapter(tmp_path: Path) -> Iterator[OnHome]:
    made = OnHome(tmp_path / "home")
    yield made
    made.stop()


@pytest.fixture(params=[1, 2, 3])
def every(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Steps from one snapshot to the next."""
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", request.param)
    return int(request.param)


def entries(*given: tuple[str, int]) -> pa.Table:
    """Of table `t`: k and w."""
    keys, numbers = zip(*given, strict=True)
    return pa.table({"k": pa.array(keys), "w": pa.array(numbers, pa.int32())})


def told(adapter: OnHome, query: str) -> list[tuple[Any, ...]]:
    return sorted(rows_of(adapter.results(query)), key=repr)


def live(adapter: OnHome, text: str, feeds: list[tuple[str, pa.Table] | None], stops: bool) -> None:
    """All batches, what becomes of table `t`, None for a drain; with `stops` started again after each."""
    adapter.start(text)
    for feed in feeds:
        if feed is None:
            adapter.drain(None)
        elif feed[0] == "t":
            adapter.revise(*feed)
        else:
            adapter.ingest(*feed)
        if stops:
            adapter.restart(text)


def agree(path: Path, text: str, feeds: list[tuple[str, pa.Table] | None]) -> dict[str, list[Any]]:
    """What is told with a stop after every batch, which is what is told without any."""
    answers = []
    for stops in (False, True):
        adapter = OnHome(path / f"{stops}")
        live(adapter, text, feeds, stops)
        answers.append({name: told(adapter, name) for name in adapter.runtime.running})
        answers[-1]["late"] = [adapter.late(name) for name in adapter.runtime.running]
        adapter.stop()
    assert answers[1] == answers[0]
    return answers[0]


PAIRS = "SELECT x.v, y.v AS w FROM a [RANGE 10 SECONDS] x JOIN b [RANGE 10 SECONDS] y ON x.k = y.k"
PROGRAM = (
    STREAMS
    + f"""
CREATE QUERY pairs AS {PAIRS};
CREATE QUERY early AS {PAIRS} EMIT CHANGES;
CREATE QUERY distinct_keys AS SELECT DISTINCT x.k FROM a [RANGE 10 SECONDS] x, b [RANGE 10 SECONDS] y
  WHERE x.k = y.k;
CREATE QUERY lonely AS SELECT x.k, x.v FROM a [RANGE 10 SECONDS] x
  WHERE NOT EXISTS (SELECT 1 FROM b [RANGE 10 SECONDS] y WHERE x.k = y.k);
CREATE QUERY counts AS SELECT x.k, COUNT(*) AS n FROM a [RANGE 10 SECONDS SLIDE 5 SECONDS] x
  JOIN b [RANGE 10 SECONDS SLIDE 5 SECONDS] y ON x.k = y.k GROUP BY x.k;
CREATE QUERY lasting AS SELECT z.k, COUNT(*) AS n
  FROM (SELECT x.k FROM a [RANGE 4 SECONDS] x JOIN b [RANGE 4 SECONDS] y ON x.k = y.k) [RANGE 6 SECONDS] z
  GROUP BY z.k;
"""
)


def test_rows_after_a_drain_are_there_after_a_restart(tmp_path: Path, every: int) -> None:
    feeds: list[tuple[str, pa.Table] | None] = [
        ("a", rows(("A", 1, 1), ("B", 2, 2))),
        ("b", rows(("A", 3, 2))),
        None,
        ("a", rows(("A", 4, 30), ("B", 5, 31))),
        ("b", rows(("A", 6, 32))),
        ("a", rows(("A", 7, 40), ("A", 8, 41))),
        ("b", rows(("A", 9, 45), ("B", 1, 46))),
        None,
    ]
    found = agree(tmp_path, PROGRAM, feeds)
    assert [row[2:] for row in found["pairs"]] == [(1, 3), (4, 6), (7, 6), (8, 6), (7, 9), (8, 9)]


def test_late_rows_count_from_the_watermark_on_whether_stopped_or_not(tmp_path: Path, every: int) -> None:
    feeds: list[tuple[str, pa.Table] | None] = [
        ("a", rows(("A", 1, 1), ("B", 2, 12))),
        ("b", rows(("A", 3, 11))),
        ("a", rows(("A", 4, 7))),  # complete before 10
        ("b", rows(("C", 5, 5))),  # complete before 11
        ("a", rows(("C", 6, 13))),
        ("b", rows(("A", 7, 14))),
        ("a", rows(("B", 8, 18))),
        ("b", rows(("B", 9, 19))),
        ("a", rows(("Z", 0, 60))),
        ("b", rows(("Z", 0, 60))),
        None,
    ]
    found = agree(tmp_path, PROGRAM, feeds)
    assert all(found["late"])
    assert [tuple(map(_seconds, row[:2])) + row[2:] for row in found["pairs"]] == [
        (11, 17, 4, 3),  # from 10 on, had the other been there
        (13, 15, 6, 5),  # the other from 11 on
        (14, 17, 4, 7),
        (19, 22, 2, 9),
        (19, 28, 8, 9),
        (60, 70, 0, 0),
    ]


def test_what_outlives_its_internal_window_is_there_after_a_restart(tmp_path: Path, every: int) -> None:
    pairs = "FROM a [RANGE 20 SECONDS] x JOIN b [RANGE 3 SECONDS INTERNAL] y ON x.k = y.k"
    text = (
        f"{STREAMS}CREATE QUERY pairs AS SELECT x.v, y.v AS w {pairs};\n"
        f"CREATE QUERY ended AS SELECT DSTREAM(x.v, y.v AS w) {pairs};\n"
        f"CREATE QUERY early AS SELECT x.v, y.v AS w {pairs} EMIT CHANGES;\n"
    )
    feeds: list[tuple[str, pa.Table] | None] = [
        ("b", rows(("A", 1, 8))),
        ("a", rows(("A", 2, 10))),
        *((stream, rows(("Z", 0, at))) for at in range(12, 36, 2) for stream in "ab"),
        None,
    ]
    found = agree(tmp_path, text, feeds)
    (ended,) = [row for row in found["ended"] if row[1:] == (2, 1)]
    assert _seconds(ended[0]) == 30


def test_what_is_new_of_a_slide_is_what_the_one_before_had_not_after_a_restart(
    tmp_path: Path, every: int
) -> None:
    window = "FROM b [RANGE 4 SECONDS SLIDE 6 SECONDS] WHERE k = 'A'"
    text = (
        f"{STREAMS}CREATE QUERY new AS SELECT ISTREAM(k) {window};\n"
        f"CREATE QUERY gone AS SELECT DSTREAM(k) {window};\n"
    )
    idle = [("b", rows(("Z", 0, at))) for at in (16, 16.2, 16.4, 16.6, 16.8, 17)]
    later = [("b", rows(("Z", 0, at))) for at in (20, 22, 22.2, 22.4, 22.6, 22.8, 25)]
    feeds: list[tuple[str, pa.Table] | None] = [
        ("b", rows(("A", 1, 5))),
        ("b", rows(("A", 1, 11))),
        *idle,
        ("b", rows(("A", 1, 17.5))),
        *later,
    ]
    found = agree(tmp_path, text, feeds)
    assert [_seconds(row[1]) for row in found["new"]] == [6]
    assert [_seconds(row[1]) for row in found["gone"]] == [24]


def test_a_version_that_a_drain_told_of_is_not_told_again(tmp_path: Path, every: int) -> None:
    text = STREAMS + (
        "CREATE TABLE t (k STRING, w INT) FROM parquet OPTIONS ('path' = 'unread');\n"
        "CREATE QUERY there AS SELECT t.k, t.w, x.v FROM t RETROACTIVE LEFT JOIN a [RANGE 4 SECONDS] x "
        "ON x.k = t.k;\n"
        "CREATE QUERY held AS SELECT k, w FROM t RETROACTIVE;\n"
    )
    feeds: list[tuple[str, pa.Table] | None] = [
        ("t", entries(("B", 1))),
        ("a", rows(("A", 1, 1))),
        ("t", entries(("B", 2))),
        None,
        ("a", rows(("A", 2, 20))),
        ("t", entries(("B", 3))),
        None,
        ("t", entries(("B", 4))),
        ("a", rows(("A", 3, 40))),
        ("a", rows(("A", 3, 50))),
    ]
    found = agree(tmp_path, text, feeds)
    began = [None, 1, 20, 20]
    for query in ("held", "there"):
        assert [(row[0] and round(_seconds(row[0])), *row[2:4]) for row in found[query]] == [
            (at, "B", version) for version, at in enumerate(began, start=1)
        ]


def _seconds(at: datetime) -> float:
    return at.timestamp()


@pytest.mark.parametrize("name", ["arrivals", "flow"])
def test_a_query_may_have_the_name_of_anything_that_is_saved(tmp_path: Path, name: str) -> None:
    text = STREAMS + (
        f"CREATE QUERY {name} AS SELECT k FROM a [RANGE 5 SECONDS] x "
        "WHERE NOT EXISTS (SELECT 1 FROM b [RANGE 5 SECONDS] y WHERE y.k = x.k) EMIT CHANGES;"
    )
    feeds: list[tuple[str, pa.Table] | None] = [
        ("a", rows(("A", 1, 1), ("B", 2, 2))),
        ("b", rows(("A", 3, 2))),
        ("a", rows(("A", 4, 9))),
        ("b", rows(("B", 6, 9))),
        None,
    ]
    assert agree(tmp_path, text, feeds)[name]
