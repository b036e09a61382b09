"""The Structured Streaming query of a stream: opens the source and hands every micro-batch on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from weft.lang.generatoroptions import generator
from weft.log.paths import AnyPath, hadoop_url
from weft.plan.nodes import Stream
from weft.spark.complaints import SPARK_ERRORS
from weft.spark.sources import open_stream, unreadable

OnBatch = Callable[[DataFrame, int], None]


def start_stream(
    spark: SparkSession,
    stream: Stream,
    columns: Sequence[str],
    checkpoint: AnyPath,
    on_batch: OnBatch,
    trigger: str | None = None,
    once: bool = False,
) -> StreamingQuery:
    """Read `columns` of `stream` from where `checkpoint` stands; `on_batch` gets each batch and its number.

    `once`: what is there now, then stop. `trigger`: how often (`1 second`); None: as soon as possible.
    """
    rows = open_stream(spark, stream, columns)
    batches = generator(stream.statement).batches if once and stream.statement.format == "generator" else None
    taken = on_batch if batches is None else _before(batches, on_batch)
    writer = (
        rows.writeStream.queryName(f"weft {stream.name}")
        .option("checkpointLocation", hadoop_url(checkpoint))
        .foreachBatch(taken)
    )
    if once and batches is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=trigger or "0 seconds")
    try:
        query = writer.start()
    except SPARK_ERRORS as error:
        raise unreadable(stream.statement, error) from error
    if isinstance(taken, _before):
        taken.stop_with(query)
    return query


class _before:
    """Stops the query at batch `end`, from which on there are no rows.

    Spark's counting source calls whatever it is asked for "all there is now": one batch. A generator with an
    end has a better answer. Batches without rows are handed on too: what Spark has done, the log must have.
    """

    def __init__(self, end: int, on_batch: OnBatch) -> None:
        self._end, self._on_batch = end, on_batch
        self._done = threading.Event()

    def __call__(self, batch: DataFrame, number: int) -> None:
        self._on_batch(batch, number)
        if number >= self._end:
            self._done.set()

    def stop_with(self, query: StreamingQuery) -> None:
        def wait() -> None:
            self._done.wait()
            query.stop()

        threading.Thread(target=wait, name="weft generator end", daemon=True).start()
