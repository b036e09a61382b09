"""What the program must answer, from its files alone: brute force in DuckDB, an engine that shares nothing.

Without it a fault that both runs share would not be seen.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tests.chaos.compare import Row, compare, datasets
from tests.chaos.program import program
from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.reference.meaning import reference_sql

SCHEMA = pa.schema(
    [
        ("sym", pa.string()),
        ("price", pa.float64()),
        ("qty", pa.int64()),
        ("lots", pa.int32()),
        ("amount", pa.decimal128(12, 2)),
        ("venue", pa.string()),
        ("flag", pa.bool_()),
        ("note", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
    ]
)
ABOUT = ("about", "median")  # columns with a stated error: not for DuckDB to judge


def untrue(files: Sequence[Path], place: Path) -> list[str]:
    """What is wrong with the answers of a drained run; nothing when all is well."""
    bound = optimize_program(bind_program(parse_program(program())))
    found, told = datasets(place), []
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        db.register("given", _rows(files))
        columns = "* REPLACE (ts::TIMESTAMP AS ts), minute(ts)::INT AS minute"
        db.execute(f"CREATE TABLE trades AS SELECT {columns} FROM given")
        for query in bound.queries:
            name = f"home/results/{query.name}/v1" if query.sink is None else f"out/{query.name}"
            if query.sink is None or query.sink.format == "parquet":
                sql = reference_sql(query, bound.stream("trades"), dialect="duckdb")
                right = db.sql(sql).to_arrow_table()
                told += [f"{name}: {text}" for text in compare(_plain(right), _sure(found[name]))]
    return told


def _rows(files: Sequence[Path]) -> pa.Table:
    """The rows that parse and have an event time."""
    rows: list[dict[str, Any]] = []
    for line in (line for file in files for line in file.read_text().splitlines()):
        if not line.endswith("}"):
            continue  # broken
        row = json.loads(line)
        if "ts" in row:
            rows.append(row | {"amount": Decimal(row["amount"])})
    texts = pa.schema([SCHEMA.field(at) for at in range(len(SCHEMA) - 1)]).append(pa.field("ts", pa.string()))
    table = pa.Table.from_pylist(rows, texts)
    return table.set_column(len(SCHEMA) - 1, "ts", table.column("ts").cast(SCHEMA.field("ts").type))


def _plain(table: pa.Table) -> list[Row]:
    """Rows as the files of weft give them: instants in UTC."""
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            utc = table.column(at).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
            table = table.set_column(at, field.name, utc)
    return _sure(table.to_pylist())


def _sure(rows: Sequence[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in ABOUT} for row in rows]
