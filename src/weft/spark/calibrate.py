"""What level 1 takes on this machine: a small real aggregation of generated rows.

To tell predicates, keys and kinds of partials apart takes minutes of a warm JVM; what differs from machine to
machine is how fast it is. So one plan with a bit of everything is run over many rows and over few, and all
that is done by row or by cell is scaled by what the rows took, what is done by batch by what the few took.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median

from pyspark.sql import DataFrame, SparkSession

from weft.engine.calibrate import calibrated
from weft.engine.cputime import tree_seconds
from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.share.build import build
from weft.share.model.constants import SHIPPED, Constants
from weft.share.model.cost import Level
from weft.share.model.load import Load
from weft.share.model.price import Priced
from weft.share.nodes import StreamPlan
from weft.spark.level1 import collect, level1

ROWS, FEW, GROUPS = 200_000, 100, 100
WARM, RUNS = 3, 3
JOB = 0.12  # CPU-seconds of a job over few rows where `SHIPPED.batch` was measured: the rest is streaming

_STREAM = """
CREATE STREAM c (k BIGINT, x DOUBLE, n BIGINT, s STRING, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 0 SECONDS MAX AHEAD OFF FROM rate;
"""
_MIXED = (
    "COUNT(*) AS a0, SUM(n) AS a1, SUM(x) AS a2, MAX(x) AS a3, VAR_POP(x) AS a4, LAST(x) AS a5, "
    "MAX(s) AS a6, SUM(x) FILTER (WHERE n > 10) AS a7, SUM(x) FILTER (WHERE n > 20) AS a8"
)


def calibrate(spark: SparkSession) -> Constants:
    """All constants, measured on this machine."""
    constants = calibrated(planned, level1_scaled(spark))
    when = time.strftime("%Y-%m-%d", time.gmtime())
    return replace(constants, origin=f"measured on {when}, {os.cpu_count()} cores")


def planned(items: str, seconds: int) -> StreamPlan:
    """The plan of one query by one key, its windows so many seconds long, every second."""
    query = f"CREATE QUERY q AS SELECT k, {items} FROM c [RANGE {seconds} SECONDS SLIDE 1 SECOND] GROUP BY k;"
    (plan,) = build(optimize_program(bind_program(parse_program(_STREAM + query)))).streams
    return plan


def level1_scaled(spark: SparkSession) -> Constants:
    """The shipped constants with what is done by row, by cell and by batch as it is here."""
    plan = planned(_MIXED, 8)
    many, few = (_took(_job(_rows(spark, rows), plan)) for rows in (ROWS, FEW))
    load = Load(rows=float(ROWS), groups=float(GROUPS))
    expected = Priced.of(plan, SHIPPED, load).cost().levels
    by_row = max(many - few, 0.0) / (expected[Level.READ] + expected[Level.AGGREGATE])
    return _scaled(by_row or 1.0, few / JOB)


def _scaled(by_row: float, by_batch: float) -> Constants:
    return replace(
        SHIPPED,
        row=SHIPPED.row * by_row,
        predicate=SHIPPED.predicate * by_row,
        key=SHIPPED.key * by_row,
        partial={kind: seconds * by_row for kind, seconds in SHIPPED.partial.items()},
        made=SHIPPED.made * by_row,
        made_part=SHIPPED.made_part * by_row,
        batch=SHIPPED.batch * by_batch,
    )


def _rows(spark: SparkSession, count: int) -> DataFrame:
    """So many rows of one second."""
    return spark.range(0, count, 1, spark.sparkContext.defaultParallelism).selectExpr(
        f"pmod(xxhash64(id), {GROUPS}) AS k",
        "rand(1) AS x",
        "pmod(id, 100) AS n",
        f"concat('s', pmod(xxhash64(id, 1), {GROUPS})) AS s",
        f"timestamp_micros(id * 1000000L div {count}) AS ts",
    )


def _job(rows: DataFrame, plan: StreamPlan) -> Callable[[], object]:
    return lambda: collect(level1(rows, plan, None, None))


def _took(job: Callable[[], object]) -> float:
    """CPU-seconds of the process tree, the median of a few runs of warm code."""
    for _ in range(WARM):
        job()
    found = []
    for _ in range(RUNS):
        began = tree_seconds()
        job()
        found.append(tree_seconds() - began)
    return median(found)
