"""Who may write to a home: one process at a time, known by a number that grows with every owner.

On this machine a lock keeps a second process out. Elsewhere nobody can: the newest owner has it, and the one
before is *fenced*: it finds another name in owner.json before its next record, and stops.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from weft.errors import Bug, RunError
from weft.log.durable import find_record, read_record, record_chunks, write_file, writing
from weft.log.paths import AnyPath
from weft.log.remote import RemotePath

_open_homes: set[object] = set()  # a POSIX lock does not keep its own process out
_open_homes_lock = threading.Lock()


def take(path: AnyPath) -> Ownership | RemoteOwnership:
    """Own a home; refused while another process holds its lock."""
    return RemoteOwnership.take(path) if isinstance(path, RemotePath) else Ownership.take(path)


class Ownership:
    """The lock of a home and the number of this owner."""

    def __init__(self, path: Path, lock: int, identity: tuple[int, int], generation: int) -> None:
        self.path = path
        self.generation = generation
        self._lock: int | None = lock
        self._identity = identity
        # Holding it open keeps its inode from being used again: another inode there is another owner.
        self._owner_file = os.open(path / "owner.json", os.O_RDONLY)

    @classmethod
    def take(cls, path: Path) -> Ownership:
        with writing(path / "owner.lock"):
            status = path.stat()
            identity = (status.st_dev, status.st_ino)
            with _open_homes_lock:
                if identity in _open_homes:
                    raise _in_use(path)
                lock = _lock(path)
                _open_homes.add(identity)
        try:
            generation = _next_generation(path)
            write_file(path / "owner.json", record_chunks(_owner(generation)), "home.owner")
            return cls(path, lock, identity, generation)
        except BaseException:
            _unlock(lock, identity)
            raise

    def check(self) -> None:
        if self._lock is None:
            raise Bug("home-closed", f"{self.path} has been closed")
        try:
            current, mine = os.stat(self.path / "owner.json"), os.fstat(self._owner_file)
            if (current.st_dev, current.st_ino) == (mine.st_dev, mine.st_ino):
                return
        except FileNotFoundError:
            pass
        raise _taken(self.path)

    def give_up(self) -> None:
        if self._lock is not None:
            _unlock(self._lock, self._identity)
            os.close(self._owner_file)
            self._lock = None


class RemoteOwnership:
    """The number of this owner, and the mark by which it knows itself."""

    def __init__(self, path: RemotePath, generation: int, mark: str) -> None:
        self.path, self.generation = path, generation
        self._mark: str | None = mark

    @classmethod
    def take(cls, path: RemotePath) -> RemoteOwnership:
        with _open_homes_lock:
            if path in _open_homes:
                raise _in_use(path)
            _open_homes.add(path)
        try:
            generation, mark = _next_generation(path), secrets.token_hex(8)
            body = _owner(generation) | {"mark": mark}
            write_file(path / "owner.json", record_chunks(body), "home.owner")
            return cls(path, generation, mark)
        except BaseException:
            _forget(path)
            raise

    def check(self) -> None:
        if self._mark is None:
            raise Bug("home-closed", f"{self.path} has been closed")
        found = find_record(self.path / "owner.json")
        if found is None or found.get("mark") != self._mark:
            raise _taken(self.path)

    def give_up(self) -> None:
        if self._mark is not None:
            self._mark = None
            _forget(self.path)


def _forget(identity: object) -> None:
    with _open_homes_lock:
        _open_homes.discard(identity)


def _lock(path: Path) -> int:
    # A POSIX lock: not inherited by children, so that none of them can keep it after this process has died.
    # It is lost as soon as this process closes any handle of that file; nothing else may open owner.lock.
    handle = os.open(path / "owner.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise _in_use(path) from None
    return handle


def _unlock(handle: int, identity: tuple[int, int]) -> None:
    with _open_homes_lock:
        os.close(handle)
        _open_homes.discard(identity)


def _taken(path: AnyPath) -> RunError:
    return RunError(
        "home-taken",
        f"{path} has been taken over by another process",
        because=_describe_owner(path),
        help="this process stops writing; make sure that only one process runs the program",
    )


def _in_use(path: AnyPath) -> RunError:
    return RunError(
        "home-in-use",
        f"{path} is in use by another process",
        because=_describe_owner(path),
        help="stop that one first, or choose another home with --home",
    )


def _describe_owner(path: AnyPath) -> str:
    try:
        owner = read_record(path / "owner.json")
        return f"pid {owner['pid']} on {owner['host']}, since {owner['since']}"
    except (RunError, KeyError):
        return ""


def _next_generation(path: AnyPath) -> int:
    found = find_record(path / "owner.json")
    return 1 if found is None else int(found["generation"]) + 1


def _owner(generation: int) -> dict[str, Any]:
    return {"generation": generation, "pid": os.getpid(), "host": socket.gethostname(), "since": now()}


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
