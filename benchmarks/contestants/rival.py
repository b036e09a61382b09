"""The best single Spark job that an expert would write by hand for all queries.

    foreachBatch:  rows -> slices of 1 s by key, one batch aggregation -> a file
                   the slices that open windows need, of this file and those before
                   -> panes -> windows that have closed -> answers of all queries, one write

Tried and slower, on one query of 60 s every 1 s, 1M rows and 1000 keys, where this takes 13 CPU-s: slices
by a streaming aggregation, whose state store keeps every slice until it closes (21); a second streaming
aggregation chained to it, which keeps every window of every slice as well, and which Spark has for one window
size at a time (36). Window functions over panes with their gaps filled, in place of the second aggregation,
cost as much with one query and twice with ten.

It may be restarted: a batch that comes again replaces its own file. The watermark is kept by hand, and rows
behind it are dropped, as Spark would.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks import partials
from benchmarks.contestants.spark import OnSpark, stream
from benchmarks.workload import Workload


class Side(OnSpark):
    def run(self, workload: Workload, files: Path, out: Path | None) -> None:
        with tempfile.TemporaryDirectory(prefix="weft-bench-") as directory:
            job = Job(self.spark, workload, Path(directory) / "slices", out)
            query = (
                stream(self.spark, workload.data, files)
                .writeStream.foreachBatch(job.step)
                .option("checkpointLocation", str(Path(directory) / "checkpoint"))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()


@dataclass
class Job:
    """What stays from batch to batch: the files of slices and up to when windows are answered."""

    spark: SparkSession
    workload: Workload
    directory: Path
    out: Path | None
    newest: dict[Path, int] = field(default_factory=dict)  # file of slices: its last second
    closed: int | None = None

    def step(self, rows: DataFrame, number: int) -> None:
        path = self.directory / f"batch-{number}"
        self._slice(rows).write.mode("overwrite").parquet(str(path))
        (latest, last), *_ = (
            self.spark.read.parquet(str(path)).selectExpr("max(latest)", "max(second)").collect()
        )
        if latest is None:
            return
        self.newest[path] = last
        closed = (latest - self.workload.data.disorder * 1_000_000) // 1_000_000
        self._answer(max(closed, self.closed or closed))

    def _slice(self, rows: DataFrame) -> DataFrame:
        rows.createOrReplaceTempView("events")
        session = rows.sparkSession  # a batch has a session of its own
        kind = "kind, " if "kind" in self.workload.data.columns else ""
        in_time = f"WHERE ts >= timestamp_seconds({self.closed})" if self.closed is not None else ""
        return session.sql(
            f"SELECT {kind}key, unix_seconds(ts) AS second, {partials.lift(self.workload.queries)}, "
            f"max(unix_micros(ts)) AS latest FROM events {in_time} "
            f"GROUP BY {kind}key, unix_seconds(ts)"
        )

    def _answer(self, closed: int) -> None:
        """Answer the windows that end past `self.closed` and not past `closed`."""
        families = partials.families(self.workload.queries)
        since = (self.closed or 0) - max(family.ranges[-1] for family in families)
        self.newest = {path: last for path, last in self.newest.items() if last >= since}
        slices = self.spark.read.parquet(*map(str, self.newest))
        # By key once: then neither panes nor windows are shuffled again.
        slices.repartition("key").createOrReplaceTempView("slices")
        between = {"after": self.closed or 0, "until": closed}
        parts = [
            partials.answers(family, "slices", **between, unfold=partials.in_array) for family in families
        ]
        self._write(self.spark.sql(" UNION ALL ".join(f"({part})" for part in parts)))
        self.closed = closed

    def _write(self, answers: DataFrame) -> None:
        answers = answers.withColumn("window_end", answers.window_end.cast("timestamp"))
        if self.out is None:
            answers.write.format("noop").mode("overwrite").save()
        else:
            answers.write.partitionBy("query").mode("append").parquet(str(self.out))
