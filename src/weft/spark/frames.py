"""Arrow tables as DataFrames."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession


def frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The rows of the table, all of them.

    Spark 4.3 leaves out what follows an empty chunk, so the table is handed over in one piece.
    """
    return spark.createDataFrame(table.combine_chunks())
