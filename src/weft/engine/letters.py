"""Dead letters: rows and answers that went wrong, each with the reason."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

DEAD = "dead:"  # begins the keys of tables with dead letters


def by_query(dead: pa.Table, stream: str) -> dict[str, pa.Table]:
    """The dead letters of a batch by query; those of the stream itself under its name."""
    queries = dead.column("query").fill_null(stream)
    return {name.as_py(): dead.filter(pc.equal(queries, name)) for name in pc.unique(queries)}


def of_answers(query: str, failed: pa.Table) -> pa.Table:
    """Answers that could not be computed, as dead letters."""
    count = failed.num_rows
    rows = [str(row) for row in failed.drop_columns(["window_start"]).to_pylist()]
    return pa.table(
        {
            "query": pa.array([query] * count, pa.string()),
            "reason": pa.array(["an expression over the aggregates of this window fails"] * count),
            "event_time": failed.column("window_end"),
            "row": pa.array(rows, pa.string()),
        }
    )
