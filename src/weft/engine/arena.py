"""Cells of buckets in files of one machine, for the workers of an executor, which come and go.

    <local directory>/weft-<home>-<generation>/<stream>.<bucket>/
        cells.json        as of which moment, and which file holds them
        4f1c09aa.cells    the arrays one after the other, and how they hang together

A worker maps the file into memory: only what it touches is read, and what it changes stays its own until
it puts the cells back as a new file. So of all buckets only those being worked on take memory; with more
buckets than workers, the state may be larger than the memory by that factor. Whoever takes the cells of a
bucket takes them away: should it die or come twice, the cells are gone, and are built again from the log.
"""

from __future__ import annotations

import json
import mmap
import os
import pickle
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from weft.engine.errands import Timed
from weft.engine.packing import packed
from weft.log.home import file_name

_HEADER = "cells.json"
_ALIGNED = 64  # bytes: what numpy and Arrow like arrays to begin at a multiple of


def local_directory() -> Path:
    """Where the executor keeps what need not outlive it."""
    given = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return Path(given or tempfile.gettempdir())


class Arena:
    """The cells of a run of a program that are on this machine."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def take(self, errand: Timed, bucket: int) -> Any:
        """The cells as the errand begins; None if they are not here."""
        directory = self._directory(errand, bucket)
        taken = directory / f"{secrets.token_hex(4)}.taken"
        try:
            (directory / _HEADER).rename(taken)
            header = json.loads(taken.read_bytes())
            taken.unlink()
            if header["moment"] != errand.begins:
                return None
            return _load(directory / header["file"], header["body"], header["buffers"])
        except FileNotFoundError:
            return None

    def put(self, errand: Timed, bucket: int, state: object) -> None:
        """Keep the cells as the errand ends, and nothing older."""
        directory = self._directory(errand, bucket)
        if not directory.exists():
            self._forget_other_runs(errand)
            directory.mkdir(parents=True, exist_ok=True)
        name = f"{secrets.token_hex(4)}.cells"
        body, buffers = _save(directory / name, state)
        staged = directory / f"{name}.tmp"
        header = {"moment": errand.ends, "file": name, "body": body, "buffers": buffers}
        staged.write_text(json.dumps(header))
        staged.replace(directory / _HEADER)
        for entry in directory.iterdir():
            if entry.name not in (name, _HEADER):
                with suppress(OSError):
                    entry.unlink()

    def _directory(self, errand: Timed, bucket: int) -> Path:
        return self._root / f"weft-{errand.run}" / f"{file_name(errand.stream)}.{bucket}"

    def _forget_other_runs(self, errand: Timed) -> None:
        home = errand.run.rpartition("-")[0]
        for other in self._root.glob(f"weft-{home}-*"):
            if other.name != f"weft-{errand.run}":
                shutil.rmtree(other, ignore_errors=True)


Span = list[int]  # offset and length


def _save(path: Path, state: object) -> tuple[Span, list[Span]]:
    """All in one file; gives where the body and the arrays lie in it."""
    arrays: list[pickle.PickleBuffer] = []
    body = packed(state, arrays.append)
    with open(path, "xb", buffering=1 << 20) as file:
        spans = []
        for part in (memoryview(body), *(array.raw() for array in arrays)):
            file.write(b"\0" * (-file.tell() % _ALIGNED))
            spans.append([file.tell(), len(part)])
            file.write(part)
        file.write(b"\0")  # a file without bytes cannot be mapped
    return spans[0], spans[1:]


def _load(path: Path, body: Span, spans: Sequence[Span]) -> Any:
    with open(path, "rb") as file:
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    parts = [mapped[offset : offset + length] for offset, length in spans]
    return pickle.loads(mapped[body[0] : body[0] + body[1]], buffers=parts)
