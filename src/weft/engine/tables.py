"""The tables of a program that runs: their versions in the log, and which of them relations have seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa

from weft.engine.relations.editions import Version
from weft.engine.relations.evaluate import schema_of
from weft.errors import Bug, RunError
from weft.kernels.groups import GroupIndex
from weft.kernels.relations.changes import consolidate
from weft.kernels.relations.tables import Changes, columns_of
from weft.log.home import Home
from weft.log.tables import TableLog, TableVersion
from weft.plan.nodes import Table
from weft.times import BEGINNING, Instant

Revise = Callable[[str, Version], None]


class TableVersions:
    """A log for each table. `taken` are the versions that relations have been given, as a step says."""

    def __init__(self, home: Home, tables: Iterable[Table]) -> None:
        self._home = home
        self.logs: dict[str, TableLog] = {}
        self.declared: dict[str, Table] = {}
        self.taken: dict[str, int] = {}
        self.declare(tables)

    def declare(self, tables: Iterable[Table]) -> None:
        """Tables of the program now; those known already must have the columns that they had.

        Those that are made of changes have no versions.
        """
        declared = {table.name: table for table in tables if table.flow is None}
        logs = {name: self.logs.get(name) or TableLog(self._home, name) for name in declared}
        for name, table in declared.items():
            _check_columns(table, logs[name].last)
        self.declared, self.logs = declared, self.logs | logs

    def latest(self) -> dict[str, int]:
        """The newest version of every table that has one."""
        return {name: log.next - 1 for name, log in self.logs.items() if log.next}

    def newest(self) -> Instant:
        """Since when the newest of all versions is in force."""
        return max((log.last.since for log in self.logs.values() if log.last is not None), default=BEGINNING)

    def differs(self, table: Table, rows: pa.Table) -> bool:
        """Are these other rows, as a bag, than those of the newest version?"""
        log = self.logs[table.name]
        if log.last is None:
            return True
        before = log.load(log.last)
        return not before.equals(rows) and bool(len(_difference(before, rows)))

    def add(self, table: Table, rows: pa.Table, since: Instant) -> None:
        """The next version; the first is in force from the beginning."""
        log = self.logs[table.name]
        columns = [(column.name, column.type) for column in table.columns]
        log.add(rows, since if log.next else BEGINNING, columns)

    def take(self, upto: Mapping[str, int], revise: Revise) -> None:
        """Hand over the versions that a step names and that have not been handed over."""
        for name, number in upto.items():
            log, after = self.logs.get(name), self.taken.get(name, -1)
            for version in [] if log is None else log.versions(after):
                if version.number <= number:
                    assert log is not None
                    rows = log.load(version)
                    revise(name, Version(version.number, version.since, rows, rows.num_rows))
            self.taken[name] = max(after, number)

    def expire(self, seen_from: Callable[[str], Instant]) -> None:
        """Drop versions that no row can see that comes, or is read again."""
        for name, log in self.logs.items():
            log.expire(seen_from(name))


def shaped(table: Table, rows: pa.Table) -> pa.Table:
    """Rows as the table declares them; whoever read them has seen to names and types."""
    names = [column.name for column in table.columns]
    if rows.column_names != names:
        raise Bug(
            "table-columns", f"`{table.name}` has {', '.join(names)}, not {', '.join(rows.column_names)}"
        )
    return rows.cast(schema_of(table.columns)).combine_chunks()


def check_key(table: Table, rows: pa.Table) -> None:
    """Refuse rows of which two have the same key; null is equal to null here."""
    key = table.statement.key
    if not key or not rows.num_rows:
        return
    index = GroupIndex(len(key))
    ids = index.add(columns_of(rows.select(list(key))))
    if len(index) == rows.num_rows:
        return
    counts = np.bincount(ids)
    first = int(np.argmax(counts[ids] > 1))
    value = ", ".join(f"{name} = {rows.column(name)[first].as_py()!r}" for name in key)
    raise RunError(
        "duplicate-key",
        f"table `{table.name}` has {counts[ids[first]]} rows with the key {value}",
        at=table.statement.place,
        help="leave one row for each key in its source, or declare the table without KEY",
    )


def _difference(before: pa.Table, now: pa.Table) -> Changes:
    weights = np.repeat(np.array([-1, 1]), [before.num_rows, now.num_rows])
    both = pa.concat_tables([before, now]).combine_chunks()
    return consolidate(Changes(both, np.zeros(len(weights), np.int64), weights))


def _check_columns(table: Table, last: TableVersion | None) -> None:
    now = [(column.name, column.type) for column in table.columns]
    if last is None or last.columns == now:
        return
    told = ", ".join(f"{name} {type_}" for name, type_ in last.columns)
    raise RunError(
        "table-changed",
        f"table `{table.name}` is not the one this home was started with: its columns were {told}",
        at=table.statement.place,
        help="declare the changed table under another name, or use another --home",
    )
