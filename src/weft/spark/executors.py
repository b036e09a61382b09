"""Errands on Spark's executors: one task for each bucket, on the executor that had it last.

The anchor is a cached dataset with one partition for each bucket. Its blocks stay where they were first
computed, and Spark runs the task of a partition where its block is; so a bucket finds its cells on the
machine it was on. If an executor is lost, its blocks are computed elsewhere, and its buckets are built from
the log again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from weft.engine.arena import Arena, local_directory
from weft.engine.errands import Errand, Told, run
from weft.engine.mapside import Order, Written, write_cells
from weft.engine.relations.bucket import Related, Relating, Spreading, relate
from weft.share.nodes import StreamPlan
from weft.spark.workers import Batches, Scanning, Sent, Workers, by_task, collect, word


class SparkCrew:
    """The executors of a session, and their buckets: by default one for each task that runs at once."""

    def __init__(self, spark: SparkSession, buckets: int | None = None) -> None:
        self._workers = Workers(spark)
        if buckets is None:
            first = self._workers.numbered(1)
            self._workers.check(first)  # before there are executors their cores are unknown
        self.buckets = buckets or max(1, spark.sparkContext.defaultParallelism)
        self._anchor = self._workers.numbered(self.buckets).persist(StorageLevel.MEMORY_AND_DISK)
        self._workers.check(self._anchor)  # which also puts the anchor in its places

    def check_home(self, home: str) -> None:
        """Refuse executors that do not see the home."""
        self._workers.check(self._anchor, home)

    def run(self, errand: Errand, plan: StreamPlan) -> list[Told]:
        """Have every bucket do its part."""
        told = self._anchor.mapPartitions(partial(_do_errand, errand, self._workers.send(plan))).collect()
        return sorted(told, key=lambda each: each.bucket)

    def relate(self, errand: Relating, plan: Spreading) -> list[Related]:
        """Have every bucket do its part of the relations."""
        told = self._anchor.mapPartitions(partial(_do_relate, errand, self._workers.send(plan))).collect()
        return sorted(told, key=lambda each: each.bucket)

    def write_cells(self, rows: DataFrame, order: Order, plan: StreamPlan) -> list[Written]:
        """Level 1 of a batch whose expressions `rows` evaluates."""
        return collect(rows, partial(_do_write, order, self._workers.send(plan, level1=True)))

    def scan_cells(self, errand: Scanning, order: Order, plan: StreamPlan) -> list[Written]:
        """The same of files that executors read by themselves."""
        sent = self._workers.send(plan, level1=True)
        return self._workers.over(errand, partial(_do_scan_write, errand, order, sent))

    def close(self) -> None:
        self._anchor.unpersist()


def _do_errand(errand: Errand, sent: Sent[StreamPlan], buckets: Iterable[int]) -> Iterator[Told]:
    """In a worker: do the errand for the buckets of this partition."""
    for bucket in buckets:
        yield run(errand, sent.read(), bucket, Arena(local_directory()))


def _do_relate(errand: Relating, sent: Sent[Spreading], buckets: Iterable[int]) -> Iterator[Related]:
    """In a worker: carry out the relations of the buckets of this partition."""
    for bucket in buckets:
        yield relate(errand, sent.read(), bucket, Arena(local_directory()))


def _do_write(order: Order, sent: Sent[StreamPlan], rows: Batches) -> Iterator[pa.RecordBatch]:
    """In a worker: aggregate the rows of this partition and write their cells."""
    for written in write_cells(rows, order, sent.read()):
        yield word(written)


def _do_scan_write(
    errand: Scanning, order: Order, sent: Sent[StreamPlan], tasks: Iterable[int]
) -> Iterator[object]:
    """In a worker: aggregate the rows of the files of this partition and write their cells."""
    plan = sent.read()
    return by_task(tasks, lambda task: write_cells(errand.read(task, plan), order, plan))
