"""Arrow tables as DataFrames."""

from __future__ import annotations

import pyarrow as pa
import pytest

from weft.spark.frames import frame

pytestmark = pytest.mark.spark


def test_rows_behind_an_empty_chunk_are_there(spark) -> None:
    chunks = [pa.table({"x": pa.array(values, pa.int64())}) for values in ([1, 2], [], [3], [], [])]
    assert frame(spark, pa.concat_tables(chunks)).agg({"x": "sum"}).collect()[0][0] == 6


def test_a_table_without_rows_keeps_its_columns(spark) -> None:
    made = frame(spark, pa.table({"x": pa.array([], pa.int64()), "y": pa.array([], pa.string())}))
    assert made.columns == ["x", "y"]
    assert made.count() == 0
