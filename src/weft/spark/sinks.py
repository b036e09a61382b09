"""Answers -> any Spark batch sink, by its format name.

What a sink promises is its own: Spark's writers add rows, so after a crash between writing and noting the
position the last rows come again. Each row carries its identity (window end and group keys) to tell.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from weft.errors import QueryError, RunError
from weft.kernels.plain import is_stored_flat, stored
from weft.lang.statements import Sink
from weft.spark.complaints import SPARK_ERRORS, complaint
from weft.spark.frames import frame

Write = Callable[[pa.Table], None]


def spark_writer(spark: SparkSession, sink: Sink) -> Write:
    """A function that adds a table of answers to the sink."""
    match sink.format:
        case "noop":
            return touch
        case "memory":
            return _memory_writer(spark, sink)
        case _:
            return _batch_writer(spark, sink)


def touch(table: pa.Table) -> None:
    """Read every value of every column, and keep nothing."""
    for column in table.columns:
        for chunk in column.chunks:
            for values in _memory_of(chunk):
                if values.size:
                    values.max()


def _memory_of(chunk: pa.Array) -> list[npt.NDArray[Any]]:
    if is_stored_flat(chunk.type):
        return [stored(chunk)]
    return [np.frombuffer(buffer, np.uint8) for buffer in chunk.buffers() if buffer is not None]


def _memory_writer(spark: SparkSession, sink: Sink) -> Write:
    """Rows under the name of a temporary view, for as long as the session lasts."""
    name = dict(sink.options).get("name")
    if name is None:
        raise QueryError(
            "option-missing",
            "the memory sink does not say under which name its rows are to be found",
            at=sink.place,
            help="INTO memory OPTIONS ('name' = 'my_view')",
        )
    directory = tempfile.mkdtemp(prefix="weft-memory-")

    def write(table: pa.Table) -> None:
        rows = frame(spark, table)
        rows.write.mode("append").parquet(directory)
        spark.read.schema(rows.schema).parquet(directory).createOrReplaceTempView(name)

    return _told(sink, write)


def _batch_writer(spark: SparkSession, sink: Sink) -> Write:
    options = dict(sink.options)

    def write(table: pa.Table) -> None:
        rows = frame(spark, table)
        rows = _as_messages(rows) if sink.format == "kafka" else rows
        rows.write.format(sink.format).options(**options).mode("append").save()

    return _told(sink, write)


def _as_messages(rows: DataFrame) -> DataFrame:
    """Kafka takes a value: the row as JSON, unless the query itself gives one."""
    return rows if "value" in rows.columns else rows.selectExpr("to_json(struct(*)) AS value")


def _told(sink: Sink, write: Write) -> Write:
    """`write` with Spark's complaints as ours."""

    def told(table: pa.Table) -> None:
        try:
            write(table)
        except SPARK_ERRORS as error:
            raise RunError(
                "sink-failed",
                f"sink {sink.format} takes no rows: {complaint(error)}",
                at=sink.place,
                help="check its options, and that its connector is on Spark's class path",
            ) from error

    return told
