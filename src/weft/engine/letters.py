"""Dead letters: rows and answers that went wrong, each with the reason."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

DEAD = "dead:"  # begins the keys of tables with dead letters
_SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("reason", pa.string()),
        ("event_time", pa.timestamp("us", "UTC")),
        ("row", pa.string()),
    ]
)


def by_query(dead: pa.Table, stream: str) -> dict[str, pa.Table]:
    """The dead letters of a batch by query; those of the stream itself under its name.

    Spark says of some columns that they are never null, which makes tables of another kind.
    """
    dead = dead.select(_SCHEMA.names).cast(_SCHEMA)
    queries = dead.column("query").fill_null(stream)
    return {name.as_py(): dead.filter(pc.equal(queries, name)) for name in pc.unique(queries)}


def of_answers(query: str, failed: pa.Table) -> pa.Table:
    """Answers that could not be computed, as dead letters."""
    count = failed.num_rows
    rows = [str(row) for row in failed.drop_columns(["window_start"]).to_pylist()]
    reasons = ["an expression over the aggregates of this window fails"] * count
    return pa.table([[query] * count, reasons, failed.column("window_end"), rows], schema=_SCHEMA)
