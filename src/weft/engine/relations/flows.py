"""Tables that are made of changes: the last row of each key of a stream, as far as the stream is complete.

    feed      rows wait until the watermark has passed them: others may come before them
    advance   those that have been passed are in force, each from its time on
    past      what was in force before, for as long as a row may be held against it

What is in force stays for ever, and the batches that brought it do not. So all of it is kept in snapshots,
and what is read again after a restart is no news to a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from weft.engine.relations.evaluate import schema_of
from weft.errors import Bug, RunError
from weft.kernels.arrow import whole
from weft.kernels.relations.latest import Latest, Posted, Turn
from weft.kernels.relations.tables import Lives, columns_of
from weft.plan.nodes import Stream, Table
from weft.share.intakes import changes_read
from weft.times import BEGINNING, Instant

_IN_FORCE, _PENDING, _PAST = range(3)  # what a row of a snapshot is


class Flow:
    """One table."""

    def __init__(self, table: Table, stream: Stream) -> None:
        if table.flow is None:
            raise Bug("plan-shape", f"`{table.name}` is not made of changes")
        self.table, self.made_of = table, table.flow
        self.schema = schema_of(table.columns)
        self._names = [item.expr.sql for item in changes_read(table).items]
        self._time, self._delay = stream.statement.time_column, stream.statement.delay
        self._begin()

    def _begin(self) -> None:
        self._latest = Latest(self.schema, self.made_of.key, self._delay)
        self._pending: list[Posted] = []
        self._past = Lives.empty(self.schema)
        self.complete, self._late = BEGINNING, 0
        self.settled = BEGINNING  # all before it is in force: what is drained is, though more may come

    def __len__(self) -> int:
        """How many rows it holds."""
        return len(self._latest) + sum(map(len, self._pending)) + len(self._past)

    @property
    def in_force(self) -> int:
        return len(self._latest)

    @property
    def nbytes(self) -> int:
        held = [self._past.table, *(part.table for part in self._pending)]
        return self._latest.nbytes + sum(int(table.nbytes) for table in held)

    def feed(self, rows: pa.Table) -> None:
        """The changes of one batch."""
        if not {self._time, *self._names} <= set(rows.column_names):
            return  # a batch from before the table was declared
        times = whole(rows.column(self._time)).cast(pa.int64()).to_numpy()
        own = [whole(rows.column(name)) for name in self._names]
        gone = np.zeros(len(times), bool)
        if self.made_of.delete is not None:
            gone = own.pop().fill_null(False).to_numpy(zero_copy_only=False)
        table = pa.table(own, names=self.schema.names).cast(self.schema)
        self._late += int(np.count_nonzero(times < self.complete))
        self._pending.append(Posted(table, times, np.maximum(times, self.complete), gone))

    def advance(self, upto: Instant) -> Turn:
        """What changes now that the stream is complete before `upto`."""
        posted = Posted.concat([Posted.empty(self.schema), *self._pending])
        due = posted.begins < upto
        self._pending = [] if due.all() else [posted.take(np.flatnonzero(~due))]
        self.complete, self.settled = upto, max(self.settled, upto)
        turn = self._latest.settle(posted.take(np.flatnonzero(due)), upto)
        ended = turn.new.filter(turn.numbers < 0)
        if len(ended) + len(turn.old):
            self._past = Lives.concat([self._past, ended, turn.old])
        return turn

    def known(self) -> Turn:
        """All that was in force and may still be asked for, and all that is."""
        now = self._latest.now()
        numbers = np.concatenate([np.full(len(self._past), -1), now.numbers])
        return Turn(Lives.concat([self._past, now.new]), numbers, now.old, now.ended)

    def forget(self, before: Instant) -> None:
        """No row before this time will be held against it."""
        if len(self._past) and self._past.ends.min() <= before:
            self._past = self._past.filter(self._past.ends > before)

    def waits(self, upto: Instant) -> bool:
        """Are there changes that would be in force if the stream were complete before this time?"""
        return upto > self.complete and any((part.begins < upto).any() for part in self._pending)

    def late(self) -> int:
        """How many changes have come late since this was last asked."""
        found, self._late = self._late, 0
        return found

    def save(self) -> pa.Table:
        """All of it, as a table of a snapshot."""
        past = Posted(self._past.table, self._past.ends, self._past.begins, np.zeros(len(self._past), bool))
        parts = [(_IN_FORCE, self._latest.entries()), (_IN_FORCE, self._latest.deletions()), (_PAST, past)]
        parts += [(_PENDING, part) for part in self._pending]
        every = Posted.concat([part for _, part in parts])
        named = {str(at): column for at, column in enumerate(columns_of(every.table))}
        kinds = np.repeat([kind for kind, _ in parts], [len(part) for _, part in parts])
        return pa.table(
            named | {"time": every.times, "begin": every.begins, "gone": every.gone, "kind": kinds}
        )

    def restore(self, saved: pa.Table, complete: Instant, settled: Instant) -> None:
        """Go on from what was saved: the stream was complete, and the table settled, before these times."""
        self._begin()
        *rows, times, begins, gone, kinds = columns_of(saved)
        table = pa.table(rows, names=self.schema.names).cast(self.schema)
        every = Posted(table, times.to_numpy(), begins.to_numpy(), gone.to_numpy(zero_copy_only=False))

        def of(kind: int) -> Posted:
            return every.take(np.flatnonzero(kinds.to_numpy() == kind))

        self._latest.settle(of(_IN_FORCE))
        past = of(_PAST)
        self._past, self._pending = Lives(past.table, past.begins, past.times), [of(_PENDING)]
        self.complete, self.settled = complete, settled


class Flows:
    """The tables of a program that are made of changes, as one graph of relations sees them.

    In a snapshot the names of theirs begin with `saved_as`.
    """

    def __init__(self, saved_as: str = "flow") -> None:
        self._saved_as = saved_as
        self._flows: dict[str, Flow] = {}

    def check(self, tables: Iterable[Table]) -> None:
        """Refuse tables that were made otherwise, before anything goes on with them."""
        for table in tables:
            if table.flow is not None and table.name in self._flows:
                _check_same(_described(self._flows[table.name].table), table)

    def declare(self, tables: Iterable[Table], streams: Mapping[str, Stream]) -> list[Flow]:
        """Tables of the program now, and those of them that are new; those that stay go on as they are."""
        before, self._flows, new = self._flows, {}, []
        for table in tables:
            if table.flow is not None:
                flow = before.get(table.name)
                if flow is None:
                    flow = Flow(table, streams[table.flow.stream])
                    new.append(flow)
                self._flows[table.name] = flow
        return new

    @property
    def names(self) -> set[str]:
        return set(self._flows)

    def __iter__(self) -> Iterator[Flow]:
        return iter(self._flows.values())

    def __bool__(self) -> bool:
        return bool(self._flows)

    def __getitem__(self, table: str) -> Flow:
        return self._flows[table]

    def feed(self, stream: str, rows: pa.Table) -> None:
        """The rows of a batch."""
        for flow in self:
            if flow.made_of.stream == stream:
                flow.feed(rows)

    def save(self) -> dict[str, pa.Table]:
        """All tables, and what they are, as tables of a snapshot."""
        found = [(name, _described(f.table), f.complete, f.settled) for name, f in self._flows.items()]
        columns = list(zip(*found, strict=True)) or [()] * 4
        types = (pa.string(), pa.string(), pa.int64(), pa.int64())
        arrays = [pa.array(values, type_) for values, type_ in zip(columns, types, strict=True)]
        about = pa.table(arrays, names=["name", "made_of", "complete", "settled"])
        kept = {f"{self._saved_as} {name}": flow.save() for name, flow in self._flows.items()}
        return {self._saved_as: about} | kept

    def restore(self, saved: Callable[[str], pa.Table | None]) -> None:
        """Go on from a snapshot; a table that is not in it begins with what comes."""
        about = saved(self._saved_as)
        for known in [] if about is None else about.to_pylist():
            table = saved(f"{self._saved_as} {known['name']}")
            if known["name"] in self._flows and table is not None:
                flow = self._flows[known["name"]]
                _check_same(known["made_of"], flow.table)
                flow.restore(table, known["complete"], known["settled"])


def _check_same(was: str, table: Table) -> None:
    if was != _described(table):
        raise RunError(
            "table-changed",
            f"table `{table.name}` is not the one this home was started with: it was {was}",
            at=table.statement.place,
            help="declare the changed table under another name, or use another --home",
        )


def _described(table: Table) -> str:
    """What a table is made of: with another text it is another table."""
    assert table.flow is not None
    columns = ", ".join(f"{column.name} {column.type}" for column in table.columns)
    deleted = "" if table.flow.delete is None else f" DELETE WHERE {table.flow.delete.sql}"
    return f"({columns}) KEY ({', '.join(table.flow.key)}){deleted} FROM STREAM {table.flow.stream}"
