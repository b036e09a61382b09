"""Homes elsewhere: what is refused and how it is said, what failures leave, who may write."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import fsspec
import pyarrow as pa
import pytest

from tests.stores import Bucket, Share, package, url
from weft.errors import RunError
from weft.log.durable import create_once, read_record, record_chunks, write_file
from weft.log.home import Home
from weft.log.ingest import IngestLog
from weft.log.paths import hadoop_url, locate
from weft.log.remote import RemotePath

TABLE = pa.table({"v": [1, 2, 3]})


@pytest.fixture
def bucket(tmp_path: Path) -> str:
    return url("bucket", tmp_path)


def refused(call: object) -> RunError:
    with pytest.raises(RunError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.help
    return caught.value


# -- naming a place


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("s33://bucket/app", "unknown-scheme", "did you mean `s3`?"),
        ("nowhere://bucket/app", "unknown-scheme", "or another that fsspec knows"),
        ("s3:/bucket/app", "bad-url", "write s3://bucket/app"),
        ("hdfs:app", "bad-url", "write hdfs://app"),
        ("bucket://", "bad-url", "names no directory"),
        ("simplecache::bucket:///x/y", "bad-url", "only what comes after"),
        ("bucket://me:secret@host/x", "bad-url", "environment"),
        ("bucket://x/app*", "bad-url", "without them"),
        ("file://host/x", "bad-url", "file:///directory"),
        ("dropbox://x/y", "missing-package", "pip install dropboxdrivefs"),
    ],
)
def test_a_url_that_leads_nowhere_is_refused(text: str, code: str, says: str) -> None:
    error = refused(lambda: locate(text))
    assert error.code == code
    assert says in str(error)
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    ("text", "path"),
    [("file:///a/b%20c", "/a/b c"), ("file://localhost/a", "/a"), ("a:b/c", "a:b/c")],
)
def test_what_is_here_is_a_path(text: str, path: str) -> None:
    assert locate(text) == Path(path)


def test_spark_has_its_own_names() -> None:
    there = locate("memory://bucket/app")
    assert isinstance(there, RemotePath)
    assert hadoop_url(there / "checkpoints") == "memory://bucket/app/checkpoints"
    assert hadoop_url(Path("/x")) == "/x"


def test_paths_behave_as_paths(bucket: str) -> None:
    home = locate(bucket + "/a/")
    assert home == locate(bucket) / "a"
    assert str(home / "b/c") == f"{bucket}/a/b/c"
    assert (home / "b" / "c").parent == home / "b"
    assert home.name == "a"
    assert sorted([home / "b", home / "a"])[0].name == "a"


# -- failures


@pytest.mark.parametrize(
    ("error", "reading", "writing"),
    [
        (ConnectionError("host is down"), "unreachable", "write-failed"),
        (TimeoutError(), "unreachable", "write-failed"),
        (PermissionError(13, "Forbidden"), "no-access", "not-writable"),
        (RuntimeError("of a kind\nof its own"), "unreachable", "write-failed"),
    ],
)
def test_a_failure_names_the_place_and_its_reason(
    bucket: str, monkeypatch: pytest.MonkeyPatch, error: Exception, reading: str, writing: str
) -> None:
    monkeypatch.setattr(Bucket, "down", {"/h/": error})
    path = locate(bucket) / "h" / "r.json"
    for code, call in (
        (reading, lambda: read_record(path)),
        (reading, path.exists),
        (reading, (path / "x").parent.names),
        (writing, lambda: write_file(path, [b"x"], "home.owner")),
        (writing, lambda: create_once(path, [b"x"], "home.owner")),
    ):
        found = refused(call)
        assert found.code == code
        assert "h/r.json" in found.what
        assert " ".join(str(error).split()) in found.what


@pytest.mark.parametrize("scheme", ["bucket", "share"])
@pytest.mark.parametrize("failing", [".arrow", "000000000001.json"])
def test_a_write_that_fails_loses_nothing_that_was_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, failing: str
) -> None:
    place = url(scheme, tmp_path) + "/h"
    with Home.open(place) as home:
        log = IngestLog(home, "s")
        log.commit(0, {"t": TABLE}, {})
        with monkeypatch.context() as patched:
            patched.setattr(Bucket, "down", {failing: ConnectionError("gone")})
            assert refused(lambda: log.commit(1, {"t": TABLE}, {})).code == "write-failed"
        assert log.next == 1
        log.commit(1, {"t": TABLE}, {})
    with Home.open(place) as home:
        again = IngestLog(home, "s")
        assert [again.load(record, "t").num_rows for record in again.records()] == [3, 3]


def test_a_record_that_came_through_although_it_failed_is_ours(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Bucket.pipe_file

    def fails_after(self: Bucket, path: str, value: bytes, mode: str = "overwrite") -> None:
        put(self, path, value, mode)
        if mode == "create":
            raise TimeoutError("no answer")

    monkeypatch.setattr(Bucket, "pipe_file", fails_after)
    with Home.open(bucket + "/h") as home:
        log = IngestLog(home, "s")
        record = log.commit(0, {"t": TABLE}, {})
        assert log.load(record, "t").equals(TABLE)


def test_a_store_that_cannot_create_once_is_written_all_the_same(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Bucket.pipe_file

    def only_overwrites(self: Bucket, path: str, value: bytes, mode: str = "overwrite") -> None:
        if mode == "create":
            raise NotImplementedError
        put(self, path, value)

    monkeypatch.setattr(Bucket, "pipe_file", only_overwrites)
    path = locate(bucket) / "record"
    assert create_once(path, [b"first"], "ingest.record")
    assert not create_once(path, [b"second"], "ingest.record")
    assert path.read_bytes() == b"first"


@pytest.mark.parametrize("times", range(1, 6))
def test_where_a_move_does_not_replace_a_file_is_whole_at_every_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    path = locate(url("share", tmp_path)) / "f"
    write_file(path, record_chunks({"n": 1}), "home.owner")
    calls = 0

    def breaks(name: str) -> None:
        call = getattr(Share, name)

        def counted(self: Share, *given: str) -> None:
            nonlocal calls
            calls += 1
            if calls >= times:
                raise ConnectionError("gone")
            call(self, *given)

        monkeypatch.setattr(Share, name, counted)

    for name in ("mv", "rm_file"):
        breaks(name)
    with suppress(RunError):
        write_file(path, record_chunks({"n": 2}), "home.owner")
    monkeypatch.undo()
    assert read_record(path)["n"] in (1, 2)
    write_file(path, record_chunks({"n": 3}), "home.owner")
    assert read_record(path) == {"n": 3}
    path.unlink()
    assert not path.exists()


# -- owners


def test_the_newest_owner_has_it(bucket: str, tmp_path: Path) -> None:
    first = Home.open(bucket + "/h")
    log = IngestLog(first, "s")
    log.commit(0, {"t": TABLE}, {})
    script = (
        "from weft.log.home import Home\nfrom weft.log.ingest import IngestLog\n"
        f"home = Home.open({bucket + '/h'!r})\n"
        "log = IngestLog(home, 's')\nlog.commit(1, {}, {})\nprint(home.generation, log.next)"
    )
    env = package(tmp_path / "package")
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "2"]
    error = refused(lambda: log.commit(1, {}, {}))
    assert error.code == "home-taken"
    assert f"on {os.uname().nodename}" in error.because
    first.close()


def test_a_check_takes_nothing_over(bucket: str) -> None:
    with Home.open(bucket + "/h") as home:
        Home.check(bucket + "/h")
        home.check_owner()
    Home.check(bucket + "/new")
    assert not (locate(bucket) / "new").exists()


def test_data_that_the_owner_before_is_about_to_record_is_not_swept(bucket: str) -> None:
    """It may have asked who owns the home just before that was another: its record may come late."""
    with Home.open(bucket + "/h") as home:
        log = IngestLog(home, "s")
        stem = log.stem(0)
        log.commit(0, {"t": TABLE}, {"n": 1})
        (locate(bucket) / "h/ingest/s/000000000000.json").unlink()
    with Home.open(bucket + "/h") as home:
        newer = IngestLog(home, "s")
        assert newer.next == 0
        assert any(name.startswith(stem) for name in newer.directory.names())


def test_places_that_are_no_home(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("x")
    assert refused(lambda: Home.open(bucket + "/full")).code == "not-a-home"
    assert refused(lambda: Home.check(bucket + "/full")).code == "not-a-home"
    assert refused(lambda: Home.look(bucket + "/none")).code == "no-home"


def test_listings_are_not_remembered(bucket: str) -> None:
    assert isinstance(fsspec.filesystem("bucket"), Bucket)
    directory = locate(bucket) / "d"
    assert directory.names() == []
    write_file(directory / "x", [b"1"], "home.owner")
    assert directory.names() == ["x"]
    assert (directory / "x").names() == []
