"""The engine without Spark: level 1 tables made by DuckDB, with the columns that Spark's level 1 gives.

Bench(path, text)     opens the home in `path` with a program, as `weft run` does, real sinks included
bench.ingest(rows)    one batch; bench.step(), bench.drain(), bench.deliver() go on from there
bench.change(text)    puts another program in force, from the next batch on
bench.close()         forgets all that is in memory, as a crash does
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from tests.stores import url
from tests.unit.engine.crew import LocalCrew
from weft.engine.batch import Batch
from weft.engine.delivery import Delivery
from weft.engine.epochs import Texts
from weft.engine.runtime import Runtime
from weft.lang.parse import parse_program
from weft.log.catalog import Catalog
from weft.log.home import Home, file_name
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.plan.nodes import Program, Query, Stream
from weft.share.nodes import Op, Partial, StreamPlan
from weft.share.parts import parts
from weft.share.rowcolumns import key_layout
from weft.share.signatures import COLUMN, by_columns, signatures_in
from weft.spark.intervals import key_sql
from weft.spark.outlets import Outlets, check_sinks
from weft.spark.signatures import covers_sql, signature_sql

STREAM = """
CREATE STREAM trades (sym STRING, price DOUBLE, qty BIGINT, note STRING, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 4 SECONDS FROM parquet OPTIONS ('path' = 'unread');
"""
COLUMNS = pa.schema(
    [
        ("sym", pa.string()),
        ("price", pa.float64()),
        ("qty", pa.int64()),
        ("note", pa.string()),
        ("ts", pa.timestamp("us", tz="UTC")),
    ]
)

Row = tuple[str, float, int, str, float]  # the columns of `trades`, event time in seconds


class Bench:
    """A program on a home, fed by hand."""

    buckets = 0  # in how many buckets new benches hold their cells; 0: in memory here
    store = "here"  # where new benches have their homes: one of tests.stores

    def __init__(self, path: Path, text: str, stream: str = STREAM) -> None:
        self.path, self.text = path, text
        crew = LocalCrew(self.buckets) if self.buckets else None
        self.home = Home.open(url(self.store, path / "home"))
        try:
            program = bound(stream + text)
            check_sinks(self.home, Catalog(self.home), program, Texts())
            self.runtime = Runtime(self.home, program, lambda jobs: [], crew)
            self.delivery = Delivery(self.home, self.runtime.answers)
            self.outlets = Outlets(cast(Any, None), self.runtime, self.delivery)
            self.outlets.open_all()
        except BaseException:
            self.home.close()
            raise

    def close(self) -> None:
        self.home.close()

    def change(self, text: str, stream: str = STREAM) -> None:
        """Put another program in force, as a session does: what stays is the very object."""
        program, before = bound(stream + text), self.runtime.program
        queries, streams = _kept(program.queries, before.queries), _kept(program.streams, before.streams)
        self.runtime.change(replace(program, queries=queries, streams=streams))
        self.outlets.open_all()

    def batch(self, rows: Sequence[Row], stream: str = "trades") -> Batch:
        """Level 1 of the next batch of a stream, under the plan in force now."""
        epoch, plan, crew = self.runtime.terms(stream)
        assert plan is not None
        number, buckets = self.runtime.logs[stream].next, 0 if crew is None else crew.buckets
        return level1(rows, plan, epoch, number, buckets)

    def ingest(self, *rows: Row) -> None:
        self.runtime.commit(self.batch(rows))

    def step(self) -> None:
        while self.runtime.step():
            pass

    def drain(self) -> None:
        self.runtime.step(why="drain", drain=True)

    def deliver(self, flush: bool = True) -> None:
        self.outlets.open_dead(self.runtime.dead_keys())
        self.delivery.run_once(flush)
        self.runtime.release(self.delivery.least_position())

    def answers(self, query: str, version: int = 1) -> list[dict[str, Any]]:
        """What the result store of a query version shows."""
        return read(self.path / "home" / "results" / file_name(query) / f"v{version}")

    def dead(self, key: str) -> list[dict[str, Any]]:
        return read(self.path / "home" / "dead" / file_name(key))


One = TypeVar("One", Query, Stream)


def _kept(now: Sequence[One], before: Sequence[One]) -> tuple[One, ...]:
    known = {one.name: one for one in before}
    return tuple(known[one.name] if known.get(one.name) == one else one for one in now)


@cache
def bound(text: str) -> Program:
    return optimize_program(bind_program(parse_program(text)))


def read(directory: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet dataset, in an order of their own."""
    if not directory.exists():
        return []
    rows = ds.dataset(directory, format="parquet").to_table().to_pylist()
    return sorted(rows, key=lambda row: [str(value) for value in row.values()])


def level1(rows: Sequence[Row], plan: StreamPlan, epoch: int, number: int, buckets: int = 0) -> Batch:
    """What Spark would have made of these rows."""
    table = pa.table([list(column) for column in zip(*rows, strict=True)], schema=_seconds())
    db = _database()
    db.register("given", table)
    db.execute(
        "CREATE OR REPLACE TABLE taken AS SELECT * REPLACE (make_timestamp(ts) AS ts), ts AS t FROM given"
    )
    cells = [_cells(db, plan, root) for root in plan.roots] or [_counts(db, plan)]
    standing = {s.query.name: _standing(db, s) for s in plan.standing}
    dead = pa.concat_tables(_dead(db, plan)) if plan.guards else None
    return Batch(
        stream=plan.stream.name,
        number=number,
        table=pa.concat_tables(cells, promote_options="default"),
        layout=key_layout(plan),
        epoch=epoch,
        plan=plan,
        standing={name: found for name, found in standing.items() if found.num_rows},
        dead=dead,
        spark_id="",
        now=0,
        started=0.0,
        buckets=buckets,
    )


@cache
def _database() -> duckdb.DuckDBPyConnection:
    db = duckdb.connect(config={"threads": 1})
    db.execute("SET TimeZone = 'UTC'")
    return db


def _seconds() -> pa.Schema:
    """As given: event time in microseconds."""
    return COLUMNS.set(COLUMNS.get_field_index("ts"), pa.field("ts", pa.int64()))


def row(sym: str, price: float, qty: int, note: str, seconds: float) -> Row:
    return sym, price, qty, note, round(seconds * 1_000_000)


def _cells(db: duckdb.DuckDBPyConnection, plan: StreamPlan, root: int) -> pa.Table:
    feed = plan.feeds[root]
    keys = dict(zip((f"g{g}" for g in key_layout(plan)[root]), feed.keys, strict=True))
    parts_ = {
        f"f{root}_p{at}{suffix}": sql
        for at, partial in enumerate(feed.partials)
        for suffix, sql in _parts(partial).items()
    }
    signed = signatures_in(plan)
    wanted = covers_sql(by_columns(plan.wanted, signed)) if plan.wanted is not None else "TRUE"
    grain = plan.edges.grain
    assert grain is not None
    bits = [f"{signature_sql(one)} AS {COLUMN}{at}" for at, one in enumerate(signed)]
    taken = f"(SELECT {', '.join(['*', *bits])} FROM taken)"
    placed = f"CASE WHEN {wanted} THEN 0 ELSE 1 END AS status, t - t % {grain} AS start, *"
    counts = _count_columns(plan) if root == plan.roots[0] else {}
    columns = {
        "feed": str(root),
        "status": "status",
        "slice": "CASE WHEN status = 0 THEN start END",
        **{
            name: f"CASE WHEN status = 0 THEN {key_sql(by_columns(key, signed))} END"
            for name, key in keys.items()
        },
    }
    made = ", ".join(f"{sql} AS {name}" for name, sql in (columns | parts_ | counts).items())
    grouped = ", ".join(columns[name] for name in columns if name != "feed")
    return _typed(db.sql(f"SELECT {made} FROM (SELECT {placed} FROM {taken}) GROUP BY {grouped}"))


def _counts(db: duckdb.DuckDBPyConnection, plan: StreamPlan) -> pa.Table:
    columns = {"feed": "-1", "status": "1", "slice": "NULL::BIGINT", **_count_columns(plan)}
    return _typed(
        db.sql(f"SELECT {', '.join(f'{sql} AS {name}' for name, sql in columns.items())} FROM taken")
    )


def _count_columns(plan: StreamPlan) -> dict[str, str]:
    counted = {f"e{at}": f"count(CASE WHEN {g.fails.sql} THEN 1 END)" for at, g in enumerate(plan.guards)}
    return {"rows": "count(*)", "min_ts": "min(t)", "max_ts": "max(t)", "late": "0::BIGINT", **counted}


def _parts(partial: Partial) -> dict[str, str]:
    value = partial.arg.sql if partial.arg is not None else "1"
    taken = f"CASE WHEN {partial.where.sql} THEN {value} END" if partial.where is not None else value
    match partial.op:
        case Op.COUNT:
            return {"": f"count({taken})"}
        case Op.SUM_INT:
            return {"": f"sum({taken})::BIGINT"}
        case Op.SUM_LONG:
            return {
                "_hi": f"sum(({taken}) >> 32)::BIGINT",
                "_lo": f"sum(({taken}) & 4294967295)::BIGINT",
            }
        case Op.SUM_WIDE:
            units, cut = f"({taken})::HUGEINT", f"{1 << 64}::HUGEINT"
            return {
                "_hi": f"sum({units} // {cut})::DECIMAL(38,0)",
                "_lo": f"sum({units} % {cut})::DECIMAL(38,0)",
            }
        case Op.SUM_FLOAT:
            return {"": f"sum({taken})::DOUBLE"}
        case Op.MIN | Op.MAX:
            return {"": f"{partial.op}({taken})"}
        case _:
            raise NotImplementedError(partial.op)


def _standing(db: duckdb.DuckDBPyConnection, standing: Any) -> pa.Table:
    items = ", ".join(f'{item.expr.sql} AS "{item.name}"' for item in parts(standing.query).items)
    where = standing.where.sql if standing.where is not None else "TRUE"
    return _typed(db.sql(f"SELECT {items} FROM taken WHERE {where}"))


def _dead(db: duckdb.DuckDBPyConnection, plan: StreamPlan) -> list[pa.Table]:
    return [
        _with_reasons(
            db.sql(
                f"SELECT '{guard.query}' AS query, 'it fails' AS reason, ts::TIMESTAMPTZ AS event_time, "
                f"to_json(taken)::VARCHAR AS row FROM taken WHERE {guard.fails.sql}"
            )
        )
        for guard in plan.guards
    ]


def _with_reasons(made: duckdb.DuckDBPyRelation) -> pa.Table:
    """Of a text that stands in the query Spark says that it is never null."""
    table = _typed(made)
    at = table.schema.get_field_index("reason")
    return table.cast(table.schema.set(at, table.schema.field(at).with_nullable(False)))


def _typed(made: duckdb.DuckDBPyRelation) -> pa.Table:
    return made.to_arrow_table()
