"""The same work by plain Spark, as its documentation would have it done."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.data import DISORDER, SCHEMA


def aggregate_slices(spark: SparkSession, files: Path) -> None:
    """One batch aggregation of all files into slices of one second by key, thrown away.

    It computes the partials that the programs of `programs.draw` need, and so is the least that any plan on
    Spark can cost: read once, aggregate once.
    """
    second = F.expr("unix_micros(ts) - pmod(unix_micros(ts), 1000000)").alias("slice")
    partials = [F.count(F.lit(1)).alias("n")]
    for column in ("price", "qty"):
        partials += [f(column).alias(f"{f.__name__}_{column}") for f in (F.sum, F.min, F.max)]
    rows = spark.read.schema(SCHEMA).parquet(str(files))
    rows.groupBy(second, "key").agg(*partials).write.format("noop").mode("overwrite").save()


def stream_windows(spark: SparkSession, files: Path, *, range_s: int, slide_s: int, part: int) -> None:
    """`groupBy(window(...))` in Structured Streaming over the first `part` files, one a batch, into noop."""
    windowed = _windows(_stream(spark, files, part), range_s, slide_s)
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as checkpoint:
        query = (
            windowed.writeStream.format("noop")
            .outputMode("append")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()


def _stream(spark: SparkSession, files: Path, part: int) -> DataFrame:
    names = ",".join(f"part-{number:05d}.parquet" for number in range(part))
    return (
        spark.readStream.schema(SCHEMA)
        .option("maxFilesPerTrigger", 1)
        .option("pathGlobFilter", f"{{{names}}}")
        .parquet(str(files))
        .withWatermark("ts", f"{DISORDER} microseconds")
    )


def _windows(rows: DataFrame, range_s: int, slide_s: int) -> DataFrame:
    window = F.window("ts", f"{range_s} seconds", f"{slide_s} seconds")
    return rows.groupBy(window, "key").agg(F.avg("price").alias("value"))
