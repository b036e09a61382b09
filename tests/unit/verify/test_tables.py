"""What `verify` says of relations that read tables: as far as each drain knew these, and since when."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.verify.programs import START, feed, made, names, text
from weft.testing.values import micros
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
