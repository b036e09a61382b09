"""Relations over a stream and a table, carried out without Spark, and what they ought to be.

stream quotes (k, v, ts), table names (k, w)      columns `_s0_k, _s0_v` and `_s1_k, _s1_w`
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import parse_one

from weft.engine.batch import Batch
from weft.engine.intake import INTAKE
from weft.engine.runtime import Runtime
from weft.kernels.arrow import TIME
from weft.lang.bodies import Emission
from weft.lang.dialect import Weft
from weft.lang.expressions import expr
from weft.lang.parse import parse_program
from weft.lang.statements import ColumnDef, CreateTable, Expr
from weft.log.home import Home
from weft.plan.bind import bind_program
from weft.plan.nodes import Column, Named, Program, Query, Related, Table
from weft.plan.relations import Emitted, Entries, Made, Relation, Rows
from weft.plan.relationtree import columns
from weft.share.nodes import StreamPlan
from weft.share.rowcolumns import key_layout
from weft.times import SECOND, Duration

STREAMS = """
CREATE STREAM quotes (k STRING, v BIGINT, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 3 SECONDS MAX AHEAD OFF FROM parquet OPTIONS ('path' = 'unread');
CREATE STREAM orders (k STRING, v BIGINT, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 0 SECONDS MAX AHEAD OFF FROM parquet OPTIONS ('path' = 'unread');
"""
ROWS = pa.schema([("k", pa.string()), ("v", pa.int64()), ("ts", TIME)])
ENTRIES = pa.schema([("k", pa.string()), ("w", pa.int64())])
NAMES = Table(
    "names",
    (Column("k", "string"), Column("w", "bigint")),
    CreateTable("names", (ColumnDef("k", "string"), ColumnDef("w", "bigint")), "parquet"),
)

Row = tuple[str | None, int, int]  # key, value, event time in seconds
Entry = tuple[str | None, int]


def sql(text: str) -> Expr:
    return expr(parse_one(text, dialect=Weft))


def rows(stream: str = "quotes", range_: Duration | None = 10 * SECOND, at: int = 0) -> Rows:
    """All rows of a stream, as source number `at`."""
    items = (Named(f"_s{at}_k", sql("k"), "string"), Named(f"_s{at}_v", sql("v"), "bigint"))
    return Rows(stream, items, None, range_)


def entries(retroactive: bool = False, where: str | None = None, at: int = 1) -> Entries:
    items = (Named(f"_s{at}_k", sql("k"), "string"), Named(f"_s{at}_w", sql("w"), "bigint"))
    return Entries("names", items, None if where is None else sql(where), retroactive)


def made(source: Relation, emission: Emission = Emission.LIVES) -> Emitted:
    """All columns of a relation, told."""
    items = tuple(Named(column.name, sql(column.name), column.type) for column in columns(source))
    return Emitted(Made(source, items), emission)


def program(table: Table = NAMES, **relations: Emitted) -> Program:
    """These queries over the streams and the table."""
    streams = bind_program(parse_program(STREAMS))
    queries = []
    for name, relation in relations.items():
        text = f"CREATE QUERY {name} AS SELECT COUNT(*) AS n FROM quotes [RANGE 1 SECOND]"
        (query,) = bind_program(parse_program(STREAMS + text)).queries
        queries.append(replace(query, plan=Related(relation)))
    used: tuple[Query, ...] = tuple(queries)
    return replace(streams, queries=used, tables=(table,))


def batch(given: Iterable[Row]) -> pa.Table:
    """Rows of a stream."""
    given = list(given)
    times = pa.array([ts * SECOND for _, _, ts in given], pa.int64()).cast(TIME)
    return pa.table([[k for k, _, _ in given], [v for _, v, _ in given], times], schema=ROWS)


def table(given: Iterable[Entry]) -> pa.Table:
    """Rows of the table."""
    return pa.Table.from_pylist([{"k": k, "w": w} for k, w in given], ENTRIES)


def intake(plan: StreamPlan, given: pa.Table) -> pa.Table:
    """What Spark would have made of rows for the relations that read them."""
    assert plan.intake is not None
    db = _database()
    db.register("given", given)
    items = ", ".join(f'{item.expr.sql} AS "{item.name}"' for item in plan.intake.items)
    where = "TRUE" if plan.intake.where is None else plan.intake.where.sql
    return db.sql(f"SELECT {items} FROM given WHERE {where}").to_arrow_table()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    db = duckdb.connect(config={"threads": 1})
    db.execute("SET TimeZone = 'UTC'")
    return db


class History:
    """All rows and versions that there were, and what a relation is as of any time: slow, and right."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.versions: list[
            tuple[int | None, list[Entry]]
        ] = []  # since, in seconds; None: from the beginning

    def version(self, at: int) -> list[Entry]:
        """The entries that a row at this time sees."""
        seen = [found for since, found in self.versions if since is None or since < at]
        return seen[-1] if seen else []

    def lookups(self, match: Callable[[Row, list[Entry]], Iterable[tuple[Any, ...]]]) -> Counter[Any]:
        """What rows have found: with when they come and go, in a window of 10 seconds."""
        found = ((row, each) for row in self.rows for each in match(row, self.version(row[2])))
        return Counter((row[2], row[2] + 10, *each) for row, each in found)

    def asof(self, at: int, join: Callable[[list[Row], list[Entry]], Iterable[Any]]) -> Counter[Any]:
        alive = [row for row in self.rows if row[2] <= at < row[2] + 10]
        return Counter(join(alive, self.version(at)))


def seconds(at: datetime | None) -> int | None:
    """The first whole second from then on: as of whole seconds that is the same."""
    return None if at is None else -(-round(at.timestamp() * SECOND) // SECOND)


def told(answers: pa.Table | None) -> list[tuple[Any, ...]]:
    """Answers as tuples, times in seconds."""
    found = [] if answers is None else answers.to_pylist()
    return [tuple(seconds(v) if isinstance(v, datetime) else v for v in row.values()) for row in found]


def bag(changes: Sequence[tuple[Any, ...]], at: int) -> Counter[Any]:
    """What is there as of a time, of answers with `change` and `changed_at` before their own columns."""
    there: Counter[Any] = Counter()
    for sign, time, *row in changes:
        if time is None or time <= at:
            there[tuple(row)] += 1 if sign == "+" else -1
    assert not any(count < 0 for count in there.values())
    return +there


class Desk:
    """A program over streams and tables on a home, fed by hand; `again` forgets what is in memory."""

    def __init__(self, path: Path, made_of: Program) -> None:
        self.path, self.program = path, made_of
        self.home = Home.open(path / "home")
        self.runtime = Runtime(self.home, made_of, lambda jobs: [])

    def again(self, made_of: Program | None = None) -> Desk:
        self.home.close()
        return Desk(self.path, made_of or self.program)

    def refresh(self, *given: Entry) -> bool:
        return self.runtime.refresh("names", table(given))

    def ingest(self, *given: Row, stream: str = "quotes") -> None:
        """One batch, durable."""
        epoch, plan, _ = self.runtime.terms(stream)
        assert plan is not None
        rows_ = batch(given)
        times = [row[2] * SECOND for row in given]
        counts = {"feed": [-1], "status": [1], "slice": [None], "rows": [len(given)], "late": [0]}
        counts |= {"min_ts": [min(times)], "max_ts": [max(times)]}
        self.runtime.commit(
            Batch(
                stream=stream,
                number=self.runtime.logs[stream].next,
                table=pa.table(counts).cast(_COUNTED),
                layout=key_layout(plan),
                epoch=epoch,
                plan=plan,
                standing={INTAKE: intake(plan, rows_)},
                dead=None,
                spark_id="",
                now=0,
                started=0.0,
            )
        )

    def answers(self, query: str) -> list[tuple[Any, ...]]:
        """All that was told so far."""
        log, key = self.runtime.answers, self.runtime.running[query].key
        return [row for record in log.records() for row in told(log.read(record, key))]


_COUNTED = pa.schema([
    ("feed", pa.int32()), ("status", pa.int32()), ("slice", pa.int64()), ("rows", pa.int64()),
    ("late", pa.int64()), ("min_ts", pa.int64()), ("max_ts", pa.int64()),
])  # fmt: skip
