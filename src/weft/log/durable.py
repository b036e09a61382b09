"""Bytes that survive a crash: written whole or not at all, and known to be on the disk when the call returns.

    write_new     a file under a name nobody else uses; half of it may stay behind after a crash, unreferenced
    write_file    a file replaced as a whole: a reader sees the old bytes or the new ones
    create_once   a file that the first writer creates, complete or absent; the second is told

Every such write has four *fault points*, at which a test kills the process: `before` anything is written, at
`half` of the bytes, when all bytes are `staged` but the name is not yet there to find, and `after`.
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
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from weft.errors import Bug, RunError

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


def write_new(path: Path, chunks: Chunks, point: str) -> None:
    """Write a file under a name that is used once."""
    fault(f"{point}.before")
    with writing(path):
        _put(path, chunks, point)
        fault(f"{point}.staged")
        sync_directory(path.parent)
    fault(f"{point}.after")


def write_file(path: Path, chunks: Chunks, point: str) -> None:
    """Replace the file as a whole."""
    fault(f"{point}.before")
    with writing(path), _staged(path, chunks, point) as staged:
        os.replace(staged, path)
        sync_directory(path.parent)
    fault(f"{point}.after")


def create_once(path: Path, chunks: Chunks, point: str) -> bool:
    """Create the file unless it exists; false if another writer was first."""
    fault(f"{point}.before")
    with writing(path), _staged(path, chunks, point) as staged:
        created = _link_once(staged, path)
        sync_directory(path.parent)
    fault(f"{point}.after")
    return created


def write_staged(path: Path, chunks: Chunks, point: str, sync: bool) -> None:
    """Write a file that is to be renamed elsewhere; without `sync` it may not survive a loss of power."""
    _put(path, chunks, point, sync)
    fault(f"{point}.staged")


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
        with open(path, "xb", buffering=1 << 20) as file:
            if "WEFT_FAULT" in os.environ and os.environ["WEFT_FAULT"].startswith(f"{point}.half"):
                whole = b"".join(chunks)
                file.write(whole[: len(whole) // 2])
                file.flush()
                fault(f"{point}.half")
                file.write(whole[len(whole) // 2 :])
            else:
                file.writelines(chunks)
            file.flush()
            if sync:
                os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise


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


def make_directory(path: Path) -> None:
    """Make a directory and those above it, durably."""
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
def writing(path: Path) -> Iterator[None]:
    """Turn what the operating system says about a failed write into an error an operator can act on."""
    try:
        yield
    except OSError as error:
        raise _write_error(path, error) from error


def _write_error(path: Path, error: OSError) -> RunError:
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


def read_record(path: Path) -> dict[str, Any]:
    """The record in a file; a missing or damaged one is an error that names it."""
    try:
        data = path.read_bytes()
        text, _, stored = data.rpartition(_CHECKSUM)
        if stored == checksum([text]).encode() + b'"\n}\n':
            return dict(json.loads(text + b"}"))
        reason = "its checksum does not match"
    except FileNotFoundError:
        reason = "it is missing"
    except OSError as error:
        reason = error.strerror or str(error)
    raise damaged(path, reason)


def damaged(path: Path, reason: str) -> RunError:
    """The error for a state file that cannot be trusted."""
    return RunError(
        "damaged-state",
        f"cannot use {path}: {reason}",
        help="restore the file, or the whole home, from a backup; weft does not answer from damaged state",
    )
