"""Tables as relations see them: versions, each in force after some event time.

    since     ──────┤ 10:00:07 ├──────┤ 10:02:30 ├──────►
    version      0           1                 2            a row at 10:00:07 sees 0, one at 10:00:08 sees 1

Of two versions that are in force after the same time the later counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.engine.relations.evaluate import Condition, Evaluator, Finisher, schema_of
from weft.kernels.combine import Ints
from weft.kernels.relations.tables import take
from weft.plan.nodes import Column, Table
from weft.plan.relations import Entries
from weft.plan.relationtree import columns
from weft.times import BEGINNING, Instant


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """The rows of a table that rows of streams after `since` see; on `failed` others an expression failed."""

    number: int
    since: Instant
    rows: pa.Table
    count: int  # of rows: a leaf may want none of their columns
    failed: int = 0


class Tables:
    """The tables of a program, and of each the versions that some row may still see."""

    def __init__(self) -> None:
        self._columns: dict[str, Sequence[Column]] = {}
        self._versions: dict[str, list[Version]] = {}

    def declare(self, tables: Iterable[Table]) -> None:
        self._columns = {table.name: table.columns for table in tables}

    def names(self) -> list[str]:
        """The tables that have been read."""
        return list(self._versions)

    def newest(self) -> Instant:
        """Since when the newest of all versions is in force."""
        every = (version.since for versions in self._versions.values() for version in versions)
        return max(every, default=BEGINNING)

    def put(self, table: str, version: Version) -> None:
        self._versions.setdefault(table, []).append(version)

    def forget(self, table: str, before: Instant) -> None:
        """No row before this time will be looked at again."""
        self._versions[table] = still_seen(self._versions[table], before)

    def editions(self, leaf: Entries, finisher: Finisher) -> Editions:
        """The versions of a table as a leaf wants them."""
        made = Editions(leaf, self._columns[leaf.table], finisher)
        for version in self._versions.get(leaf.table, []):
            made.put(version)
        return made


class Editions:
    """The versions of a table as one leaf has them: of the rows that it wants the columns that it wants."""

    def __init__(self, leaf: Entries, declared: Sequence[Column], finisher: Finisher) -> None:
        self.table, self.schema = leaf.table, schema_of(columns(leaf))
        self._items = Evaluator(leaf.items, declared, finisher)
        self._where = None if leaf.where is None else Condition(leaf.where, declared, finisher)
        self.versions: list[Version] = []

    def put(self, version: Version) -> None:
        rows, wrong = version.rows, 0
        count = version.count
        if self._where is not None:
            holds, failed = self._where.run(rows, count)
            wrong += 0 if failed is None else int(failed.sum())
            rows, count = take(rows, np.flatnonzero(holds)), int(holds.sum())
        made, failed = self._items.run(rows, count)
        if failed is not None:
            wrong += int(failed.sum())
            made, count = take(made, np.flatnonzero(~failed)), count - int(failed.sum())
        self.versions.append(Version(version.number, version.since, made, count, wrong))

    def seen(self, times: Ints) -> Ints:
        """The place in `versions` of that which rows at these times see; -1: there was none yet."""
        sinces = np.array([version.since for version in self.versions], np.int64)
        places: Ints = np.searchsorted(sinces, times) - 1
        return places

    def forget(self, before: Instant) -> None:
        """No row before this time will be looked at again."""
        self.versions = still_seen(self.versions, before)


def still_seen(versions: list[Version], before: Instant) -> list[Version]:
    """Those that a row at `before` or later can see: the last one in force by then, and all after it."""
    past = sum(version.since < before for version in versions)
    return versions[max(past - 1, 0) :]
