"""Expressions above aggregates, of many queries in one job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from weft.engine.shape import Job
from weft.lang.parse import parse_expression
from weft.plan.nodes import Named
from weft.spark.finish import finish

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def job(table: pa.Table, *texts: str) -> Job:
    return Job(table, tuple(Named(f"c{i}", parse_expression(text), None) for i, text in enumerate(texts)))


FIRST = pa.table(
    {
        "window_end": pa.array([10, 20, 30], pa.timestamp("us", "UTC")),
        "_k0": ["x", None, "z"],
        "_a0": [4, 5, 6],
    }
)
SECOND = pa.table({"_k0": pa.array([1.5, 2.5]), "_a0": pa.array([0, 2]), "_a1": pa.array([7, 7])})


def test_jobs_do_not_mix(spark: SparkSession) -> None:
    jobs = [
        job(FIRST, "concat(_k0, _a0)", "unix_micros(window_end)", "_a0 > 4"),
        job(SECOND, "_a1 / _a0", "format_number(_k0, 1)"),
        job(FIRST.slice(0, 0), "repeat(_k0, 2)"),
    ]
    one, two, three = finish(spark, jobs)
    assert [column.to_pylist() for column in one.columns] == [
        ["x4", None, "z6"],
        [10, 20, 30],
        [False, True, True],
    ]
    assert not any(failed is not None and failed.any() for failed in one.failed)
    assert two.columns[0].to_pylist() == [None, 3.5]
    assert two.columns[1].to_pylist() == ["1.5", "2.5"]
    assert [None if failed is None else failed.tolist() for failed in two.failed] == [[True, False], None]
    assert three.columns[0].to_pylist() == []


def test_one_that_fails_by_surprise_does_not_harm_the_others(spark: SparkSession) -> None:
    one, two = finish(spark, [job(FIRST, "upper(_k0)"), job(SECOND, "raise_error('no')", "_a0")])
    assert one.columns[0].to_pylist() == ["X", None, "Z"]
    assert one.failed == [None]
    assert [failed is not None and failed.all() for failed in two.failed] == [True, True]
    assert [len(column) for column in two.columns] == [2, 2]


def test_nothing_to_do(spark: SparkSession) -> None:
    assert finish(spark, []) == []
