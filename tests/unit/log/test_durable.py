"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from weft.errors import Bug, RunError
from weft.log import durable, outbox
from weft.log.durable import NewFile, create_once, fault, read_record, record_chunks, write_file, write_new
from weft.log.paths import AnyPath


def test_the_first_writer_wins(place: AnyPath, tmp_path: Path) -> None:
    path = place / "record"
    assert create_once(path, [b"first"], "ingest.record")
    assert not create_once(path, [b"second"], "ingest.record")
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["record"]


def test_the_first_writer_wins_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "not here")

    monkeypatch.setattr(os, "link", no_links)
    assert create_once(tmp_path / "record", [b"first"], "ingest.record")
    assert not create_once(tmp_path / "record", [b"second"], "ingest.record")
    assert (tmp_path / "record").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["record"]


@pytest.mark.parametrize("in_memory", [0, 10, 1000])
def test_a_file_in_pieces(
    place: AnyPath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    aside = tmp_path / "aside"  # where temporary files lie
    aside.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(aside))
    monkeypatch.setattr(outbox, "IN_MEMORY", in_memory)
    file, other = NewFile(place / "f", "answers.data"), NewFile(place / "g", "answers.data")
    for piece in range(8):
        for each in (file, other):
            each.put([b"piece ", memoryview(str(piece).encode())])
    file.close()
    other.give_up()
    assert (place / "f").read_bytes() == b"".join(b"piece %d" % piece for piece in range(8))
    assert not (place / "g").exists()
    assert os.listdir(aside) == []


def test_write_file_replaces(place: AnyPath, tmp_path: Path) -> None:
    write_file(place / "f", [b"a", b"b"], "home.owner")
    write_file(place / "f", [b"c"], "home.owner")
    assert (place / "f").read_bytes() == b"c"
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "disk-full"),
        (errno.EDQUOT, "disk-full"),
        (errno.EROFS, "not-writable"),
        (errno.EACCES, "not-writable"),
        (errno.EIO, "write-failed"),
    ],
)
@pytest.mark.parametrize("write", [write_new, write_file, create_once])
def test_a_failed_write_leaves_nothing_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: object, number: int, code: str
) -> None:
    def fails(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(durable.os, "fsync", fails)
    with pytest.raises(RunError) as caught:
        write(tmp_path / "f", [b"bytes"], "ingest.data")  # type: ignore[operator]
    assert caught.value.code == code
    assert str(tmp_path / "f") in str(caught.value)
    assert os.strerror(number) in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_a_record_survives_the_round_trip(place: AnyPath) -> None:
    body = {
        "number": 3,
        "meta": {"é": [1.5, None, float("inf")], "text": 'x",\n"checksum": "y'},
        "none": None,
    }
    write_file(place / "r.json", record_chunks(body), "ingest.record")
    assert read_record(place / "r.json") == body


def test_every_altered_byte_of_a_record_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    data = b"".join(record_chunks({"number": 3, "meta": {"max": 17}}))
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(RunError, match=r"r\.json"):
            read_record(path)
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(RunError, match=r"r\.json"):
            read_record(path)


def test_a_missing_record_is_named(place: AnyPath) -> None:
    with pytest.raises(RunError, match=r"gone\.json.*missing"):
        read_record(place / "gone.json")


def test_a_fault_kills_at_its_nth_hit() -> None:
    script = (
        "from weft.log.durable import fault\n"
        "for n in range(5): fault('ingest.data.after'); print(n, flush=True)"
    )
    env = os.environ | {"WEFT_FAULT": "ingest.data.after:3"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (-9, "0\n1\n")


def test_an_unknown_fault_point_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_FAULT", "elsewhere")
    with pytest.raises(Bug, match="no fault point"):
        fault("ingest.datum.after")
