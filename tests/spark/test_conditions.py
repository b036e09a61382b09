"""Conditions rewritten by the rules mean the same to Spark, row by row: TRUE, FALSE or NULL."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from tests.properties.expressions import condition
from tests.properties.programs import STREAM
from tests.properties.rows import COLUMNS, batches, pace
from weft.optimize.pipeline import optimize
from weft.plan.nodes import Filter
from weft.plan.tree import walk
from weft.spark.frames import frame
from weft.testing.harness import bound

pytestmark = pytest.mark.spark

LISTS = ("f IN (0.1)", "e IN (0.5)", "n IN (3)", "t IN (3, 2, 2)", "k IN ('A')", "NOT k IN ('C', 'A')",
         "NOT (e > 0.5 OR f <= 1)", "NOT (e = f)", "e NOT BETWEEN -1 AND j", "w > e", "f < w",
         "NOT (w < e)")  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_rewritten_conditions_mean_the_same(seed: int, spark) -> None:
    rng = Random(seed)
    texts = [*LISTS, *(condition(rng, 3) for _ in range(80))]
    pairs = [(f"({before})", f"({after})") for before, after in map(_rewritten, texts) if before != after]
    assert len(pairs) > 30
    tables = [
        table for _ in range(8) for table in batches(rng, pace(rng), 30)
    ]  # NaN is in about every second
    rows = frame(spark, pa.concat_tables(tables))
    judged = rows.selectExpr(*(f"{one} <=> {other} AS c{at}" for at, (one, other) in enumerate(pairs)))
    counts = judged.selectExpr(*(f"count_if(NOT c{at}) AS c{at}" for at in range(len(pairs)))).collect()[0]
    assert [pair for at, pair in enumerate(pairs) if counts[at]] == []


def _rewritten(text: str) -> tuple[str, str]:
    """The condition as it is bound, and as the rules leave it."""
    columns = ", ".join(f"{column} {type.upper()}" for column, type in COLUMNS.items())
    program = bound(
        f"CREATE STREAM {STREAM} ({columns}) TIMESTAMP BY at DELAY 0 SECONDS "
        "FROM parquet OPTIONS ('path' = 'x');"
        f"CREATE QUERY q AS SELECT k FROM {STREAM} WHERE {text}"
    )
    plans = program.queries[0].plan, optimize(program.queries[0]).plan
    before, after = (
        next((node.predicate.sql for node in walk(plan) if isinstance(node, Filter)), "TRUE")
        for plan in plans
    )
    return before, after
