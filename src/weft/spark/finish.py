"""Expressions above the aggregates that the kernels do not know, for all queries of a step in one Spark job.

job  row  0._a0  0._k0  1._a0            job  row  0.0  1.0  1.0 fails
0    0    7      x                  ─►   0    0    x7
1    0                  3.5              1    0         yes  false
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from sqlglot import exp

from weft.engine.shape import Done, Job
from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.failures import failing, safe
from weft.spark.complaints import SPARK_ERRORS
from weft.spark.frames import frame


def finish(spark: SparkSession, jobs: Sequence[Job]) -> list[Done]:
    """What each job asks for, in order; a row on which an expression fails is marked, and harms no other.

    Should Spark fail as a whole, on a function whose failures are not known, the jobs are done one by one; of
    the one that fails by itself every row is marked. If Spark cannot do anything any more, nothing is: marks
    would be answers, and last.
    """
    if not jobs:
        return []
    selected = _selected(spark, jobs)
    try:
        return _split(selected.toArrow(), jobs)
    except SPARK_ERRORS:
        if len(jobs) > 1:
            return [done for job in jobs for done in finish(spark, [job])]
        spark.range(1).toArrow()
        return [_all_failed(selected, jobs[0])]


def _selected(spark: SparkSession, jobs: Sequence[Job]) -> DataFrame:
    tables = [_numbered(at, job.table) for at, job in enumerate(jobs)]
    rows = frame(spark, pa.concat_tables(tables, promote_options="default"))
    types = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    columns = ["_job", "_row"]
    for at, job in enumerate(jobs):
        for i, named in enumerate(job.named):
            own = _renamed(named.expr, at)
            columns.append(f"CASE WHEN _job = {at} THEN {safe(own, types).sql} END AS _{at}_{i}")
            fails = failing(own, types)
            if fails is not None:
                columns.append(f"coalesce(_job = {at} AND {fails.sql}, false) AS _{at}_{i}_fails")
    return rows.selectExpr(*columns)


def _numbered(at: int, table: pa.Table) -> pa.Table:
    """The table under names of its own, with the number of its job and of each row."""
    rows = table.num_rows
    own = table.rename_columns([_column(at, name) for name in table.column_names])
    own = own.add_column(0, "_row", pa.array(np.arange(rows, dtype=np.int64)))
    return own.add_column(0, "_job", pa.array(np.full(rows, at, dtype=np.int32)))


def _column(at: int, name: str) -> str:
    return f"_{at}{name}" if name.startswith("_") else f"_{at}_{name}"


def _renamed(expression: Expr, at: int) -> Expr:
    def visit(node: exp.Expr) -> exp.Expr:
        return exp.column(_column(at, node.name)) if isinstance(node, exp.Column) else node

    return expr(expression.tree.transform(visit), expression.place)


def _split(made: pa.Table, jobs: Sequence[Job]) -> list[Done]:
    made = made.sort_by([("_job", "ascending"), ("_row", "ascending")]).combine_chunks()
    done, start = [], 0
    for at, job in enumerate(jobs):
        mine = made.slice(start, job.table.num_rows)
        start += job.table.num_rows
        columns = [mine.column(f"_{at}_{i}").combine_chunks() for i in range(len(job.named))]
        fails = [f"_{at}_{i}_fails" for i in range(len(job.named))]
        known = set(made.column_names)
        done.append(
            Done(columns, [mine.column(each).to_numpy() if each in known else None for each in fails])
        )
    return done


def _all_failed(selected: DataFrame, job: Job) -> Done:
    schema = to_arrow_schema(selected.schema)
    columns = [pa.nulls(job.table.num_rows, schema.field(f"_0_{i}").type) for i in range(len(job.named))]
    return Done(columns, [np.ones(job.table.num_rows, dtype=np.bool_) for _ in job.named])
