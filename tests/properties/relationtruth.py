"""The truth about relations, asked of DuckDB: the reference over all rows that were fed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from tests.sql.oracles import without_zones
from weft.kernels.arrow import arrow_type
from weft.plan.nodes import Stream, Table
from weft.plan.relations import Emitted, Relation
from weft.plan.relationtree import columns
from weft.reference import bag_sql, instants_sql, relation_sql
from weft.reference.script import FROM, TO
from weft.testing.values import micros, rows_of

Row = tuple[Any, ...]


class DuckTruth:
    """Histories of streams and tables, and what is true of relations over them.

    What is told as of `began` was always so, and has no time.
    """

    def __init__(
        self, streams: Sequence[Stream], tables: Sequence[Table] = (), began: int | None = None
    ) -> None:
        self.streams, self.tables, self.began = streams, tables, began
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("SET TimeZone = 'UTC'")
        self._known: dict[str, list[Row]] = {}  # what was asked before
        for stream in streams:
            self.feed(stream.name, empty(stream))
        for table in tables:
            self._append(table.name, empty(table, {FROM: "bigint", TO: "bigint"}))

    def feed(self, stream: str, rows: pa.Table) -> None:
        self._append(stream, without_zones(rows))

    def versions(self, table: str, rows: Sequence[Row]) -> None:
        """Rows that a table had: its columns, and from when to when, in microseconds."""
        known = next(one for one in self.tables if one.name == table)
        names = [*((column.name, column.type) for column in known.columns), (FROM, "bigint"), (TO, "bigint")]
        columns = [pa.array([row[i] for row in rows], arrow_type(type)) for i, (_, type) in enumerate(names)]
        self._append(table, pa.table(dict(zip([name for name, _ in names], columns))))

    def bags(
        self, relation: Relation, instants: Sequence[int] | None = None, **bounds: Any
    ) -> dict[int, list[Row]]:
        """The bag as of each of the instants; without any, as of all at which it may change."""
        every = instants
        if every is None:
            every = [at for (at,) in self._rows(instants_sql(relation, **self._told(bounds)))]
        bags: dict[int, list[Row]] = {at: [] for at in sorted(every)}
        for at, *row in self._rows(bag_sql(relation, instants=instants, **self._told(bounds))):
            bags[at].append(tuple(row))
        return bags

    def told(self, relation: Emitted, **bounds: Any) -> list[Row]:
        sql = relation_sql(relation, **self._told(bounds))
        if sql not in self._known:
            self._known[sql] = self._in_time(relation, self._rows(sql))
        return self._known[sql]

    def _in_time(self, relation: Emitted, found: list[Row]) -> list[Row]:
        timed = [column.name in ("valid_from", "changed_at") for column in columns(relation)]
        return [tuple(map(self._timed, row, timed)) for row in found]

    def _timed(self, value: Any, is_time: bool) -> Any:
        return None if is_time and micros(value) == self.began else value

    def _told(self, bounds: Mapping[str, Any]) -> dict[str, Any]:
        return {"streams": self.streams, "tables": self.tables, "dialect": "duckdb", **bounds}

    def _rows(self, sql: str) -> list[Row]:
        return rows_of(self.connection.sql(sql).to_arrow_table())

    def _append(self, name: str, rows: pa.Table) -> None:
        self._known.clear()
        self.connection.register("_weft_rows", rows)
        self.connection.execute(f'CREATE TABLE IF NOT EXISTS "{name}" AS FROM _weft_rows LIMIT 0')
        self.connection.execute(f'INSERT INTO "{name}" FROM _weft_rows')
        self.connection.unregister("_weft_rows")


def empty(declared: Stream | Table, more: Mapping[str, str] | None = None) -> pa.Table:
    types = {column.name: column.type for column in declared.columns} | dict(more or {})
    return without_zones(pa.table({name: pa.array([], arrow_type(type)) for name, type in types.items()}))
