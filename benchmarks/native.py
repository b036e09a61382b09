"""A program as streams on Spark: by weft as one, and natively, each query its own `groupBy(window(...))`.

Both read file by file, a file a batch, and answer what has closed after each. The native queries run one by
one, each with the machine to itself. Two things are against weft: it drains at the end, so it also answers
the windows that the native queries leave open; and it keeps its answers in its log, where these throw them
away.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.drawn import Drawn, Query
from benchmarks.model import program
from weft.engine.cputime import tree_seconds
from weft.session import Session


def run_weft(spark: SparkSession, drawn: Drawn) -> float:
    """CPU-seconds of one job for all queries, from the first batch to the last."""
    with tempfile.TemporaryDirectory(prefix="weft-native-") as place:
        session = Session(spark, home=Path(place) / "home")
        session.sql(program([str(query) for query in drawn.queries], drawn.input.place))
        began = tree_seconds()
        session.start(drain=True).wait()
        taken = tree_seconds() - began
        session.stop()
    return taken


def run_native(spark: SparkSession, drawn: Drawn) -> float:
    """CPU-seconds of all queries."""
    began = tree_seconds()
    for query in drawn.queries:
        _run(_answers(spark, query, drawn.input.place), None)
    return tree_seconds() - began


def native_answers(spark: SparkSession, drawn: Drawn) -> dict[str, list[pa.Table]]:
    """What the queries answer."""
    with tempfile.TemporaryDirectory(prefix="weft-native-") as place:
        for query in drawn.queries:
            _run(_answers(spark, query, drawn.input.place), Path(place) / query.name)
        return {query.name: [_plain(pq.read_table(Path(place) / query.name))] for query in drawn.queries}


def _run(answers: DataFrame, out: Path | None) -> None:
    with tempfile.TemporaryDirectory(prefix="weft-native-") as checkpoint:
        writer = answers.writeStream.outputMode("append").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", checkpoint)
        writer = writer.format("noop") if out is None else writer.format("parquet").option("path", str(out))
        writer.start().awaitTermination()


def _answers(spark: SparkSession, query: Query, place: Path) -> DataFrame:
    """The windows that have closed; they end, not start, on multiples of the slide."""
    schema = spark.read.parquet(str(place)).schema
    rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(place))
    rows.withWatermark("ts", "0 seconds").createOrReplaceTempView("native_rows")
    lengths = f"'{query.range} milliseconds', '{query.slide} milliseconds'"
    start = f"'{-query.range % query.slide} milliseconds'"
    items = query.shown.replace("LAST(price)", "max_by(price, ts)")
    key = f", {query.key}" if query.key else ""
    where = f"WHERE {query.where}" if query.where else ""
    return spark.sql(
        f"SELECT window.start AS window_start, window.end AS window_end{key}, {items} "
        f"FROM native_rows {where} GROUP BY window(ts, {lengths}, {start}){key}"
    )


def _plain(answers: pa.Table) -> pa.Table:
    """In one unit of time, and without what Spark says of nulls."""
    ends = pa.timestamp("us", tz="UTC")
    return pa.table(
        {
            name: column.cast(ends) if pa.types.is_timestamp(column.type) else column
            for name, column in zip(answers.column_names, answers.columns, strict=True)
        }
    )
