"""Errands on Spark's executors: one task for each bucket, on the executor that had it last.

The anchor is a cached table with one row for each bucket. Its blocks stay where they were first computed,
and Spark runs the task of a partition where its block is; so a bucket finds its cells on the machine it was
on. If an executor is lost, its blocks are computed elsewhere, and its buckets are built from the log again.
"""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession

from weft.engine.arena import Arena, local_directory
from weft.engine.errands import Errand, Told, run
from weft.engine.mapside import Order, Written, write_cells
from weft.errors import RunError
from weft.share.nodes import StreamPlan
from weft.spark.complaints import SPARK_ERRORS, complaint
from weft.spark.shipping import ship

Batches = Iterable[pa.RecordBatch]

_WORD = pa.schema([("word", pa.binary())])
_plans: dict[str, StreamPlan] = {}  # in a worker: the plans it has read, by name


class SparkCrew:
    """The executors of a session."""

    def __init__(self, spark: SparkSession, buckets: int) -> None:
        self.spark, self.buckets = spark, buckets
        ship(spark)
        self._sent: list[tuple[StreamPlan, _Sent]] = []
        self._anchor = spark.range(0, buckets, 1, buckets).persist()
        self._check()

    def _check(self) -> None:
        """Do the workers have what they need? Also puts the anchor in its places."""
        try:
            self._anchor.mapInArrow(_try_out, "word binary").toArrow()
        except SPARK_ERRORS as error:
            raise RunError(
                "executors-lack-weft",
                f"the executors cannot run weft: {complaint(error)}",
                help="the Python of the workers needs weft and what it is installed with; "
                "see docs/cluster.md, or run with --placement driver",
            ) from error

    def run(self, errand: Errand, plan: StreamPlan) -> list[Told]:
        """Have every bucket do its part."""
        words = _collect(self._anchor, partial(_do_errand, pickle.dumps(errand), self._send(plan)))
        return sorted(words, key=lambda told: told.bucket)

    def write_cells(self, rows: DataFrame, order: Order, plan: StreamPlan) -> list[Written]:
        """Level 1 of a batch whose expressions `rows` evaluates."""
        return _collect(rows, partial(_do_write, order, self._send(plan)))

    def _send(self, plan: StreamPlan) -> _Sent:
        """A plan is large, and stays for long: it is sent once, and workers read it once."""
        for known, sent in self._sent:
            if known is plan:
                return sent
        sent = _Sent(secrets.token_hex(8), self.spark.sparkContext.broadcast(pickle.dumps(plan)))
        for _, old in self._sent[_KEPT - 1 :]:
            old.plan.unpersist()
        self._sent = [(plan, sent), *self._sent[: _KEPT - 1]]
        return sent

    def close(self) -> None:
        self._anchor.unpersist()


_KEPT = 8  # plans: one for each stream and, while it changes, the one before


@dataclass(frozen=True, slots=True)
class _Sent:
    """A plan on its way to workers."""

    name: str
    plan: Broadcast[bytes]

    def read(self) -> StreamPlan:
        if self.name not in _plans:
            for old in list(_plans)[: 1 - _KEPT]:
                del _plans[old]
            _plans[self.name] = pickle.loads(self.plan.value)
        return _plans[self.name]


def _collect(rows: DataFrame, task: Callable[[Batches], Iterator[pa.RecordBatch]]) -> list[Any]:
    words = rows.mapInArrow(task, "word binary").toArrow()
    return [pickle.loads(word) for word in words.column("word").to_pylist()]


def _word(said: object) -> pa.RecordBatch:
    return pa.record_batch([pa.array([pickle.dumps(said)], pa.binary())], schema=_WORD)


def _do_errand(errand: bytes, sent: _Sent, anchors: Batches) -> Iterator[pa.RecordBatch]:
    """In a worker: do the errand for the buckets of this partition."""
    for anchor in anchors:
        for bucket in anchor.column(0).to_pylist():
            yield _word(run(pickle.loads(errand), sent.read(), bucket, Arena(local_directory())))


def _do_write(order: Order, sent: _Sent, rows: Batches) -> Iterator[pa.RecordBatch]:
    """In a worker: aggregate the rows of this partition and write their cells."""
    for written in write_cells(rows, order, sent.read()):
        yield _word(written)


def _try_out(anchors: Batches) -> Iterator[pa.RecordBatch]:
    for anchor in anchors:
        yield _word(anchor.num_rows)
