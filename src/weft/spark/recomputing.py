"""Spark in batch as the one who computes answers again: the SQL of the reference, over rows put before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from weft.errors import RunError
from weft.log.home import Home
from weft.plan.nodes import Stream
from weft.reference.meaning import DialectName
from weft.spark.checkpoint import checkpoint_of
from weft.spark.committed import read_committed
from weft.spark.frames import frame
from weft.spark.sql import quoted

# Pieces are small and their plans are long: what Spark decides anew between stages takes longer than they do.
_SETTINGS = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "4"}

# Parquet and ORC leave out what their own comparisons and statistics refuse, and these know no NaN.
_PLAIN = {"spark.sql.parquet.filterPushdown": "false", "spark.sql.orc.filterPushdown": "false"}


@contextmanager
def reading_plainly(spark: SparkSession) -> Iterator[None]:
    """Meanwhile all rows of files are read, and only Spark says which of them pass."""
    before = _set(spark, _PLAIN)
    try:
        yield
    finally:
        _set(spark, before)


def _set(spark: SparkSession, settings: Mapping[str, str | None]) -> dict[str, str | None]:
    """Change settings; gives those of before, as they are to be put back."""
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        if value is not None:
            spark.conf.set(name, value)
    return before


class SparkEngine:
    """Runs SQL over tables that are there for as long as it is."""

    dialect: DialectName = "spark"

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._put: set[str] = set()
        self._before = _set(spark, _SETTINGS)

    def put(self, name: str, rows: pa.Table) -> None:
        """Make these the rows of a table."""
        frame(self._spark, rows).createOrReplaceTempView(quoted(name))
        self._put.add(name)

    def run(self, sql: str) -> pa.Table:
        return self._spark.sql(sql).toArrow()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in self._put:
            self._spark.catalog.dropTempView(name)
        _set(self._spark, self._before)


def read_again(spark: SparkSession, home: Home, stream: Stream, last_batch: int) -> pa.Table | None:
    """All rows of the batches of a stream; None where its source cannot be read again, or has gone."""
    try:
        rows = read_committed(spark, stream, checkpoint_of(home, stream.name), last_batch)
        return None if rows is None else rows.toArrow()
    except (PySparkException, RunError):
        return None
