"""Level 1: all root feeds of a stream out of one batch, in one aggregation over one scan.

    batch ─► event time, slice or status, keys, predicates ─► group by (slice, keys) ─► cells

Rows that no aggregate query wants, and rows without a usable event time, fall into one group per status, so
that they are counted by the same pass.
"""

from __future__ import annotations

from itertools import count

import pyarrow as pa
from pyspark.sql import DataFrame

from weft.share.nodes import StreamPlan
from weft.spark.rowsql import bad_rows_sql, rows_sql, standing_sql
from weft.spark.sql import CORRUPT, level1_sql

_views = count()
_PLACE_IN_PARTITION = (1 << 33) - 1  # the bits of Spark's row ids that count within a partition


def level1(batch: DataFrame, plan: StreamPlan, now: int | None, watermark: int | None) -> DataFrame:
    """The cells of a batch: `feed, status, slice, g*, f*_p*, rows, min_ts, max_ts, late, e*`."""
    return over_batch(batch, level1_sql(plan, "{batch}", CORRUPT in batch.columns, now, watermark))


def small_rows(batch: DataFrame, plan: StreamPlan, now: int | None, most: int | None = None) -> DataFrame:
    """The rows of a small batch with every expression evaluated, for `engine.rowcells` to aggregate.

    One job without shuffle or aggregation gives all that `level1` and `standing` would need two for. No more
    than `most` rows of each partition are given: a batch larger than thought must not flood the driver.
    """
    if most is not None:
        batch = batch.where(f"(monotonically_increasing_id() & {_PLACE_IN_PARTITION}L) < {most}L")
    return over_batch(batch, rows_sql(plan, "{batch}", CORRUPT in batch.columns, now))


def collect(cells: DataFrame) -> pa.Table:
    """The cells as one Arrow table, timestamps in UTC microseconds."""
    return cells.toArrow()


def bad_rows(
    batch: DataFrame, plan: StreamPlan, now: int | None, watermark: int | None, late: bool
) -> DataFrame:
    """`query, reason, event_time, row` of the rows that cannot be taken or fail; of late ones too if asked.

    `query` is null where the row concerns the whole stream.
    """
    columns = [name for name in batch.columns if name != CORRUPT]
    bound = watermark if late else None
    return over_batch(batch, bad_rows_sql(plan, "{batch}", columns, CORRUPT in batch.columns, now, bound))


def standing(batch: DataFrame, plan: StreamPlan, now: int | None) -> DataFrame:
    """The rows of all standing filters: `q`, which filter, and its columns `s<q>_<i>`."""
    return over_batch(batch, standing_sql(plan, "{batch}", CORRUPT in batch.columns, now))


def over_batch(batch: DataFrame, sql: str) -> DataFrame:
    """`sql` with the batch where it says `{batch}`.

    One text for the whole query: each expression handed over by itself would cost a round trip to the JVM.
    """
    view = f"_weft_batch_{next(_views)}"
    batch.createOrReplaceTempView(view)
    session = batch.sparkSession
    try:
        return session.sql(sql.replace("{batch}", view))
    finally:
        session.catalog.dropTempView(view)
