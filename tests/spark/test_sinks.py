"""Answers into Spark's batch sinks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from weft.errors import QueryError, RunError
from weft.lang.statements import Sink
from weft.spark.session import cores
from weft.spark.sinks import spark_writer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ANSWERS = pa.table({"window_end": pa.array([10, 20], pa.timestamp("us", "UTC")), "n": [1, 2]})


def test_any_format_by_its_name(spark: SparkSession, tmp_path: Path) -> None:
    write = spark_writer(spark, Sink("orc", (("path", str(tmp_path / "out")),)))
    write(ANSWERS)
    write(ANSWERS.slice(1))
    assert sorted(row.n for row in spark.read.orc(str(tmp_path / "out")).collect()) == [1, 2, 2]


def test_memory_is_a_view(spark: SparkSession) -> None:
    write = spark_writer(spark, Sink("memory", (("name", "remembered"),)))
    write(ANSWERS)
    write(ANSWERS)
    assert spark.sql("SELECT sum(n) FROM remembered").collect()[0][0] == 6


def test_memory_needs_a_name(spark: SparkSession) -> None:
    with pytest.raises(QueryError, match="under which name"):
        spark_writer(spark, Sink("memory"))


def test_noop_takes_everything(spark: SparkSession) -> None:
    spark_writer(spark, Sink("noop"))(pa.table({"a": ["x", None], "b": [None, 1.5], "c": pa.nulls(2)}))


def test_a_sink_that_is_not_there(spark: SparkSession) -> None:
    with pytest.raises(RunError, match="sink nosuchsink takes no rows"):
        spark_writer(spark, Sink("nosuchsink"))(ANSWERS)


@pytest.mark.parametrize(
    ("master", "expected"), [("local", 1), ("local[3]", 3), ("local[3,2]", 3), ("spark://host:7077", 8)]
)
def test_cores_of_a_master(master: str, expected: int) -> None:
    assert cores(master) == expected
