"""The ingest log and the answer log: what was committed is there, once, or the damage is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.stores import on_disk
from weft.errors import RunError
from weft.log.answers import AnswerLog
from weft.log.bundle import write_bundle
from weft.log.home import Home
from weft.log.ingest import IngestLog


def table(*values: int) -> pa.Table:
    return pa.table({"v": pa.array(values, pa.int64()), "s": [f"k{value}" for value in values]})


WIDE = pa.table({"x": pa.array(range(50_000)), "d": pa.array(["a", "b"] * 25_000).dictionary_encode()})


def _load_again(home: Home) -> None:
    log = IngestLog(home, "s")
    log.load(log.records()[1], "a")


def files(log: IngestLog) -> list[str]:
    return sorted(os.listdir(on_disk(log.directory)))


def test_tables_come_back_as_they_were(home: Home) -> None:
    nested = pa.table({"l": [[1], None], "t": pa.array([1, None], pa.timestamp("us", "UTC"))})
    tables = {"a": table(1, 2), "empty": table(), "nested": nested, "wide": WIDE}
    IngestLog(home, "s").commit(0, tables, {"epoch": 1})
    log = IngestLog(home, "s")
    (record,) = log.records()
    assert (record.batch, record.stream, dict(record.meta)) == (0, "s", {"epoch": 1})
    for name, expected in tables.items():
        assert log.load(record, name).equals(expected)
    assert {name: record.data.rows(name) for name in record.tables} == {
        "a": 2,
        "empty": 0,
        "nested": 2,
        "wide": 50_000,
    }


def test_chunked_and_sliced_tables_come_back(home: Home) -> None:
    chunked = pa.concat_tables([table(1, 2), table(3)]).slice(1)
    log = IngestLog(home, "s")
    assert log.load(log.commit(0, {"t": chunked}, {}), "t").equals(table(2, 3))


def test_a_batch_costs_one_data_file_and_one_record(home: Home) -> None:
    log = IngestLog(home, "s")
    log.commit(0, {"a": table(1), "b": table(2)}, {})
    assert [name[12:13] for name in files(log)] == ["-", "."]


def test_the_first_record_stays_in_force(home: Home) -> None:
    log = IngestLog(home, "s")
    first = log.commit(0, {"a": table(1)}, {"n": 1})
    again = log.commit(0, {"a": table(2)}, {"n": 2})
    assert again == first == log.find(0)
    assert log.load(again, "a").equals(table(1))
    assert len(files(log)) == 2


def test_a_record_of_another_writer_is_adopted(home: Home) -> None:
    mine, other = IngestLog(home, "s"), IngestLog(home, "s")
    first = other.commit(0, {"a": table(1)}, {"n": 1})
    record = mine.commit(0, {"a": table(2)}, {"n": 2})
    assert record == first
    assert mine.load(record, "a").equals(table(1))
    assert len(files(mine)) == 2


@pytest.mark.parametrize(
    ("known", "given"), [({"spark": "a"}, {"spark": "b"}), ({"offsets": "1"}, {"offsets": "2"})]
)
def test_a_batch_of_another_checkpoint_is_refused(
    home: Home, known: dict[str, str], given: dict[str, str]
) -> None:
    log = IngestLog(home, "s")
    log.commit(0, {}, known)
    for call in (lambda: log.commit(0, {}, given), lambda: log.find(0, given)):
        with pytest.raises(RunError) as caught:
            call()
        assert caught.value.code == "checkpoint-of-another-log"
    assert log.find(0, known) is not None


def test_batches_follow_one_another(home: Home) -> None:
    log = IngestLog(home, "s")
    for wrong in (1, 7):
        with pytest.raises(RunError, match="cannot follow"):
            log.commit(wrong, {}, {})
    log.commit(0, {}, {})
    with pytest.raises(RunError, match="2 cannot follow 0"):
        log.commit(2, {}, {})
    assert log.next == 1


def test_expiry_keeps_the_newest_and_remembers(home: Home) -> None:
    log = IngestLog(home, "s")
    for batch in range(5):
        log.commit(batch, {"a": table(batch)}, {"b": batch})
    assert log.expire(2) == 3
    assert log.expire(2) == 0
    assert [record.batch for record in log.records()] == [3, 4]
    assert (log.first, log.next, log.reaches(2), log.reaches(1)) == (3, 5, True, False)
    assert log.find(2) is None
    assert log.expire(100) == 1
    assert files(log)[0].startswith("000000000004-")
    again = IngestLog(home, "s")
    assert [record.meta["b"] for record in again.records()] == [4]
    assert (again.first, again.next) == (4, 5)
    assert again.load(again.records()[0], "a").equals(table(4))


def test_what_a_crash_left_is_swept_and_nothing_else(home: Home) -> None:
    log = IngestLog(home, "s")
    log.commit(0, {"a": table(1)}, {})
    log.commit(1, {"a": table(2)}, {})
    kept = files(log)
    for name in (
        "000000000001-1.ffffffff.arrow",
        "000000000002-1.ffffffff.arrow",
        "000000000002.json.ab.tmp",
    ):
        (on_disk(log.directory) / name).write_bytes(b"half")
    again = IngestLog(home, "s")
    # Without a lock, another may be about to write the record of the next number.
    left = ["000000000002-1.ffffffff.arrow"] if home.is_remote else []
    assert files(again) == sorted(kept + left)
    assert again.load(again.records()[1], "a").equals(table(2))


def test_expiry_does_not_touch_a_commit_under_way(home: Home) -> None:
    log = IngestLog(home, "s")
    for batch in range(3):
        log.commit(batch, {"a": table(batch)}, {})
    under_way = on_disk(log.directory) / "000000000003-1.ffffffff.arrow"
    under_way.write_bytes(b"half")
    log.expire(1)
    assert under_way.exists()


@pytest.mark.parametrize(
    "damage", ["missing", "short", "altered", "longer record", "gone record", "first record"]
)
def test_damage_is_named(home: Home, damage: str) -> None:
    log = IngestLog(home, "s")
    for batch in range(3):
        log.commit(batch, {"a": table(1, 2, 3)}, {})
    record = log.records()[1]
    data, described = on_disk(log.directory) / record.data.files[0], on_disk(log.path_of(1))
    match damage:
        case "missing":
            data.unlink()
        case "short":
            data.write_bytes(data.read_bytes()[:-1])
        case "altered":
            content = bytearray(data.read_bytes())
            content[len(content) // 2] ^= 1
            data.write_bytes(content)
        case "longer record":
            described.write_text(json.dumps(json.loads(described.read_text()), indent=1))
        case "gone record":
            described.unlink()
        case "first record":
            described = on_disk(log.path_of(0))
            described.unlink()
    with pytest.raises(RunError) as caught:
        _load_again(home)
    assert caught.value.code == "damaged-state"
    assert (described if "record" in damage else data).name in str(caught.value)


def test_a_newest_record_that_is_gone_does_not_pass_for_an_empty_log(home: Home) -> None:
    log = IngestLog(home, "s")
    for batch in range(3):
        log.commit(batch, {}, {})
    log.expire(1)
    log._series.path_of(2).unlink()
    with pytest.raises(RunError, match=r"000000000002\.json"):
        IngestLog(home, "s")


def test_a_full_disk_loses_nothing_that_was_committed(tmp_path: Path) -> None:
    script = """
import os, resource, sys
import pyarrow as pa
from tests.stores import on_disk
from weft.errors import RunError
from weft.log.home import Home
from weft.log.ingest import IngestLog
home = Home.open(sys.argv[1])
log = IngestLog(home, "s")
small, large = pa.table({"x": [1]}), pa.table({"x": list(range(100_000))})
log.commit(0, {"t": small}, {})
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, unlimited[1]))
for _ in range(3):
    try:
        log.commit(1, {"t": large}, {})
        raise SystemExit("written on a full disk")
    except RunError as error:
        assert error.code == "disk-full", error
assert len(os.listdir(log._series.directory)) == 2, os.listdir(log._series.directory)
resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
log.commit(1, {"t": large}, {})
again = IngestLog(home, "s")
assert [again.load(record, "t").num_rows for record in again.records()] == [1, 100_000]
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "h")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_reader_follows_the_owner(home: Home) -> None:
    log = IngestLog(home, "s")
    log.commit(0, {}, {})
    reader = IngestLog(Home.look(home.path), "s")
    log.commit(1, {"a": table(5)}, {})
    log.expire(0)
    assert reader.next == 1
    reader.refresh()
    assert (reader.first, reader.next) == (1, 2)
    assert reader.load(reader.records()[0], "a").equals(table(5))


# -- answers


def test_a_step_is_pending_between_intent_and_record(home: Home) -> None:
    log = AnswerLog(home)
    assert log.pending() is None
    assert log.intend(0, {"why": "batch"}).meta == {"why": "batch"}
    again = AnswerLog(home)
    pending = again.pending()
    assert pending is not None
    assert (pending.step, dict(pending.meta)) == (0, {"why": "batch"})
    assert again.intend(0, {"why": "other"}).meta == {"why": "batch"}
    again.commit(0, {"q@1": table(1)}, {})
    assert again.pending() is None
    assert AnswerLog(home).pending() is None


def test_answers_are_read_by_query(home: Home) -> None:
    log = AnswerLog(home)
    for step in range(3):
        log.intend(step, {})
        log.commit(step, {"a@1": table(step), "b@1": table(), "c@1": table(step, step)}, {"s": step})
    record = log.records(after=1)[0]
    assert (record.step, sorted(record.tables)) == (2, ["a@1", "c@1"])
    assert log.read(record, "c@1").equals(table(2, 2))
    assert log.read(record, "b@1") is None
    assert log.last == record


def test_expired_steps_go_with_their_intents(home: Home) -> None:
    log = AnswerLog(home)
    for step in range(4):
        log.intend(step, {})
        log.commit(step, {"a": table(step)}, {})
    log.intend(4, {"n": 4})
    assert log.expire(2) == 3
    again = AnswerLog(home)
    assert (again.first, again.next) == (3, 4)
    assert again.pending() is not None
    assert (
        len(os.listdir(on_disk(home.path) / "answers" / "intents")) == 3
    )  # steps 3 and 4, and how far it is expired


@pytest.mark.parametrize("lost", ["intents/000000000002.json", "000000000002.json"])
def test_a_lost_intent_or_record_is_noticed(home: Home, lost: str) -> None:
    log = AnswerLog(home)
    for step in range(3):
        log.intend(step, {})
        log.commit(step, {}, {})
    log.intend(3, {})
    if lost.startswith("intents"):
        (home.path / "answers" / "intents" / "000000000003.json").unlink()
    (home.path / "answers" / lost).unlink()
    with pytest.raises(RunError, match=r"000000000002\.json"):
        AnswerLog(home)


def test_a_table_may_lie_in_pieces_that_others_wrote(home: Home) -> None:
    log = IngestLog(home, "s")
    directory, stem = log._series.directory, log._series.stem(0)
    written = [
        write_bundle(directory, stem, {"a": table(n), "b": table(10 + n)}, "ingest.data") for n in (1, 2)
    ]
    stray = write_bundle(directory, stem, {"a": table(3)}, "ingest.data")  # of an attempt that was given up
    log.commit(0, {"own": table(7)}, {}, written)
    again = IngestLog(home, "s")
    (record,) = again.records()
    assert again.load(record, "a").equals(pa.concat_tables([table(1), table(2)]))
    assert again.load(record, "b").num_rows == record.data.rows("b") == 2
    assert again.load(record, "own").equals(table(7))
    assert set(record.data.files).isdisjoint(stray.files)
    assert set(files(again)) == {*record.data.files, "000000000000.json"}
