"""Structured Streaming as its documentation has it: `groupBy(window(...))`, all streaming queries at once."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.contestants.spark import OnSpark, stream
from benchmarks.programs import WindowQuery
from benchmarks.workload import Workload


class Side(OnSpark):
    def run(self, workload: Workload, files: Path, out: Path | None) -> None:
        with tempfile.TemporaryDirectory(prefix="weft-bench-") as checkpoints:
            started = [
                _start(
                    query,
                    _windows(query, stream(self.spark, workload.data, files)),
                    Path(checkpoints),
                    out,
                )
                for query in workload.queries
            ]
            for running in started:
                running.awaitTermination()


def _start(query: WindowQuery, answers: DataFrame, checkpoints: Path, out: Path | None) -> StreamingQuery:
    writer = answers.writeStream.outputMode("append").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(checkpoints / query.name))
    if out is None:
        return writer.format("noop").start()
    return writer.format("parquet").option("path", str(out / f"query={query.name}")).start()


def _windows(query: WindowQuery, rows: DataFrame) -> DataFrame:
    if query.where:
        rows = rows.where(query.where)
    window = F.window("ts", f"{query.range} seconds", f"{query.slide} seconds")
    keys = ["key"] if query.keyed else []
    value = F.expr(query.aggregate).alias("value")
    return (
        rows.groupBy(window, *keys)
        .agg(value)
        .select("window.end", *keys, "value")
        .toDF("window_end", *keys, "value")
    )
