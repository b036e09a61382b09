"""A file written past the page cache: for bytes that nobody will read from there.

What is kept in memory for its readers would be there twice. Worse, memory for the cache is not always to be
had for nothing: of steps with 600 MB of answers, a fifth of the CPU went into finding pages for it.

    put a            [ aaaaaaaa ][ aaaa....            whole rooms go straight to the disk
    put b                        [ aaaabbbb ][ bb..    what is left waits for its room to fill
    put c, cached                            [ bbcc    from here on as any file is written

Where the system or the file system cannot do it, all is written as any file is.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_BUFFER = 1 << 20
_ROOM = 4 << 20  # a whole number of pages, as the disk wants them
_DIRECT = getattr(os, "O_DIRECT", 0)  # 0: not on this system


class Appending:
    """A new file, written from its beginning to its end."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "xb", buffering=_BUFFER)  # noqa: SIM115  by `close`
        self._room: memoryview | None = None
        self._used = 0
        self._begun = False

    def put(self, chunks: Sequence[Any], cached: bool = True) -> None:
        """More bytes; those that are not to be cached may still be, behind others that are."""
        if not self._begun and not cached and self._set_direct(True):
            self._room = memoryview(mmap.mmap(-1, _ROOM))
        self._begun = True
        if cached:
            self._leave_room()
        if self._room is None:
            self._file.writelines(chunks)
        else:
            self._fill(chunks)

    def flush(self) -> None:
        self._leave_room()
        self._file.flush()

    def settle(self) -> None:
        """On the disk when this returns."""
        self.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        try:
            self._leave_room()
        finally:
            self._file.close()

    def _fill(self, chunks: Sequence[Any]) -> None:
        for at, chunk in enumerate(chunks):
            rest = memoryview(chunk).cast("B")
            while len(rest):
                if self._room is None:  # it turned out that it cannot be done
                    self._file.writelines([rest, *chunks[at + 1 :]])
                    return
                taken = min(len(rest), _ROOM - self._used)
                self._room[self._used : self._used + taken] = rest[:taken]
                self._used += taken
                rest = rest[taken:]
                if self._used == _ROOM:
                    self._write_room(self._room)

    def _write_room(self, room: memoryview) -> None:
        try:
            written = os.write(self._file.fileno(), room)
        except OSError:  # as any file is written it may go, and if not, the error is the same
            written = 0
        if written == _ROOM:
            self._used = 0
        else:
            self._leave_room(written)

    def _leave_room(self, written: int = 0) -> None:
        """From here on write as any file is written, first what the room still holds."""
        if self._room is None:
            return
        room, used = self._room, self._used
        self._room, self._used = None, 0
        self._set_direct(False)
        self._file.write(room[written:used])

    def _set_direct(self, on: bool) -> bool:
        handle = self._file.fileno()
        flags = fcntl.fcntl(handle, fcntl.F_GETFL)
        try:
            fcntl.fcntl(handle, fcntl.F_SETFL, flags | _DIRECT if on else flags & ~_DIRECT)
        except OSError:  # the file system cannot
            return False
        return bool(_DIRECT)
