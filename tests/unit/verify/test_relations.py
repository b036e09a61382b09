"""What `verify` says of relations: equal where they are, else which rows are wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from tests.unit.verify.programs import QUERIES, START, STREAMS, feed, made, names, rows, text
from tests.unit.verify.rig import Rig, mutated
from weft.engine import runtime
from weft.engine.shape import Done, Job
from weft.log.ingest import IngestLog, IngestRecord
from weft.testing.compare import Row
from weft.testing.values import micros, rows_of, show_row
from weft.times import SECOND
from weft.verify import pieces


@pytest.fixture(params=list(QUERIES))
def query(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def rig(tmp_path: Path, query: str) -> Iterator[Rig]:
    rig = made(tmp_path, query)
    yield rig
    rig.stop()


def test_what_was_told_is_equal(rig: Rig, query: str) -> None:
    feed(rig)
    for from_source in (False, True):
        found = rig.verify(query, from_source=from_source)
        assert (found.equal, found.differences, found.note) == (True, [], "")
        assert found.rows > 3


def shown(query: str, row: Row) -> str:
    """How an answer is named; without its float, which may be another one in its last digits."""
    match query:
        case "slid" | "begun" | "listings":
            return show_row(row)
        case "ended":
            return show_row(("ends", *row))
        case "changes" | "relisted":
            return show_row(("begins" if row[0] == "+" else "ends", *row[1:]))
        case "counted":
            return show_row(("begins", row[0], *row[2:-1]))
        case _:
            return show_row(("begins", row[0], *row[2:]))


def test_a_row_that_is_lost_or_doubled_is_named(rig: Rig, query: str) -> None:
    feed(rig)
    answers = rig.results(query)
    row = shown(query, rows_of(answers)[2])
    for lost, doubled, sign in (([2], [], "-"), ([], [2], "+")):
        found = rig.verify(query, mutated(answers, lost, doubled))
        assert not found.equal
        assert any(f"{line} ".startswith(f"  {sign} {row} ") for line in found.differences), found.differences


def test_a_drained_run_is_judged_to_its_end(rig: Rig, query: str) -> None:
    feed(rig, batches=4)
    rig.revise("names", names((1, "uno"), (3, "tres")))
    rig.runtime.step(why="drain", drain=True)
    assert (found := rig.verify(query)).equal, found.differences
    last = len(rig.results(query)) - 1
    assert not rig.verify(query, mutated(rig.results(query), lost=[last])).equal
    rig.revise("names", names((1, "un"), (3, "tres"), (4, "quatre")))
    feed(rig, batches=3, first=6)
    assert (found := rig.verify(query)).equal, found.differences


def test_what_a_watermark_had_passed_before_a_drain_is_not_told_again(rig: Rig, query: str) -> None:
    feed(rig, batches=3)
    ahead = micros(START) + 9 * SECOND
    rig.runtime.step(why="idle", watermarks={"sent": ahead, "acks": ahead})
    rig.runtime.step(why="drain", drain=True)
    feed(rig, batches=4, first=6)
    assert (found := rig.verify(query)).equal, found.differences


def test_many_pieces_say_what_one_does(rig: Rig, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    feed(rig)
    monkeypatch.setattr(pieces, "MOST", 40)
    told: list[str] = []
    found = rig.verify(query, tell=told.append)
    assert (found.equal, found.differences) == (True, [])
    assert told[3].startswith("3 of ")
    assert not rig.verify(query, mutated(rig.results(query), lost=[3])).equal


def test_pieces_without_a_row_of_a_part_are_not_asked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "MOST", 200)
    rig = made(tmp_path, "pairs")
    for part in range(3):
        feed(rig, batches=3, first=20 * part)
        rig.runtime.step(why="drain", drain=True)
    told: list[str] = []
    assert rig.verify("pairs", tell=told.append).equal
    assert len(told) > 4
    assert rig.asked == len(told) + 2  # a piece lies across each of two drains
    rig.stop()


def test_a_changed_value_is_missing_and_too_much(tmp_path: Path) -> None:
    rig = made(tmp_path, "pairs")
    rig.ingest("sent", rows((1, 5, 0), (2, 6, 1)))
    rig.ingest("acks", rows((1, 7, 1), (2, 8, 2)))
    rig.ingest("sent", rows((3, 0, 20)))
    rig.ingest("acks", rows((3, 0, 30)))
    answers = rig.results("pairs")
    spoilt = answers.set_column(4, "m", pa.array([9, *answers.column("m").to_pylist()[1:]]))
    assert rig.verify("pairs", spoilt).differences == [
        "  - begins 10:00:01 1 5 7",
        "  - ends 10:00:04 1 5 7",
        "  + begins 10:00:01 1 5 9",
        "  + ends 10:00:04 1 5 9",
    ]
    rig.stop()


def test_rows_later_than_the_delay_count_from_the_watermark_on(tmp_path: Path) -> None:
    rig = made(tmp_path, "pairs", "missing")
    rig.ingest("sent", rows((1, 1, 0), (2, 1, 9)))
    rig.ingest("acks", rows((1, 1, 1), (2, 1, 5), (2, 1, 9)))
    rig.ingest("sent", rows((2, 2, 4), (2, 3, 5.5), (1, 9, 0.5)))  # the last is in no window any more
    rig.ingest("sent", rows((3, 1, 20)))
    rig.ingest("acks", rows((3, 1, 20)))
    assert [rig.runtime.tally.get("late", f"{query}@1") for query in ("pairs", "missing")] == [3, 3]
    for query in ("pairs", "missing"):
        assert (found := rig.verify(query)).equal, found.differences
        assert not rig.verify(query, from_source=True).equal  # the source does not tell that they were late
    rig.stop()


def test_a_query_that_was_added_later_sees_what_came_after(tmp_path: Path) -> None:
    rig = made(tmp_path, "pairs")
    feed(rig, batches=3)
    rig.change(text("pairs", "missing", "slid"))
    feed(rig, batches=5, first=4)
    for query in ("pairs", "missing", "slid"):
        assert rig.verify(query).rows
        assert (found := rig.verify(query)).equal, found.differences
    rig.stop()


def test_what_is_no_longer_kept_is_said_and_the_rest_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "SNAPSHOT_EVERY", 3)
    rig = made(tmp_path, *QUERIES)
    feed(rig, batches=16)
    assert rig.runtime.logs["sent"].first > 0
    for query in QUERIES:
        found = rig.verify(query)
        assert (found.equal, found.differences) == (True, []), query
        assert found.note.startswith("rows that matter before 2025-01-01 10:00:")
        assert found.note.endswith("are no longer kept")
    answers = rig.results("pairs")
    judged = [at for at, row in enumerate(rows_of(answers)) if row[0] > START + timedelta(seconds=27)]
    assert not rig.verify("pairs", mutated(answers, lost=judged[:1])).equal
    assert rig.verify("pairs", mutated(answers, lost=[0])).equal
    rig.stop()


def test_answers_that_may_have_gone_are_not_missed(tmp_path: Path) -> None:
    rig = made(tmp_path, "pairs")
    feed(rig)
    answers = rig.results("pairs")
    assert not rig.verify("pairs", mutated(answers, lost=[0])).equal
    found = rig.verify("pairs", mutated(answers, lost=[0]), retain=5 * SECOND)
    assert found.equal
    assert "by RETAIN" in found.note
    rig.ingest("acks", rows((1, 1, 18)), step=False)
    rig.ingest("sent", rows((1, 1, 20)), step=False)  # sinks go by all that was taken in
    gone = [at for at, row in enumerate(rows_of(answers)) if row[0] < START + timedelta(seconds=13)]
    found = rig.verify("pairs", mutated(answers, lost=gone), retain=5 * SECOND)
    assert (found.equal, found.differences) == (True, [])
    assert found.note == "answers from before 2025-01-01 10:00:13 may have gone, by RETAIN"
    rig.stop()


def test_batches_that_no_step_has_seen_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = made(tmp_path, "pairs")
    feed(rig, batches=2)
    rig.ingest("sent", rows((1, 1, 20)), step=False)
    read: list[tuple[str, int]] = []
    load = IngestLog.load

    def noted(log: IngestLog, record: IngestRecord, name: str) -> pa.Table:
        read.append((log.stream, record.batch))
        return load(log, record, name)

    monkeypatch.setattr(IngestLog, "load", noted)
    assert rig.verify("pairs").equal
    assert read == [("sent", 0), ("sent", 1), ("acks", 0), ("acks", 1)]
    rig.stop()


def test_before_anything_is_final_it_is_equal_and_says_so(tmp_path: Path) -> None:
    rig = made(tmp_path, "pairs")
    rig.ingest("sent", rows((1, 1, 0)))
    found = rig.verify("pairs")
    assert (found.equal, found.rows) == (True, 0)
    assert "nothing is final yet" in found.note
    rig.stop()


class Evaluating(Rig):
    """One where Spark would evaluate what the kernels cannot; of no pairs there is nothing to evaluate."""

    @staticmethod
    def finisher(jobs: Sequence[Job]) -> Sequence[Done]:
        assert not jobs
        return []


def test_what_is_approximate_is_not_judged(tmp_path: Path) -> None:
    asked = QUERIES["counted"].replace("COUNT(*)", "APPROX_COUNT_DISTINCT(a.n)")
    rig = Evaluating(tmp_path / "home", f"{STREAMS} CREATE QUERY about AS {asked};")
    rig.ingest("sent", rows((1, 1, 0)))
    found = rig.verify("about")
    assert (found.equal, found.differences) == (False, [])
    assert found.note == "approx_count_distinct is approximate, and no SQL says what it is"
    rig.stop()
