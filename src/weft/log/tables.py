"""The versions of a table: what each reading of it found that was not there before.

Rows of streams after the event time `since` see a version, until those after the next one's. So a replay sees
what the first run saw, whatever has become of the table since.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.log.home import Home
from weft.log.owner import now
from weft.log.paths import AnyPath
from weft.log.series import Record, Series
from weft.times import Instant

_ROWS = "rows"


class TableVersion(Record):
    """What is known of one version."""

    __slots__ = ()

    @property
    def since(self) -> Instant:
        return int(self.meta["since"])

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Names and types, as they were declared."""
        return [(name, type_) for name, type_ in self.meta["columns"]]

    @property
    def read(self) -> str:
        """When it was read: wall time, ISO 8601."""
        return str(self.meta["read"])

    @property
    def rows(self) -> int:
        return self.data.rows(_ROWS)


class TableLog:
    """One per table. The newest version is kept in memory as well, for the next reading to compare with."""

    def __init__(self, home: Home, table: str) -> None:
        self.table = table
        self._series = Series(home, "tables", table, area="tables")
        self._newest: tuple[int, Any] | None = None

    @property
    def next(self) -> int:
        """The version that comes next."""
        return self._series.next

    @property
    def last(self) -> TableVersion | None:
        return None if self._series.last is None else _typed(self._series.last)

    def path_of(self, number: int) -> AnyPath:
        """The file of a version, there or not."""
        return self._series.path_of(number)

    def versions(self, after: int = -1) -> list[TableVersion]:
        """The versions past a number that are still there, oldest first."""
        return [_typed(record) for record in self._series.records(after)]

    def load(self, version: TableVersion) -> Any:
        """Its rows; a missing, short or altered file is an error that names it."""
        if self._newest is not None and self._newest[0] == version.number:
            return self._newest[1]
        return self._series.load(version, _ROWS)

    def add(self, rows: Any, since: Instant, columns: Sequence[tuple[str, str | None]]) -> TableVersion:
        """Make the next version durable."""
        meta = {"since": since, "read": now(), "columns": [list(column) for column in columns]}
        version = _typed(self._series.commit(self.next, {_ROWS: rows}, meta))
        self._newest = version.number, rows
        return version

    def expire(self, before: Instant) -> int:
        """Delete versions that no row from `before` on can see, but never the newest; returns how many."""
        past = [version.number for version in self.versions() if version.since < before]
        return self._series.expire(max(past, default=0) - 1)


def _typed(record: Record) -> TableVersion:
    return TableVersion(record.number, record.meta, record.data, record.generation)
