"""The reference as something that runs programs: it keeps the whole history and asks the slow SQL.

Windows are answered when the watermark reaches their end, from the rows that are there by then. As long as no
row is late the moment does not matter, so they are computed as late as can be: before a late row comes in, or
when somebody asks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from weft.kernels.arrow import arrow_type
from weft.lang.bodies import Emission
from weft.plan.nodes import Program, Query, Related, Stream, Table
from weft.plan.relationpatterns import has_lives
from weft.plan.relations import Emitted, Relation
from weft.plan.relationtree import rows_read, streams
from weft.reference import dead_sql, late_sql, reference_sql, relation_sql
from weft.reference.script import FROM, TO
from weft.reference.translate import duckdb_expression
from weft.testing.harness import bound, source_columns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

END_OF_TIME = 2**62
BATCH = "_weft_batch"


@dataclass
class Clock:
    """Of one stream: its watermark, and up to where windows have been computed."""

    watermark: int | None = None
    computed: int | None = None
    greatest: int | None = None  # event time


@dataclass
class Oracle:
    """Implements Adapter but for where the rows are kept and who runs the SQL."""

    strict_types = False
    dialect = "duckdb"
    program: Program = field(default_factory=lambda: Program((), ()))
    clocks: dict[str, Clock] = field(default_factory=dict)
    answers: dict[str, list[pa.Table]] = field(default_factory=dict)
    missed: dict[str, int] = field(default_factory=dict)
    floors: dict[str, int] = field(default_factory=dict)  # of queries added later: their windows start after
    behind: dict[str, dict[str, int]] = field(default_factory=dict)  # the same of relations, by stream
    versions: dict[str, list[tuple[int, pa.Table]]] = field(default_factory=dict)  # of tables, by since when

    def start(self, program: str) -> None:
        self.program = bound(program)
        self.clocks = {stream.name: Clock() for stream in self.program.streams}
        self.answers = {query.name: [] for query in self.program.queries}
        self.missed = dict.fromkeys(self.answers, 0)
        for stream in self.program.streams:
            self._append(stream, _empty(stream))
        for table in self.program.tables:
            if table.flow is None:
                self.revise(table.name, _empty(table))

    def change(self, program: str) -> None:
        for stream in self.program.streams:
            self._compute(stream, self.clocks[stream.name].watermark)
        self.program = bound(program)
        for query in self.program.queries:
            if query.name in self.answers:
                continue
            if isinstance(query.plan, Related):
                self._begin(query.name)
            else:
                assert _is_windowed(query), (
                    "which rows came after a standing filter no SQL over the history tells"
                )
                greatest = self.clocks[self._stream(query).name].greatest
                self.floors |= {} if greatest is None else {query.name: greatest}
                self.answers[query.name], self.missed[query.name] = [], 0
                self.answers[query.name].append(self._answer(query, -END_OF_TIME, None))

    def ingest(self, stream: str, rows: pa.Table) -> None:
        declared, clock = self.program.stream(stream), self.clocks[stream]
        times = rows[declared.statement.time_column].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
        if clock.watermark is not None and pc.any(pc.less(times, clock.watermark)).as_py():
            self._compute(declared, clock.watermark)
            self._count_late(declared, rows, clock.watermark)
        self._append(declared, rows)
        greatest = pc.max(times).as_py()
        if greatest is not None:
            clock.greatest = max(greatest, clock.greatest or greatest)
            reached = greatest - declared.statement.delay
            clock.watermark = reached if clock.watermark is None else max(clock.watermark, reached)

    def revise(self, table: str, rows: pa.Table) -> None:
        """The rows that the table ever had, each from when to when."""
        told = [clock.greatest for clock in self.clocks.values()]
        told += [None if clock.watermark is None else clock.watermark - 1 for clock in self.clocks.values()]
        since = max((at for at in told if at is not None), default=-END_OF_TIME)
        known = self.versions.setdefault(table, [])
        known.append((since + 1, rows))
        ends = [*(start for start, _ in known[1:]), None]
        self._replace(table, pa.concat_tables(_during(*each, end) for each, end in zip(known, ends)))

    def drain(self, to: int | None) -> None:
        for stream in self.program.streams:
            clock = self.clocks[stream.name]
            if to is None:
                self._compute(stream, clock.watermark)
                self._compute(stream, None)
                clock.watermark = clock.computed = END_OF_TIME
            else:
                clock.watermark = to if clock.watermark is None else max(to, clock.watermark)

    def results(self, query: str) -> pa.Table:
        asked = self._query(query)
        if isinstance(asked.plan, Related):
            return self._told(query, asked.plan.relation)
        stream = self._stream(asked)
        if not _is_windowed(asked):
            return self.run(reference_sql(asked, stream, dialect=self.dialect))
        self._compute(stream, self.clocks[stream.name].watermark)
        return pa.concat_tables(self.answers[query])

    def _begin(self, query: str) -> None:
        """From now on it sees the rows of each stream that are later than those that have come."""
        seen = {name: clock.greatest for name, clock in self.clocks.items() if clock.greatest is not None}
        self.behind[query], self.answers[query], self.missed[query] = seen, [], 0

    def _told(self, query: str, relation: Relation) -> pa.Table:
        """What is final of a relation, which depends on the stream that is furthest behind.

        Rows that have lives of their own are told as they come, unless they look up what a stream changes. A
        row that is late is none of SQL's business.
        """
        assert isinstance(relation, Emitted)
        early = relation.emission is Emission.LIVES and has_lives(relation.source)
        awaited = set(streams(relation)) - (rows_read(relation) if early else set())
        marks = [self.clocks[name].watermark for name in awaited]
        upto = min([END_OF_TIME, *((-END_OF_TIME if mark is None else mark) for mark in marks)])
        return self.run(
            relation_sql(
                relation,
                self.program.streams,
                dialect=self.dialect,
                tables=self.program.tables,
                upto=None if upto == END_OF_TIME else upto,
                after=self.behind.get(query),
            )
        )

    def late(self, query: str) -> int:
        return self.missed[query]

    def dead(self, query: str) -> int:
        asked = self._query(query)
        return int(self.run(dead_sql(asked, self._stream(asked), dialect=self.dialect))[0][0].as_py())

    def _compute(self, stream: Stream, upto: int | None) -> None:
        """Answer the windows of the stream's queries that end after what is computed and up to `upto`."""
        clock = self.clocks[stream.name]
        if upto is not None and upto == clock.computed:
            return
        for query in self._plain():
            if self._stream(query) is stream and _is_windowed(query):
                # With no watermark yet no window is answered, but the columns must be known.
                watermark = -END_OF_TIME if clock.watermark is None and upto is None else upto
                self.answers[query.name].append(self._answer(query, watermark, clock.computed))
        clock.computed = clock.watermark if upto is None else upto

    def _answer(self, query: Query, watermark: int | None, since: int | None) -> pa.Table:
        stream = self._stream(query)
        sql = reference_sql(query, stream, dialect=self.dialect, watermark=watermark, since=since)
        rows, floor = self.run(sql), self.floors.get(query.name)
        if floor is None:
            return rows
        starts = rows["window_start"].cast(pa.timestamp("us")).cast(pa.int64())
        return rows.filter(pc.greater(starts, floor))

    def _count_late(self, stream: Stream, rows: pa.Table, watermark: int) -> None:
        self._replace_batch(stream, rows)
        for query in self._plain():
            if self._stream(query) is stream:
                sql = late_sql(query, stream, dialect=self.dialect, watermark=watermark, table=BATCH)
                self.missed[query.name] += int(self.run(sql)[0][0].as_py())

    def _plain(self) -> list[Query]:
        """The queries over one stream."""
        return [query for query in self.program.queries if not isinstance(query.plan, Related)]

    def _query(self, name: str) -> Query:
        return next(query for query in self.program.queries if query.name == name)

    def _stream(self, query: Query) -> Stream:
        return self.program.stream(query.statement.select.source.stream)

    def run(self, sql: str) -> pa.Table:
        raise NotImplementedError

    def _append(self, stream: Stream, rows: pa.Table) -> None:
        raise NotImplementedError

    def _replace(self, table: str, rows: pa.Table) -> None:
        raise NotImplementedError

    def _replace_batch(self, stream: Stream, rows: pa.Table) -> None:
        raise NotImplementedError


class DuckOracle(Oracle):
    """The reference on DuckDB."""

    def __init__(self) -> None:
        super().__init__()
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("SET TimeZone = 'UTC'")

    def run(self, sql: str) -> pa.Table:
        return self.connection.sql(sql).to_arrow_table()

    def _append(self, stream: Stream, rows: pa.Table) -> None:
        self._replace_batch(stream, rows)
        self.connection.execute(f'CREATE TABLE IF NOT EXISTS "{stream.name}" AS FROM {BATCH} LIMIT 0')
        self.connection.execute(f'INSERT INTO "{stream.name}" FROM {BATCH}')

    def _replace(self, table: str, rows: pa.Table) -> None:
        self.connection.register("_weft_rows", without_zones(rows))
        self.connection.execute(f'CREATE OR REPLACE TABLE "{table}" AS FROM _weft_rows')
        self.connection.unregister("_weft_rows")

    def _replace_batch(self, stream: Stream, rows: pa.Table) -> None:
        self.connection.register("_weft_rows", without_zones(rows))
        self.connection.execute(
            f"CREATE OR REPLACE TABLE {BATCH} AS SELECT {_columns(stream)} FROM _weft_rows"
        )
        self.connection.unregister("_weft_rows")


class SparkOracle(Oracle):
    """The reference as batch SQL on Spark, for what DuckDB judges differently."""

    dialect = "spark"

    def __init__(self, spark: SparkSession) -> None:
        super().__init__()
        self.spark = spark
        self.history: dict[str, Any] = {}

    def run(self, sql: str) -> pa.Table:
        return self.spark.sql(sql).toArrow()

    def _append(self, stream: Stream, rows: pa.Table) -> None:
        known = [self.history[stream.name]] if stream.name in self.history else []
        self.history[stream.name] = pa.concat_tables([*known, rows]).combine_chunks()
        self._view(stream, self.history[stream.name], stream.name)

    def _replace(self, table: str, rows: pa.Table) -> None:
        self.spark.createDataFrame(rows.combine_chunks()).createOrReplaceTempView(f"`{table}`")

    def _replace_batch(self, stream: Stream, rows: pa.Table) -> None:
        self._view(stream, rows, BATCH)

    def _view(self, stream: Stream, rows: pa.Table, name: str) -> None:
        computed_frame(self.spark, stream, rows).createOrReplaceTempView(f"`{name}`")


def computed_frame(spark: SparkSession, stream: Stream, rows: pa.Table) -> Any:
    """The rows as a DataFrame with the computed columns of the stream."""
    frame = spark.createDataFrame(rows)
    columns = [
        f"`{column.name}`" if column.expr is None else f"{column.expr.sql} AS `{column.name}`"
        for column in stream.statement.columns
    ]
    return frame.selectExpr(*columns)


def _empty(source: Stream | Table) -> pa.Table:
    return pa.table({name: pa.array([], arrow_type(type)) for name, type in source_columns(source).items()})


def _during(start: int, rows: pa.Table, end: int | None) -> pa.Table:
    times = [pa.array([at] * rows.num_rows, pa.int64()) for at in (start, end)]
    return pa.table([*rows.columns, *times], names=[*rows.column_names, FROM, TO])


def _is_windowed(query: Query) -> bool:
    return query.statement.select.source.window is not None


def without_zones(rows: pa.Table) -> pa.Table:
    """DuckDB's plain TIMESTAMP is what Spark's is in UTC."""
    fields = [
        pa.field(item.name, pa.timestamp("us")) if pa.types.is_timestamp(item.type) else item
        for item in rows.schema
    ]
    return rows.cast(pa.schema(fields))


def _columns(stream: Stream) -> str:
    """The columns of the stream over its source's; a computed one is null where it fails."""
    types = {column.name: column.type for column in stream.columns}
    return ", ".join(
        f'"{column.name}"'
        if column.expr is None
        else f'TRY({duckdb_expression(column.expr, types)}) AS "{column.name}"'
        for column in stream.statement.columns
    )
