"""How far the sinks have come that are written to from outside: all of them in one file.

    home/delivery/writers.json     by key the last step written, and the steps it will never have

A thousand sinks that move with every step cost one durable write together, not one each.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.log.durable import find_record, record_chunks, write_file
from weft.log.home import Home


@dataclass(frozen=True, slots=True)
class Position:
    """The last step that was written, and the ranges of steps that never will be."""

    upto: int
    missed: list[list[int]]


class Positions:
    """What is noted is durable after the next `save`."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = home.directory("delivery") / "writers.json"
        body = (find_record(self._path) or {"sinks": {}})["sinks"]
        self._noted = {key: Position(**position) for key, position in body.items()}
        self._saved = dict(self._noted)

    def get(self, key: str) -> Position | None:
        return self._noted.get(key)

    def saved(self, key: str) -> int:
        """The last step that is durably known to be written; -1: none."""
        position = self._saved.get(key)
        return -1 if position is None else position.upto

    def note(self, key: str, upto: int, missed: list[list[int]]) -> None:
        self._noted[key] = Position(upto, missed)

    def save(self) -> None:
        """Make all that is noted durable, if there is anything new."""
        if self._noted == self._saved:
            return
        self._home.check_owner()
        noted = dict(self._noted)
        body = {"sinks": {key: {"upto": at.upto, "missed": at.missed} for key, at in noted.items()}}
        write_file(self._path, record_chunks(body), "sink.position")
        self._saved = noted
