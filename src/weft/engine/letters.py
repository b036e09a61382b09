"""Dead letters: rows and answers that went wrong, each with the reason."""

from __future__ import annotations

import pyarrow as pa


def by_query(dead: pa.Table, stream: str) -> dict[str, pa.Table]:
    """The dead letters of a batch by query; those of the stream itself under its name."""
    queries = dead.column("query").fill_null(stream).to_pylist()
    found: dict[str, pa.Table] = {}
    for name in dict.fromkeys(queries):
        found[name] = dead.filter(pa.array([query == name for query in queries]))
    return found


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
