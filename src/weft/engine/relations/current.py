"""Tables that are made of changes, as relations read them: rows that come and go, or that others look up.

A row that looks one up meets the entry in force when it begins. Whether that is known says the watermark of
the table's stream, so rows wait for it; in what they find then nothing changes any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from weft.engine.relations.evaluate import Condition, Evaluator, Finisher, schema_of
from weft.engine.relations.flows import Flow
from weft.engine.relations.operator import Carried, Told
from weft.engine.relations.partners import Agreeing, Beside
from weft.kernels.arrow import whole
from weft.kernels.combine import Bools, Ints
from weft.kernels.relations.latest import Turn
from weft.kernels.relations.store import RowStore
from weft.kernels.relations.tables import NEVER, NOTHING, Changes, Lives, columns_of, take
from weft.plan.lookups import Lookup
from weft.plan.nodes import Column
from weft.plan.relations import Entries, Paired, Whether
from weft.plan.relationtree import columns
from weft.share.relations.matching import matching
from weft.times import BEGINNING, Instant

_NUMBER = "_weft_number"
_ENDED, _FEW = 8, 256  # entries are laid out anew when one in 8 has ended, if they are more than a few


class Current:
    """A table as one leaf has it: of the entries that it wants the columns that it wants, after `bound`.

    `resumed`: what is in force when it begins was told before, by a drain or before a restart.
    """

    def __init__(
        self,
        leaf: Entries,
        bound: Instant,
        declared: Sequence[Column],
        finisher: Finisher,
        *,
        resumed: bool = False,
    ) -> None:
        self.table, self._bound, self._resumed = leaf.table, bound, resumed
        self.schema = schema_of(columns(leaf))
        self._items = Evaluator(leaf.items, declared, finisher)
        self._where = None if leaf.where is None else Condition(leaf.where, declared, finisher)
        self._begun = False
        self.turns: list[Turn] = []
        self.complete = BEGINNING
        self.failed = self.late = 0

    def put(self, flow: Flow, turn: Turn, late: int) -> None:
        """What has changed of the table; at first all that was in force after `bound`, and is."""
        self.complete, self.late = flow.complete, self.late + late
        if self._begun:
            self._put(turn)
        elif flow.settled > self._bound:
            self._begun = True
            self._put(self._known(flow))

    def _known(self, flow: Flow) -> Turn:
        """What was in force after `bound`, and is; told before, it lies behind what is told from now on."""
        known = flow.known()
        some = known.new.ends > self._bound
        new = known.new.filter(some)
        if self._resumed:
            new = replace(new, begins=np.minimum(new.begins, max(flow.complete - 1, BEGINNING)))
        return Turn(new, known.numbers[some], known.old, known.ended)

    def _put(self, turn: Turn) -> None:
        (new, mine, failed), (old, ended, _) = self._wanted(turn.new), self._wanted(turn.old)
        self.failed += failed
        self.turns.append(Turn(new, turn.numbers[mine], old, turn.ended[ended]))

    def _wanted(self, lives: Lives) -> tuple[Lives, Bools, int]:
        """The rows as the leaf wants them, which of all these are, and on how many an expression failed."""
        mine, wrong = np.ones(len(lives), bool), np.zeros(len(lives), bool)
        if self._where is not None:
            mine, failed = self._where.run(lives.table, len(lives))
            wrong |= False if failed is None else failed
        made, failed = self._items.run(lives.table, len(lives))
        if failed is not None:
            wrong |= failed & mine
        some = np.flatnonzero(mine & ~wrong)
        return Lives(take(made, some), lives.begins[some], lives.ends[some]), mine & ~wrong, int(wrong.sum())

    def taken(self) -> tuple[list[Turn], int]:
        """What is new since this was last asked, and on how many rows an expression failed."""
        turns, failed = self.turns, self.failed
        self.turns, self.failed = [], 0
        return turns, failed

    def told_late(self) -> int:
        """How many changes came late since this was last asked."""
        found, self.late = self.late, 0
        return found


class Replacing(Carried):
    """The entries of a table as rows that come and go: each ends when another takes its place."""

    def __init__(self, columns: Sequence[Column], current: Current) -> None:
        super().__init__(columns)
        self.current = current

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        turns, failed = self.current.taken()
        self.note(failed)
        parts = [Changes.empty(self.current.schema)]
        for turn in turns:
            parts.append(turn.new.changes(BEGINNING, NEVER))
            parts.append(Changes(turn.old.table, turn.old.ends, np.full(len(turn.old), -1)))
        return Changes.concat(parts)


class Entered:
    """The entries that rows to come may meet, by key: those in force, and those that were."""

    def __init__(self, agreeing: Agreeing, schema: pa.Schema) -> None:
        self._agreeing, self._schema = agreeing, schema
        self._past = RowStore(agreeing.key_count, schema=schema)
        self._begin()

    def _begin(self) -> None:
        schema = self._schema.append(pa.field(_NUMBER, pa.int64()))
        self._open, self._ended = RowStore(self._agreeing.key_count, schema=schema), NOTHING

    @property
    def rows(self) -> int:
        return len(self._past) + len(self._open) - len(self._ended)

    @property
    def nbytes(self) -> int:
        return self._past.nbytes + self._open.nbytes

    def put(self, turn: Turn) -> None:
        is_open = turn.numbers >= 0
        for lives in (turn.old, turn.new.filter(~is_open)):
            self._past.add(self._agreeing.entry_keys(lives.table, len(lives)), lives)
        self._ended = np.union1d(self._ended, turn.ended)
        self._add(turn.new.filter(is_open), turn.numbers[is_open])
        if len(self._ended) > max(_FEW, len(self._open) // _ENDED):
            self._tidy()

    def _add(self, lives: Lives, numbers: Ints) -> None:
        keys = self._agreeing.entry_keys(lives.table, len(lives))
        columns = [*lives.table.columns, pa.array(numbers, pa.int64())]
        numbered = pa.table(columns, names=[*self._schema.names, _NUMBER])
        self._open.add(keys, Lives(numbered, lives.begins, lives.ends))

    def _tidy(self) -> None:
        """Let go of entries that are no longer in force."""
        held = self._open.all()
        numbers = whole(held.table.column(_NUMBER)).to_numpy()
        left = ~np.isin(numbers, self._ended)
        lives = Lives(held.table.drop_columns(_NUMBER), held.begins, held.ends).filter(left)
        self._begin()
        self._add(lives, numbers[left])

    def find(self, rows: Lives) -> tuple[Ints, pa.Table]:
        """Places of rows, one for every match, and beside them the entries."""
        keys = self._agreeing.keys(rows)
        past = self._past.pairs(keys, rows.begins, rows.begins + 1)
        now = self._open.pairs(keys, rows.begins, rows.begins + 1)
        entries = self._open.take(now.refs)
        is_there = np.flatnonzero(~np.isin(whole(entries.column(_NUMBER)).to_numpy(), self._ended))
        at = np.concatenate([past.rows, now.rows[is_there]])
        parts = [self._past.take(past.refs), take(entries, is_there).drop_columns(_NUMBER)]
        return self._agreeing.of(rows, at, pa.concat_tables(parts).combine_chunks())

    def expire(self, before: Instant) -> None:
        """No row before this time will be looked at again."""
        self._past.expire(before)


class Awaiting(Carried):
    """Rows that look up a table of changes once it is known what was in force when they begin.

    Rows that came too late may wait though the log has let go of them: those that wait are kept in snapshots.
    """

    def __init__(
        self, relation: Paired | Whether, found: Lookup, current: Current, finisher: Finisher
    ) -> None:
        super().__init__(columns(relation))
        self.current = current
        mine, entries = columns(found.rows), columns(found.entries)
        self._agreeing = Agreeing(matching(relation.on, mine, entries), mine, entries, finisher)
        self._entered = Entered(self._agreeing, current.schema)
        self._beside = Beside(relation, found)
        self._waiting = Lives.empty(schema_of(mine))
        self._is_back = False  # those that wait are there already when rows are read again

    @property
    def rows(self) -> int:
        return len(self._waiting) + self._entered.rows

    @property
    def nbytes(self) -> int:
        return self._entered.nbytes + int(self._waiting.table.nbytes) + 16 * len(self._waiting)

    def waits(self, complete: Instant) -> bool:
        """Would rows that wait be told if the table were complete before this time?"""
        return bool((self._waiting.begins < complete).any())

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        (rows,) = told
        assert isinstance(rows, Lives)
        turns, failed = self.current.taken()
        for turn in turns:
            self._entered.put(turn)
        if self._is_back:
            rows, self._is_back = rows.filter(rows.begins < self.current.complete), False
        waiting = Lives.concat([self._waiting, rows])
        is_known = waiting.begins < self.current.complete
        self._waiting, ready = waiting.filter(~is_known), waiting.filter(is_known)
        made = self._beside.made(ready, *self._entered.find(ready))
        self._entered.expire(upto)
        self.note(failed + self._agreeing.told_failed())
        return made

    def save(self) -> pa.Table:
        """The rows that wait, as a table of a snapshot."""
        named = {str(at): column for at, column in enumerate(columns_of(self._waiting.table))}
        return pa.table(named | {"begin": self._waiting.begins, "end": self._waiting.ends})

    def restore(self, saved: pa.Table) -> None:
        """Go on with the rows that waited, before those of then are read again."""
        *rows, begins, ends = columns_of(saved)
        schema = self._waiting.table.schema
        table = pa.table(rows, names=schema.names).cast(schema) if rows else schema.empty_table()
        self._waiting, self._is_back = Lives(table, begins.to_numpy(), ends.to_numpy()), True
