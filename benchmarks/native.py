"""Each query as a native one of Spark's, `groupBy(window(...))`, over all files in one batch job.

Not like for like: this is one job a query over all files at once, where the other ways take file by file and
answer after each. Where rows are few that alone decides. A streaming query of Spark's is not measured here.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.drawn import Drawn, Query
from weft.engine.cputime import tree_seconds


def run_native(spark: SparkSession, drawn: Drawn) -> tuple[float, dict[str, list[pa.Table]]]:
    """CPU-seconds of all queries, made and dropped, after a run that gives their answers."""
    files = drawn.input.files
    end = pc.max(pq.read_table(files[-1], columns=["ts"]).column("ts")).as_py()
    made = {
        query.name: _answers(spark, query, files, f"{end:%Y-%m-%d %H:%M:%S.%f}") for query in drawn.queries
    }
    answers = {name: [_plain(frame.toArrow())] for name, frame in made.items()}
    began = tree_seconds()
    for frame in made.values():
        frame.write.format("noop").mode("overwrite").save()
    return tree_seconds() - began, answers


def _answers(spark: SparkSession, query: Query, files: list[Path], end: str) -> DataFrame:
    """The windows that have closed; they end, not start, on multiples of the slide."""
    rows = spark.read.parquet(*map(str, files))
    rows.createOrReplaceTempView("native_rows")
    lengths = f"'{query.range} milliseconds', '{query.slide} milliseconds'"
    start = f"'{-query.range % query.slide} milliseconds'"
    items = query.shown.replace("LAST(price)", "max_by(price, ts)")
    key = f", {query.key}" if query.key else ""
    where = f"WHERE {query.where}" if query.where else ""
    windowed = f"SELECT *, window(ts, {lengths}, {start}) AS w FROM native_rows {where}"
    return spark.sql(
        f"SELECT w.start AS window_start, w.end AS window_end{key}, {items} FROM ({windowed}) "
        f"WHERE w.end <= TIMESTAMP '{end}' GROUP BY w{key}"
    )


def _plain(answers: pa.Table) -> pa.Table:
    """Without what Spark says of nulls."""
    return pa.table({name: answers.column(name) for name in answers.column_names})
