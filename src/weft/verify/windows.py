"""Windows of one stream, and standing filters: their answers compared with plain Spark SQL over all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from weft import results
from weft.engine.windows import Reach
from weft.log.answers import AnswerRecord
from weft.log.catalog import QueryVersion
from weft.log.home import Home
from weft.plan.nodes import Program, Query
from weft.reference import reference_sql
from weft.share.parts import parts
from weft.testing.compare import bounds, difference
from weft.testing.values import rows_of
from weft.times import BEGINNING, Instant
from weft.verify.verification import Verification

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def verify_windows(
    spark: SparkSession, home: Home, program: Program, query: Query, version: QueryVersion, last: AnswerRecord
) -> Verification:
    """Compare the answers of a query with the ones that plain SQL gives over the committed input."""
    from weft.spark.checkpoint import checkpoint_of  # noqa: PLC0415  imports pyspark
    from weft.spark.committed import read_committed  # noqa: PLC0415

    written = list(results.tables(results.find(home.path, query.name, version.version)))
    found = pa.concat_tables(written) if written else pa.table({})
    taken = parts(query)
    stream = program.stream(taken.stream)
    rows = read_committed(
        spark, stream, checkpoint_of(home, stream.name), last.meta["positions"].get(stream.name, -1)
    )
    if rows is None:
        note = f"its source ({stream.statement.format}) cannot be read again"
        return Verification(query.name, _windows(found), found.num_rows, False, [], note)
    rows.createOrReplaceTempView("_weft_committed")
    sql = reference_sql(
        query,
        stream,
        dialect="spark",
        watermark=_upto(last, query),
        after=version.bound,
        table="_weft_committed",
    )
    expected = spark.sql(sql).toArrow()
    differences = difference(rows_of(expected), rows_of(found), bounds(query)).splitlines()
    return Verification(
        query.name, _windows(found), found.num_rows, not differences, differences, _note(last, version)
    )


def _upto(last: AnswerRecord, query: Query) -> Instant | None:
    """How far the windows of the query have been answered."""
    taken = parts(query)
    if taken.window is None:
        return None
    watermark, drained = last.meta["reach"].get(taken.stream, [BEGINNING, BEGINNING])
    return Reach(watermark, drained).upto(taken.window.range)


def _windows(found: pa.Table) -> int:
    return len(found.column("window_end").unique()) if "window_end" in found.column_names else 0


def _note(last: AnswerRecord, version: QueryVersion) -> str:
    late = last.meta["counts"].get("late", {}).get(version.key, 0)
    return f"{late} rows of the last step came too late and are in no answer" if late else ""
