"""The last row of each key, in force until the next one: what a table is that is made of changes.

    A 10:00:01 ───────────┤ A 10:00:07 ─────────────►       an entry lives until the next change of its key
    B        10:00:03 ─────────┤ B 10:00:08 deleted         and has none after one that deletes it
    A 10:00:01, again                                       of equal times the one that came last counts

A change that comes too late counts from when it comes, unless its key has changed since its time. To know
that, deletions are remembered for some time, `memory`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from weft.kernels.combine import Bools, Ints
from weft.kernels.groups import GroupIndex
from weft.kernels.growing import Growing
from weft.kernels.relations.shelf import Shelf
from weft.kernels.relations.tables import NEVER, NOTHING, Lives, columns_of, take
from weft.times import BEGINNING, Duration, Instant

_FEW = 4096  # rows, or keys, that may be held though nothing is in force for them
_REF, _NUMBER, _BEGIN, _TIME = range(4)  # of what is known of a key; without an entry _NUMBER is -1


@dataclass(frozen=True, slots=True, eq=False)
class Posted:
    """Rows of a stream of changes as they came; those that are late count from `begins` on, not `times`."""

    table: pa.Table
    times: Ints
    begins: Ints
    gone: Bools  # they say that their key has no entry any more

    def __len__(self) -> int:
        return len(self.times)

    @classmethod
    def empty(cls, schema: pa.Schema) -> Self:
        return cls(schema.empty_table(), NOTHING, NOTHING, np.zeros(0, bool))

    @classmethod
    def concat(cls, parts: Sequence[Self]) -> Self:
        """The rows of all parts, of which there is at least one."""
        table = pa.concat_tables([part.table for part in parts]).combine_chunks()
        times, begins = (np.concatenate([getattr(p, name) for p in parts]) for name in ("times", "begins"))
        return cls(table, times, begins, np.concatenate([part.gone for part in parts]))

    def take(self, rows: Ints) -> Posted:
        return Posted(take(self.table, rows), self.times[rows], self.begins[rows], self.gone[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """What changes of a table: entries that are new, and those of before that end, by the numbers they had.

    An entry that has a number is in force until a later turn ends it; -1: when it ends is known.
    """

    new: Lives
    numbers: Ints
    old: Lives
    ended: Ints

    @classmethod
    def nothing(cls, schema: pa.Schema) -> Self:
        return cls(Lives.empty(schema), NOTHING, Lives.empty(schema), NOTHING)


class Latest:
    """The entries that are in force, by key; null is a key like any other."""

    def __init__(self, schema: pa.Schema, key: Sequence[str], memory: Duration = 0) -> None:
        self.schema, self._key, self._memory = schema, list(key), memory
        self._index = GroupIndex(len(self._key))
        self._known = Growing(np.zeros((0, 4), np.int64))
        self._shelf = Shelf(schema)
        self._put = 0  # rows, in the shelf
        self._next = 0

    def __len__(self) -> int:
        """How many entries are in force."""
        return int(np.count_nonzero(self._known.used[:, _NUMBER] >= 0))

    @property
    def nbytes(self) -> int:
        return self._shelf.nbytes + self._index.nbytes + self._known.nbytes

    def settle(self, posted: Posted, upto: Instant = BEGINNING) -> Turn:
        """Take in changes that count after those of earlier calls do; those to come count from `upto` on."""
        if not len(posted):
            return Turn.nothing(self.schema)
        ids = self._ids(posted.table)
        rows = self._that_count(posted, ids)
        keys, begins = ids[rows], posted.begins[rows]
        is_first, is_last = _edges(keys)
        old, ended = self._ended(keys[is_first], begins[is_first])
        ends = np.where(is_last, NEVER, np.roll(begins, -1))
        stays = ~posted.gone[rows]
        numbers = np.where(is_last & stays, self._next + np.cumsum(is_last & stays) - 1, -1)
        self._next += int(np.count_nonzero(numbers >= 0))
        new = Lives(take(posted.table, rows), begins, ends)
        self._hold(new.filter(is_last), keys[is_last], numbers[is_last], posted.times[rows][is_last])
        self._tidy(max(upto - self._memory, BEGINNING))
        some = stays & (begins < ends)
        return Turn(new.filter(some), numbers[some], old, ended)

    def _ids(self, table: pa.Table) -> Ints:
        ids = self._index.add(columns_of(table.select(self._key)))
        fresh = np.tile([0, -1, BEGINNING, BEGINNING], (len(self._index) - len(self._known), 1))
        self._known.extend(fresh)
        return ids

    def _that_count(self, posted: Posted, ids: Ints) -> Ints:
        """By key and time the last row that came for each, without those that their key has changed since."""
        rows = np.lexsort((posted.times, posted.begins, ids))
        keys, begins = ids[rows], posted.begins[rows]
        rows = rows[np.append((keys[1:] != keys[:-1]) | (begins[1:] != begins[:-1]), True)]
        known = self._known.used[ids[rows]]
        is_forgotten = (known[:, _NUMBER] < 0) & (known[:, _TIME] < posted.begins[rows] - self._memory)
        counted: Ints = rows[is_forgotten | (posted.times[rows] >= known[:, _TIME])]
        return counted

    def _ended(self, keys: Ints, ends: Ints) -> tuple[Lives, Ints]:
        known = self._known.used[keys]
        had = np.flatnonzero(known[:, _NUMBER] >= 0)
        rows = self._shelf.take(known[had, _REF], None)
        return Lives(rows, known[had, _BEGIN], ends[had]), known[had, _NUMBER]

    def _hold(self, last: Lives, keys: Ints, numbers: Ints, times: Ints) -> None:
        """What is in force for these keys from now on."""
        known = self._known.used
        known[keys, _NUMBER], known[keys, _BEGIN], known[keys, _TIME] = numbers, last.begins, times
        there = np.flatnonzero(numbers >= 0)
        known[keys[there], _REF] = self._shelf.put(last.take(there))
        self._put += len(there)

    def _tidy(self, forgotten: Instant) -> None:
        """Let go of rows that are no longer in force, and of keys, once they are many."""
        known = self._known.used
        there = known[:, _NUMBER] >= 0
        count = int(np.count_nonzero(there))
        if len(known) > 2 * count + _FEW:
            kept = np.flatnonzero(there | (known[:, _TIME] >= forgotten))
            self._index.keep(kept)
            self._known = Growing(known[kept])
            known = self._known.used
            there = known[:, _NUMBER] >= 0
        if self._put > 2 * count + _FEW:
            rows = self._shelf.take(known[there, _REF], None)
            self._shelf, self._put = Shelf(self.schema), count
            known[there, _REF] = self._shelf.put(Lives(rows, known[there, _BEGIN], np.full(count, NEVER)))

    def now(self) -> Turn:
        """All entries that are in force, as if they were new."""
        there = self._known.used[self._known.used[:, _NUMBER] >= 0]
        rows = self._shelf.take(there[:, _REF], None)
        new = Lives(rows, there[:, _BEGIN].copy(), np.full(len(there), NEVER))
        return Turn(new, there[:, _NUMBER].copy(), Lives.empty(self.schema), NOTHING)

    def deletions(self) -> Posted:
        """The deletions that are remembered; of their rows the keys alone."""
        gone = np.flatnonzero(self._known.used[:, _NUMBER] < 0)
        keys = dict(zip(self._key, self._index.take(gone), strict=True))
        columns = [keys.get(each.name, pa.nulls(len(gone), each.type)) for each in self.schema]
        rows = pa.table(
            [column.cast(each.type) for column, each in zip(columns, self.schema)], schema=self.schema
        )
        known = self._known.used[gone]
        return Posted(rows, known[:, _TIME].copy(), known[:, _BEGIN].copy(), np.ones(len(gone), bool))

    def entries(self) -> Posted:
        """The entries that are in force, as the changes that they were."""
        there = self._known.used[self._known.used[:, _NUMBER] >= 0]
        rows = self._shelf.take(there[:, _REF], None)
        return Posted(rows, there[:, _TIME].copy(), there[:, _BEGIN].copy(), np.zeros(len(there), bool))


def _edges(keys: Ints) -> tuple[Bools, Bools]:
    """Which rows are the first and the last of their key, where they lie by key."""
    differs = keys[1:] != keys[:-1]
    return np.append(len(keys) > 0, differs)[: len(keys)], np.append(differs, True)[: len(keys)]
