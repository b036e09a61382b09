"""The rows that a relation is to be computed from again: all that the log still holds, or the source has.

The log holds what relations want of a row, evaluated, and knows with which batch it came. A source that can
be read again has all rows since the beginning, but does not tell which of them were late.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.engine.intake import rows_together
from weft.engine.relations.evaluate import schema_of
from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.log.home import Home
from weft.log.ingest import IngestLog
from weft.log.tables import TableLog, TableVersion
from weft.plan.nodes import Column, Query, Stream, Table
from weft.plan.relations import Emitted, Entries, Made, Relation, Rows
from weft.plan.relationtree import rewrite_up, told_columns, walk
from weft.plan.scope import column
from weft.reference.script import EVER, FROM, TO
from weft.share.intakes import CONDITION, woven
from weft.share.relations.lowering import same
from weft.times import BEGINNING, Instant
from weft.verify.runs import Run

LATE = "_weft_complete"  # how far its stream was complete when a row came
APART = "_weft_"  # begins the names of histories, so that they are no one else's

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Rowed:
    """The rows of a stream under the name of `stream`, with LATE, when they happened, and their batches."""

    stream: Stream
    rows: pa.Table
    times: Ints
    batches: Ints
    whole: bool  # no batch is missing


@dataclass(frozen=True, slots=True, eq=False)
class Versioned:
    """The versions of a table under the name of `table`, each with its rows."""

    table: Table
    versions: tuple[tuple[TableVersion, pa.Table], ...]

    def entries(self, newest: int, told: int, after: Instant) -> pa.Table:
        """All rows that the versions up to `newest` have, with FROM and TO.

        What versions up to `told` have, those in force by `after`, and the first of all, was always there.
        """
        used = [(version, rows) for version, rows in self.versions if version.number <= newest]
        always = [version.number <= told or version.since <= after for version, _ in used]
        always[:1] = [True] * len(always[:1])
        starts = [EVER if ever else used[at][0].since + 1 for at, ever in enumerate(always)]
        schema = schema_of(self.table.columns)
        schema = schema.append(pa.field(FROM, pa.int64())).append(pa.field(TO, pa.int64()))
        found = [schema.empty_table()]
        for (_, rows), start, end in zip(used, starts, [*starts[1:], None], strict=True):
            if end is None or start < end:
                life = [_repeated(start, rows.num_rows), _repeated(end, rows.num_rows)]
                found.append(pa.table([*rows.columns, *life], schema=schema))
        return pa.concat_tables(found).combine_chunks()


@dataclass(frozen=True, slots=True, eq=False)
class Histories:
    """A relation over what is known of its streams and tables."""

    relation: Emitted
    streams: tuple[Rowed, ...]
    tables: tuple[Versioned, ...]
    whole: bool  # no batch and no version is missing


def of_log(
    home: Home, query: Query, streams: Sequence[Stream], tables: Iterable[Table], run: Run
) -> Histories:
    """What the log holds: the leaves of the relation read it by the texts of their expressions."""
    relation = _as_taken_in(query, streams)
    read = {stream.name: _logged(home, stream, relation, run) for stream in streams}
    names = {stream: numbered(relation, stream) for stream in read}
    return _histories(home, _reading_log(relation, names), tuple(read.values()), tables, run)


def _as_taken_in(query: Query, streams: Sequence[Stream]) -> Emitted:
    """What is told of a query, of rows as they were taken in, and no column that is not told."""
    relation = woven(query, streams)[0].relation
    assert isinstance(relation, Emitted)
    if not relation.ends:
        return relation
    return replace(relation, source=Made(relation.source, same(told_columns(relation))), ends=())


def of_sources(
    home: Home, relation: Emitted, sources: Mapping[Stream, pa.Table], tables: Iterable[Table], run: Run
) -> Histories:
    """All rows of all sources, none of which was late."""
    read = [
        Rowed(
            _apart(stream),
            rows.append_column(LATE, _repeated(EVER, rows.num_rows)),
            times_of(rows, stream.statement.time_column),
            np.zeros(rows.num_rows, np.int64),
            whole=True,
        )
        for stream, rows in sources.items()
    ]
    return _histories(home, _renamed(relation), tuple(read), tables, run)


def _histories(
    home: Home, relation: Emitted, streams: tuple[Rowed, ...], tables: Iterable[Table], run: Run
) -> Histories:
    logs = {table: TableLog(home, table.name) for table in tables}
    read = tuple(_versioned(table, log, run) for table, log in logs.items())
    kept = all(log.versions()[0].number == 0 for log in logs.values() if log.next)
    whole = kept and all(each.whole for each in streams)
    return Histories(relation, streams, read, whole)


def _versioned(table: Table, log: TableLog, run: Run) -> Versioned:
    """The versions that steps have used."""
    used = [one for one in log.versions() if one.number <= run.tables.get(table.name, -1)]
    apart = replace(table, name=APART + table.name)
    return Versioned(apart, tuple((version, log.load(version)) for version in used))


def _logged(home: Home, stream: Stream, relation: Emitted, run: Run) -> Rowed:
    """The rows of the batches that steps have taken in."""
    log, time = IngestLog(home, stream.name), stream.statement.time_column
    names = numbered(relation, stream.name)
    columns = (*names.values(), next(each for each in stream.columns if each.name == time))
    schema = schema_of(columns)
    found, batches = [schema.empty_table().append_column(LATE, _repeated(0, 0))], [np.empty(0, np.int64)]
    seen = [record for record in log.records() if record.batch <= run.positions.get(stream.name, -1)]
    for record in seen:
        rows = rows_together(record, partial(log.load, record))
        if rows is None:
            continue
        taken = [
            rows.column(text).cast(schema.field(each.name).type)
            if text in rows.column_names
            else pa.nulls(rows.num_rows, schema.field(each.name).type)
            for text, each in zip([*names, time], columns, strict=True)
        ]
        complete = max(run.standings.get((stream.name, record.batch), BEGINNING), EVER)
        found.append(pa.table([*taken, _repeated(complete, rows.num_rows)], names=[*schema.names, LATE]))
        batches.append(np.full(rows.num_rows, record.batch))
    rows = pa.concat_tables(found).combine_chunks()
    made = replace(_apart(stream), columns=columns)
    return Rowed(made, rows, times_of(rows, time), np.concatenate(batches), log.first == 0)


def numbered(relation: Relation, stream: str) -> dict[str, Column]:
    """What its leaves want of a stream, by the texts that the log has them under."""
    types: dict[str, str | None] = {}
    for leaf in walk(relation):
        if isinstance(leaf, Rows) and leaf.stream == stream:
            types |= {item.expr.sql: item.type for item in leaf.items}
            types |= {} if leaf.where is None else {CONDITION + leaf.where.sql: "boolean"}
    return {text: Column(f"_c{at}", type_) for at, (text, type_) in enumerate(types.items())}


def _reading_log(relation: Emitted, names: Mapping[str, Mapping[str, Column]]) -> Emitted:
    """The relation over what was evaluated of rows when they came."""

    def read(node: Relation) -> Relation:
        if not isinstance(node, Rows):
            return node
        known = names[node.stream]
        items = tuple(replace(item, expr=_column(known[item.expr.sql])) for item in node.items)
        where = None if node.where is None else _column(known[CONDITION + node.where.sql])
        return replace(node, items=items, where=where)

    made = rewrite_up(relation, read)
    assert isinstance(made, Emitted)
    return _renamed(made)


def _renamed(relation: Emitted) -> Emitted:
    def rename(node: Relation) -> Relation:
        match node:
            case Rows(stream=stream):
                return replace(node, stream=APART + stream)
            case Entries(table=table):
                return replace(node, table=APART + table)
            case _:
                return node

    made = rewrite_up(relation, rename)
    assert isinstance(made, Emitted)
    return made


def times_of(rows: pa.Table, name: str) -> Ints:
    """The event times of rows, in microseconds."""
    times: Ints = rows.column(name).cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
    return times


def _apart(stream: Stream) -> Stream:
    return replace(stream, name=APART + stream.name)


def _column(found: Column) -> Expr:
    return expr(column(found.name))


def _repeated(value: int | None, times: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.int64()), times)
