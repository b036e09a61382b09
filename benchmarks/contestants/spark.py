"""What the contestants on Spark have in common: the session, and the files as rows with a time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from benchmarks.data import Data
from benchmarks.workload import Workload
from weft.spark.session import build_session

Reader = TypeVar("Reader", DataFrameReader, DataStreamReader)


class OnSpark:
    """A contestant with a Spark session, the one that weft builds: none is slower for its settings."""

    def __init__(self, memory: str) -> None:
        self.spark = build_session(f"local[{os.cpu_count()}]", {"spark.driver.memory": memory})

    def close(self) -> None:
        self.spark.stop()


class Scan(OnSpark):
    """Reads every column of every row in one batch, and nothing more."""

    def run(self, workload: Workload, files: Path, out: Path | None) -> None:
        read(self.spark, workload.data, files).write.format("noop").mode("overwrite").save()


def read(spark: SparkSession, data: Data, files: Path) -> DataFrame:
    """The rows of all files."""
    return _with_time(_described(spark.read, data).load(str(files)), data)


def stream(spark: SparkSession, data: Data, files: Path) -> DataFrame:
    """The rows as a stream, a file a batch, watermark included."""
    rows = _described(spark.readStream, data).option("maxFilesPerTrigger", 1).load(str(files))
    return _with_time(rows, data).withWatermark("ts", f"{data.disorder} seconds")


def _described(reader: Reader, data: Data) -> Reader:
    time = "us BIGINT" if data.format == "csv" else "ts TIMESTAMP"
    schema = ", ".join([*(f"{name} {kind}" for name, kind in data.columns.items()), time])
    return reader.schema(schema).format(data.format)


def _with_time(rows: DataFrame, data: Data) -> DataFrame:
    return rows.selectExpr(*data.columns, "timestamp_micros(us) AS ts") if data.format == "csv" else rows
