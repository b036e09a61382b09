"""Files written past the page cache hold what was put, wherever the bytes went."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.log import uncached
from weft.log.uncached import Appending

ROOM = 4096


@pytest.fixture(autouse=True)
def small_rooms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncached, "_ROOM", ROOM)


def put_all(path: Path, puts: list[tuple[list[bytes], bool]]) -> bytes:
    file = Appending(path)
    for chunks, cached in puts:
        file.put(chunks, cached)
    file.settle()
    file.close()
    return b"".join(chunk for chunks, _ in puts for chunk in chunks)


def numbered(size: int) -> bytes:
    """Bytes of which no two stretches are alike."""
    return b"".join(b"%7d " % at for at in range(size // 8 + 1))[:size]


chunks = st.lists(st.integers(0, 3 * ROOM).map(numbered), max_size=4)


@given(puts=st.lists(st.tuples(chunks, st.booleans()), max_size=5))
def test_what_was_put_is_there(tmp_path_factory: pytest.TempPathFactory, puts: Any) -> None:
    path = tmp_path_factory.mktemp("files") / "f"
    whole = put_all(path, puts)
    assert path.read_bytes() == whole


PUTS = [([b"a" * 5000, memoryview(b"b" * 5000)], False), ([b"c" * 9000], False), ([b"d"], True)]


def test_a_file_system_that_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = fcntl.fcntl

    def refuses(handle: int, command: int, flags: int = 0) -> int:
        if flags & uncached._DIRECT:
            raise OSError(errno.EINVAL, "not here")
        return real(handle, command, flags)

    monkeypatch.setattr(fcntl, "fcntl", refuses)
    whole = put_all(tmp_path / "f", PUTS)
    assert (tmp_path / "f").read_bytes() == whole


def test_a_system_that_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncached, "_DIRECT", 0)
    whole = put_all(tmp_path / "f", PUTS)
    assert (tmp_path / "f").read_bytes() == whole


@pytest.mark.parametrize("taken", [-1, 0, 512, 1000])
def test_a_write_that_goes_half_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int) -> None:
    real, calls = os.write, []

    def half(handle: int, data: Any) -> int:
        calls.append(len(data))
        if len(calls) < 2:
            return real(handle, data)
        if taken < 0:
            raise OSError(errno.EINVAL, "unaligned")
        flags = fcntl.fcntl(handle, fcntl.F_GETFL)
        fcntl.fcntl(handle, fcntl.F_SETFL, flags & ~uncached._DIRECT)
        return real(handle, data[:taken]) if taken else 0

    monkeypatch.setattr(os, "write", half)
    whole = put_all(tmp_path / "f", PUTS)
    assert (tmp_path / "f").read_bytes() == whole
    assert calls == [ROOM, ROOM]


def test_a_full_disk_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Appending(tmp_path / "f")

    class Full:
        def __init__(self, real: Any) -> None:
            self.fileno, self.close = real.fileno, real.close

        def write(self, _: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        writelines = write

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    monkeypatch.setattr(file, "_file", Full(file._file))
    with pytest.raises(OSError, match="No space"):
        file.put([b"a" * 2 * ROOM], cached=False)
    file.close()
