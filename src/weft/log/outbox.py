"""A file on its way elsewhere, while it is being made: a store takes it as a whole, and it may be large."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.log.remote import Passing, RemotePath

IN_MEMORY = 32 << 20  # bytes; what is larger lies in a temporary file of this machine until it is sent


class Outbox:
    """Collects what is to be sent; `send`, or `forget` it."""

    def __init__(self) -> None:
        self._chunks: list[Any] = []
        self._bytes = 0
        self._file: Any = None

    def add(self, chunks: Sequence[Any]) -> None:
        self._chunks += chunks
        self._bytes += sum(memoryview(chunk).nbytes for chunk in chunks)
        if self._bytes > IN_MEMORY:
            self._file = self._file or tempfile.NamedTemporaryFile(prefix="weft-")  # noqa: SIM115
            self._spill()

    def send(self, path: RemotePath, passing: Passing) -> None:
        """Make it the content of a file; it counts once this returns."""
        if self._file is None:
            return path.put(b"".join(self._chunks), passing)
        self._spill()
        self._file.flush()
        with self._file:
            path.put(Path(self._file.name), passing)

    def forget(self) -> None:
        self._chunks = []
        if self._file is not None:
            self._file.close()

    def _spill(self) -> None:
        self._file.writelines(self._chunks)
        self._chunks, self._bytes = [], 0
