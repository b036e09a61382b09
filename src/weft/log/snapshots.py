"""Snapshots of the live state, so that recovery need not fold the log from its beginning.

    log      ....[ expired ]....| batch | batch | batch | batch |
    snapshots         older ────┘               └──── newest

A snapshot is a cache of the log: losing one costs time, not answers, as long as the log still reaches back to
the one before. So two are kept, and the log is to be expired only up to the older (`horizon`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from weft.errors import RunError
from weft.log.bundle import Bundle, joined, write_bundle
from weft.log.durable import damaged as damaged_file
from weft.log.durable import entries, fault, read_record, record_chunks, remove, write_file
from weft.log.home import Home
from weft.log.paths import AnyPath

KEEP = 2

_RECORD = re.compile(r"(\d{12})\.json")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state after one step. `damaged` names newer ones that could not be read."""

    step: int
    meta: Mapping[str, Any]
    directory: AnyPath
    data: Bundle
    damaged: tuple[str, ...] = field(default=())

    def table(self, name: str) -> Any:
        """One table, checked against its length and checksum."""
        return self.data.load(self.directory, name)


class Snapshots:
    """The snapshots of a home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._directory = home.directory("snapshots")
        self._horizon: list[Mapping[str, Any] | None] = []  # once it is known, until the next is written
        if home.owned:
            self._prune()

    def write(
        self, step: int, meta: Mapping[str, Any], tables: Mapping[str, Any], written: Sequence[Bundle] = ()
    ) -> None:
        """Keep the state after a step, and drop all but the newest snapshots.

        `written` are tables that others have put into this directory by `write_bundle`, as `stem` says.
        """
        own = write_bundle(self._directory, self.stem(step), tables, "snapshots.data")
        self._home.check_owner()
        body = {"step": step, "meta": dict(meta), **joined([own, *written]).to_json()}
        write_file(self._path(step), record_chunks(body), "snapshots.record")
        self._horizon.clear()
        self._prune()

    def stem(self, step: int) -> str:
        """How the names of the data files of a step begin."""
        return f"{step:012d}-{self._home.generation}"

    def latest(self, reaches: Callable[[Mapping[str, Any]], bool] | None = None) -> Snapshot | None:
        """The newest snapshot that can be read; None if there is none and the whole log is to be folded.

        In place of a damaged one the one before is taken, if `reaches` says of its `meta` that the log still
        holds everything after it; of no snapshot at all, it is asked about an empty `meta`. Otherwise, and
        without `reaches`, the damage is an error.
        """
        damaged: list[RunError] = []
        for step in reversed(self._steps()):
            try:
                found = self._read(step)
            except RunError as error:
                if error.code != "damaged-state":
                    raise
                damaged.append(error)
                continue
            if not damaged or (reaches is not None and reaches(found.meta)):
                names = tuple(error.what for error in damaged)
                return replace(found, damaged=names)
        if reaches is not None and reaches({}):
            return None
        if damaged:
            raise damaged[0]
        if reaches is not None:
            raise damaged_file(self._directory, "it holds no snapshot, and the log has been expired")
        return None

    def horizon(self) -> Mapping[str, Any] | None:
        """`meta` of the oldest snapshot kept: the log may be expired up to there, and no further.

        None while there is only one: should it be damaged, the log from its beginning stands in for it.
        """
        if not self._horizon:
            self._horizon.append(self._find_horizon())
        return self._horizon[0]

    def _find_horizon(self) -> Mapping[str, Any] | None:
        steps = self._steps()
        for step in steps if len(steps) >= KEEP else ():
            try:
                return dict(read_record(self._path(step))["meta"])
            except RunError as error:
                if error.code != "damaged-state":
                    raise
        return None

    def _steps(self) -> list[int]:
        matches = (_RECORD.fullmatch(name) for name in entries(self._directory))
        return sorted(int(match[1]) for match in matches if match)

    def _path(self, step: int) -> AnyPath:
        return self._directory / f"{step:012d}.json"

    def open(self, step: int) -> Snapshot:
        """The snapshot after a step; its tables are checked when they are read."""
        body = read_record(self._path(step))
        return Snapshot(body["step"], body["meta"], self._directory, Bundle.from_json(body))

    def _read(self, step: int) -> Snapshot:
        snapshot = self.open(step)
        for name in snapshot.data.tables:
            snapshot.table(name)
        return snapshot

    def _prune(self) -> None:
        """Drop all but the newest few, and data that belongs to none of them."""
        kept = {f"{step:012d}" for step in self._steps()[-KEEP:]}
        gone = [name for name in entries(self._directory) if name[:12] not in kept]
        fault("snapshots.delete.before")
        remove(self._directory, [name for name in gone if name.endswith(".json")])
        fault("snapshots.delete.half")
        remove(self._directory, [name for name in gone if not name.endswith(".json")])
        fault("snapshots.delete.after")
