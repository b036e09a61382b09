"""Datasets can be read at any moment, by any reader, while they grow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from weft.engine.filesinks import FileSink
from weft.log.home import Home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with Home.open(tmp_path / "h") as home:
        yield home


def answers(step: int, count: int = 40) -> Any:
    ends = pa.array([step * 1_000_000] * count, pa.timestamp("us", "UTC"))
    keys = [f"k{n}" for n in range(count)]
    return pa.table({"window_end": ends, "key": keys, "step": [step] * count, "x": [step / 7] * count})


def make(home: Home, format: str = "parquet", now: Callable[[], float] = lambda: 0.0) -> FileSink:
    sink = FileSink(home.path.parent / "out", format, wall=now)
    sink.attach(home, "q", 0)
    return sink


def by_duckdb(path: Path) -> list[int]:
    """DuckDB opens the first file of a scan twice: packed in between, it is not as DuckDB saw it, once."""
    for _ in range(5):
        with suppress(duckdb.Error):
            return [step for (step,) in duckdb.sql(f"select step from '{path}/*.parquet'").fetchall()]
    raise AssertionError("DuckDB finds the files changed five times in a row")


def by_pandas(path: Path) -> list[int]:
    return list(pd.read_parquet(path)["step"])


def by_arrow(path: Path) -> list[int]:
    return list(ds.dataset(path).to_table(columns=["step"]).column("step").to_pylist())


@pytest.mark.parametrize("read", [by_duckdb, by_pandas, by_arrow])
def test_a_reader_never_sees_half_a_step(home: Home, read: Callable[[Path], list[int]]) -> None:
    clock, stop = [0.0], threading.Event()
    sink = make(home, now=lambda: clock[0])
    sink.add(0, answers(0))
    sink.flush()
    failures: list[str] = []
    reads = 0

    def look() -> None:
        nonlocal reads
        last = 0
        while not stop.is_set():
            steps = read(sink.directory)
            count = len(steps) // 40
            if sorted(steps) != sorted(list(range(count)) * 40) or count < last:
                failures.append(f"{len(steps)} rows after {last} steps")
            last, reads = count, reads + 1

    reader = threading.Thread(target=look)
    reader.start()
    step = 0
    while (reads < 25 or not sink.first) and reader.is_alive():
        step += 1
        clock[0] += 20
        sink.add(step, answers(step))
        sink.tend(clock[0], 1e9)
    stop.set()
    reader.join()
    assert failures == []
    assert reads >= 25
    assert sink.first > 0  # files were closed meanwhile


@pytest.mark.spark
def test_spark_reads_what_it_has_listed(spark: SparkSession, home: Home) -> None:
    sink = make(home)
    sink.add(0, answers(0))
    sink.flush()
    listed = spark.read.parquet(str(sink.directory))
    for step in range(1, 30):
        sink.add(step, answers(step))
        sink.flush()
    steps = [row.step for row in listed.select("step").collect()]
    assert steps.count(0) == 40  # a file replaced by one with other row groups would give none of these
    assert len(steps) % 40 == 0
    assert spark.read.parquet(str(sink.directory)).count() == 30 * 40


@pytest.mark.spark
@pytest.mark.parametrize("compacted", [False, True])
def test_spark_reads_every_value(spark: SparkSession, home: Home, compacted: bool) -> None:
    sink = make(home)
    for step in range(5):
        sink.add(step, answers(step))
        sink.flush()
    if compacted:
        sink.roll()
    found = spark.read.parquet(str(sink.directory))
    assert dict(found.dtypes) == {"window_end": "timestamp", "key": "string", "step": "bigint", "x": "double"}
    rows = found.where("step = 3 and key = 'k7'").selectExpr("unix_micros(window_end)", "x").collect()
    assert [tuple(row) for row in rows] == [(3_000_000, 3 / 7)]


@pytest.mark.spark
@pytest.mark.parametrize("format", ["json", "csv"])
def test_spark_reads_text(spark: SparkSession, home: Home, format: str) -> None:
    sink = make(home, format)
    strange = pa.table(
        {"s": ['a"b\\', "", "é,;"], "x": [1.0, float("nan"), float("inf")], "at": answers(9, 3)["window_end"]}
    )
    sink.add(0, strange)
    sink.flush()
    options = {"escape": '"', "header": "true"} if format == "csv" else {}
    reader = spark.read.schema("s string, x double, at timestamp").options(**options)
    rows = (
        reader.format(format)
        .load(str(sink.directory))
        .selectExpr("s", "string(x)", "unix_micros(at)")
        .collect()
    )
    texts = ['a"b\\', None if format == "csv" else "", "é,;"]  # Spark's own reader takes "" in CSV for null
    assert [tuple(row) for row in rows] == list(zip(texts, ["1.0", "NaN", "Infinity"], [9_000_000] * 3))
