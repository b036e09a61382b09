"""Bytes that survive a crash: written whole or not at all, and known to be on the disk when the call returns.

    write_new     a file under a name nobody else uses; half of it may stay behind after a crash, unreferenced
    write_file    a file replaced as a whole: a reader sees the old bytes or the new ones
    create_once   a file that the first writer creates, complete or absent; the second is told

Every such write has four *fault points*, at which a test kills the process: `before` anything is written, at
`half` of the bytes, when all bytes are `staged` but the name is not yet there to find, and `after`.

In a place elsewhere (weft.log.remote) the same holds by other means: there is nothing to sync, and a write
counts once the store has taken it.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import signal
import threading
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from weft.errors import Bug, RunError
from weft.log.outbox import Outbox
from weft.log.paths import AnyPath
from weft.log.remote import RemotePath
from weft.log.uncached import Appending

Chunks = Sequence[Any]  # bytes, memoryviews or Arrow buffers

WRITES = (
    "home.format",
    "home.owner",
    "ingest.data",
    "ingest.record",
    "answers.intent",
    "answers.data",
    "answers.record",
    "snapshots.data",
    "snapshots.record",
    "catalog.record",
    "ingest.expire",
    "answers.expire",
    "sink.marker",
    "sink.position",
    "sink.tail",
    "sink.seal",
)
DELETES = ("ingest.delete", "answers.delete", "snapshots.delete", "sink.delete")

_POINTS = frozenset(
    [f"{name}.{when}" for name in WRITES for when in ("before", "half", "staged", "after")]
    + [f"{name}.{when}" for name in DELETES for when in ("before", "half", "after")]
)
_hits: Counter[str] = Counter()
_hits_lock = threading.Lock()

_CHECKSUM = b',\n"checksum": "'
_NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def list_fault_points() -> tuple[str, ...]:
    """Every place where `WEFT_FAULT=name` or `name:N` (its N-th hit) kills the process."""
    return tuple(sorted(_POINTS))


def fault(name: str) -> None:
    """Die here, as by `kill -9`, if the environment asks for it."""
    if "WEFT_FAULT" in os.environ and _is_due(name):
        os.kill(os.getpid(), signal.SIGKILL)


def _is_due(name: str) -> bool:
    if name not in _POINTS:
        raise Bug("unknown-fault-point", f"no fault point is called `{name}`")
    wanted, _, nth = os.environ["WEFT_FAULT"].partition(":")
    if wanted != name:
        return False
    with _hits_lock:
        _hits[name] += 1
        return _hits[name] == int(nth or 1)


def checksum(chunks: Iterable[Any]) -> str:
    """CRC-32 of all bytes, as eight hexadecimal digits."""
    value = 0
    for chunk in chunks:
        value = zlib.crc32(chunk, value)
    return f"{value:08x}"


def write_new(path: AnyPath, chunks: Chunks, point: str) -> None:
    """Write a file under a name that is used once."""
    file = NewFile(path, point)
    file.put(chunks)
    file.close()


class NewFile:
    """A file under a name that is used once, written piece by piece; durable once it is closed.

    Elsewhere it is sent then, as a whole; until then it lies in memory, or here in a file if it is large.
    """

    def __init__(self, path: AnyPath, point: str) -> None:
        self._path, self._point = path, point
        fault(f"{point}.before")
        with writing(path):
            if isinstance(path, RemotePath):
                self._outbox = Outbox()
            else:
                self._file = Appending(path)

    def put(self, chunks: Chunks, cached: bool = True) -> None:
        """More of it; not `cached`: nobody will read it from the system's cache."""
        with writing(self._path), self._whole_or_not():
            if isinstance(self._path, RemotePath):
                self._outbox.add(chunks)
            else:
                _write(self._file, chunks, self._point, cached)

    def close(self) -> None:
        if isinstance(self._path, RemotePath):
            self._outbox.send(self._path, lambda when: fault(f"{self._point}.{when}"))
        else:
            with writing(self._path), self._whole_or_not():
                self._file.settle()
                self._file.close()
                fault(f"{self._point}.staged")
                sync_directory(self._path.parent)
        fault(f"{self._point}.after")

    def give_up(self) -> None:
        """Leave nothing behind."""
        if isinstance(self._path, RemotePath):
            self._outbox.forget()
        else:
            with suppress(OSError):  # what is left in its buffer
                self._file.close()
            with suppress(OSError):
                self._path.unlink()

    @contextmanager
    def _whole_or_not(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self.give_up()
            raise


def write_file(path: AnyPath, chunks: Chunks, point: str) -> None:
    """Replace the file as a whole."""
    if isinstance(path, RemotePath):
        return _send(path, chunks, point)
    fault(f"{point}.before")
    with writing(path), _staged(path, chunks, point) as staged:
        os.replace(staged, path)
        sync_directory(path.parent)
    fault(f"{point}.after")


def create_once(path: AnyPath, chunks: Chunks, point: str) -> bool:
    """Create the file unless it exists; false if another writer was first."""
    fault(f"{point}.before")
    if isinstance(path, RemotePath):
        created = path.put_once(b"".join(chunks), lambda when: fault(f"{point}.{when}"))
    else:
        with writing(path), _staged(path, chunks, point) as staged:
            created = _link_once(staged, path)
            sync_directory(path.parent)
    fault(f"{point}.after")
    return created


def replace_from(staging: AnyPath, path: AnyPath, chunks: Chunks, point: str, sync: bool) -> None:
    """Replace the file as a whole by one staged in another directory; `sync`: and wait for the disk.

    Elsewhere it is just sent, and waited for.
    """
    if isinstance(path, RemotePath):
        return _send(path, chunks, point)
    assert isinstance(staging, Path)
    fault(f"{point}.before")
    staged = staging / f".{secrets.token_hex(6)}.staged"
    with writing(path):
        try:
            _put(staged, chunks, point, sync)
            fault(f"{point}.staged")
            os.replace(staged, path)
        finally:
            with suppress(FileNotFoundError):
                staged.unlink()
        if sync:
            sync_directory(path.parent)
    fault(f"{point}.after")


def show(path: AnyPath, text: str) -> None:
    """Replace a file that is there to be looked at, and is made anew all the time."""
    if isinstance(path, RemotePath):
        return path.put(text.encode())
    staged = path.with_suffix(".tmp")
    with writing(path):
        staged.write_text(text)
        staged.replace(path)


def entries(directory: AnyPath) -> list[str]:
    """The names in a directory; none if it is not there."""
    if isinstance(directory, RemotePath):
        return directory.names()
    try:
        return os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []


def remove(directory: AnyPath, names: Iterable[str]) -> None:
    """Delete files that nothing refers to, as far as that can be done: what stays is swept another time."""
    if isinstance(directory, RemotePath):
        return directory.remove(names)
    for name in names:
        with suppress(OSError):
            (directory / name).unlink()


def _send(path: RemotePath, chunks: Chunks, point: str) -> None:
    fault(f"{point}.before")
    path.put(b"".join(chunks), lambda when: fault(f"{point}.{when}"))
    fault(f"{point}.after")


@contextmanager
def _staged(path: Path, chunks: Chunks, point: str) -> Iterator[Path]:
    staged = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        _put(staged, chunks, point)
        fault(f"{point}.staged")
        yield staged
    finally:
        with suppress(FileNotFoundError):
            staged.unlink()


def _put(path: Path, chunks: Chunks, point: str, sync: bool = True) -> None:
    try:
        with closing(Appending(path)) as file:
            _write(file, chunks, point)
            if sync:
                file.settle()
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise


def _write(file: Appending, chunks: Chunks, point: str, cached: bool = True) -> None:
    if "WEFT_FAULT" in os.environ and os.environ["WEFT_FAULT"].startswith(f"{point}.half"):
        whole = b"".join(chunks)
        file.put([whole[: len(whole) // 2]], cached)
        file.flush()
        fault(f"{point}.half")
        file.put([whole[len(whole) // 2 :]], cached)
    else:
        file.put(chunks, cached)


def _link_once(staged: Path, path: Path) -> bool:
    try:
        os.link(staged, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if path.exists():  # no hard links here: the lock on the home is what keeps a second writer away
            return False
        os.rename(staged, path)
    return True


def make_directory(path: AnyPath) -> None:
    """Make a directory and those above it, durably."""
    if isinstance(path, RemotePath):
        return path.make_directory()
    missing = [parent for parent in (path, *path.parents) if not parent.exists()]
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
        for made in missing:
            sync_directory(made.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot, and so does it by itself
            raise
    finally:
        os.close(handle)


@contextmanager
def writing(path: AnyPath) -> Iterator[None]:
    """Turn what the operating system says about a failed write into an error an operator can act on."""
    try:
        yield
    except OSError as error:
        raise _write_error(path, error) from error


def _write_error(path: AnyPath, error: OSError) -> RunError:
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return RunError(
            "disk-full",
            f"cannot write {path}: {reason}",
            help="free some space and start again: nothing that was reported as done is lost",
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return RunError(
            "not-writable",
            f"cannot write {path}: {reason}",
            help="give the user that runs weft the right to write there, or choose another home",
        )
    return RunError(
        "write-failed", f"cannot write {path}: {reason}", help="look at the disk, then start again"
    )


def record_chunks(body: Mapping[str, Any]) -> Chunks:
    """A record as JSON, one field a line; the last line is a checksum of all bytes before it."""
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in body.items()]
    text = ("{\n" + ",\n".join(lines)).encode()
    return [text, _CHECKSUM, checksum([text]).encode(), b'"\n}\n']


def read_record(path: AnyPath) -> dict[str, Any]:
    """The record in a file; a missing or damaged one is an error that names it."""
    found = find_record(path)
    if found is None:
        raise damaged(path, "it is missing")
    return found


def find_record(path: AnyPath) -> dict[str, Any] | None:
    """The record in a file; None if there is no such file, and an error if it is damaged."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from error
    return parse_record(path, data)


def parse_record(path: AnyPath, data: bytes) -> dict[str, Any]:
    """The record that these bytes of a file are."""
    text, _, stored = data.rpartition(_CHECKSUM)
    if stored != checksum([text]).encode() + b'"\n}\n':
        raise damaged(path, "its checksum does not match")
    return dict(json.loads(text + b"}"))


def damaged(path: AnyPath, reason: str) -> RunError:
    """The error for a state file that cannot be trusted."""
    return RunError(
        "damaged-state",
        f"cannot use {path}: {reason}",
        help="restore the file, or the whole home, from a backup; weft does not answer from damaged state",
    )
