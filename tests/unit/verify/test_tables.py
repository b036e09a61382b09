"""What `verify` says of relations that read tables: as far as each drain knew these, and since when."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.verify.programs import START, feed, made, names, rows, text
from weft.engine import runtime
from weft.testing.values import micros, rows_of
from weft.times import SECOND
from weft.verify import pieces


@pytest.mark.parametrize("most", [1, 10_000])
def test_windows_between_rows_that_lie_far_apart_show_tables(
    tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "MOST", most)
    rig = made(tmp_path, "listings")
    feed(rig, batches=2)
    feed(rig, batches=2, first=12)
    assert (found := rig.verify("listings")).equal, found.differences
    rig.runtime.step(why="drain", drain=True)
    feed(rig, batches=2, first=24)
    feed(rig, batches=2, first=36)
    assert (found := rig.verify("listings")).equal, found.differences
    ahead = micros(START) + 90 * SECOND
    rig.runtime.step(why="idle", watermarks={"sent": ahead, "acks": ahead})
    assert (found := rig.verify("listings")).equal, found.differences
    rig.stop()


@pytest.mark.parametrize("query", ["named", "renamed", "listed", "listings", "relisted"])
@pytest.mark.parametrize("drained", [False, True])
def test_a_query_that_was_added_later_sees_what_tables_held(
    tmp_path: Path, query: str, drained: bool
) -> None:
    rig = made(tmp_path, "pairs")
    feed(rig, batches=3)
    rig.revise("names", names((1, "uno"), (3, "tres")))
    if drained:
        rig.runtime.step(why="drain", drain=True)
    rig.change(text("pairs", query))
    found = rig.verify(query)
    assert (found.equal, found.rows, found.note) == (True, 0, "nothing is final yet")
    rig.revise("names", names((1, "un"), (3, "tres")))
    feed(rig, batches=5, first=3)
    assert (found := rig.verify(query)).equal, found.differences
    assert found.rows > 3
    rig.runtime.step(why="drain", drain=True)
    rig.revise("names", names((1, "ein"), (3, "drei")))
    feed(rig, batches=3, first=12)
    assert (found := rig.verify(query)).equal, found.differences
    rig.stop()


@pytest.mark.parametrize("query", ["listed", "listings"])
@pytest.mark.parametrize("stops", [False, True])
def test_a_version_read_while_a_stream_was_idle_is_told_once(
    tmp_path: Path, query: str, stops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1)
    rig = made(tmp_path, query)
    rig.ingest("sent", rows((1, 1, 0), (2, 2, 3)))
    rig.runtime.step(why="idle", watermarks={"sent": micros(START) + 6 * SECOND})
    rig.revise("names", names((1, "uno"), (2, "two")))
    rig.runtime.step(why="drain", drain=True)
    assert (found := rig.verify(query)).equal, found.differences
    if stops:
        rig.restart(text(query))
    rig.ingest("sent", rows((1, 1, 20)))
    rig.ingest("sent", rows((1, 1, 40)))
    assert (found := rig.verify(query)).equal, found.differences
    rig.stop()


@pytest.mark.parametrize("stops", [False, True])
def test_a_version_that_a_drain_of_another_stream_told_of_is_told_once(
    tmp_path: Path, stops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 1)
    rig = made(tmp_path, "listed", "pairs")
    rig.ingest("sent", rows((1, 1, 0), (2, 2, 3)))
    rig.ingest("acks", rows((1, 1, 1)))
    rig.runtime.step(why="drain", drain=True)
    rig.revise("names", names((1, "uno"), (2, "two")))
    rig.ingest("acks", rows((1, 1, 2)))
    rig.runtime.step(why="drain", drain=True)
    if stops:
        rig.restart(text("listed", "pairs"))
    rig.ingest("sent", rows((1, 1, 20)))
    rig.ingest("acks", rows((1, 1, 20)))
    told = [row for row in rows_of(rig.results("listed")) if "uno" in row and row[-1] is None]
    assert len(told) == 1, told
    rig.stop()


@pytest.mark.parametrize("query", ["listed", "listings"])
def test_what_a_table_becomes_right_after_a_query_came_is_a_change(tmp_path: Path, query: str) -> None:
    rig = made(tmp_path, "pairs")
    rig.ingest("sent", rows((1, 1, 0), (2, 2, 3)))
    rig.ingest("acks", rows((1, 1, 1)))
    rig.change(text("pairs", query))
    rig.ingest("acks", rows((1, 1, 2)))
    rig.revise("names", names((1, "uno"), (2, "two")))
    rig.ingest("acks", rows((1, 1, 2.5)))
    rig.ingest("sent", rows((1, 1, 20)))
    rig.ingest("sent", rows((1, 1, 40)))
    assert (found := rig.verify(query)).equal, found.differences
    rig.stop()
