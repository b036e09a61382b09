"""Declared streams as Spark reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import weft
from tests.spark.plans import TRADES, stream
from weft.errors import QueryError, RunError
from weft.lang.generatoroptions import generator
from weft.plan.nodes import Stream
from weft.spark.committed import read_committed
from weft.spark.ingest import Ingest
from weft.spark.sources import open_stream
from weft.spark.stream import start_stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

MARKET = {
    "symbol": "string", "price": "double", "qty": "bigint",
    "venue": "string", "side": "string", "ts": "timestamp",
}  # fmt: skip


def read_all(spark: SparkSession, of: Stream, columns: list[str], checkpoint: Path) -> list[list[Any]]:
    """The rows of every batch that is there now and has some."""
    batches: list[list[Any]] = []

    def keep(batch: DataFrame, number: int) -> None:
        assert number >= len(batches)
        batches.append([row.asDict() for row in batch.collect()])

    query = start_stream(spark, of, columns, checkpoint, keep, once=True)
    assert query.awaitTermination(120)
    assert query.exception() is None
    return [batch for batch in batches if batch]


def test_parquet_reads_the_columns_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    table = pa.table({"symbol": ["A", "B"], "price": [1.0, None], "qty": [1, 2]})
    table = table.append_column("ts", pa.array([0, 1_500_000], pa.timestamp("us", "UTC")))
    pq.write_table(table, source / "one.parquet")
    of = stream(
        TRADES, "parquet", {"path": str(source)}, computed={"day": "date(ts)", "rate": "price / (qty - 1)"}
    )
    rows = read_all(spark, of, ["symbol", "ts", "day", "rate"], tmp_path / "check")[0]
    assert list(rows[0]) == ["symbol", "ts", "day", "rate", "_weft_corrupt"]
    assert [row["symbol"] for row in rows] == ["A", "B"]
    assert str(rows[0]["day"]) == "1970-01-01"
    assert [row["rate"] for row in rows] == [None, None]


def test_json_that_does_not_parse_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    lines = ['{"symbol": "A", "price": 1, "ts": "1970-01-01T00:00:01Z"}', '{"symbol": "B"', '{"qty": "many"}']
    (source / "one.json").write_text("\n".join(lines))
    of = stream(TRADES, "json", {"path": str(source)})
    rows = read_all(spark, of, ["symbol", "ts"], tmp_path / "check")[0]
    assert [row["_weft_corrupt"] for row in rows] == [None, *lines[1:]]
    assert rows[0]["price"] == 1.0


def test_csv_that_does_not_parse_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "one.csv").write_text("A,1.5,3,1970-01-01T00:00:01Z\nB,much,3,1970-01-01T00:00:01Z\n")
    rows = read_all(
        spark, stream(TRADES, "csv", {"path": str(source)}), ["symbol", "ts"], tmp_path / "check"
    )[0]
    assert [row["_weft_corrupt"] for row in rows] == [None, "B,much,3,1970-01-01T00:00:01Z"]


@pytest.mark.parametrize(
    ("payload", "lines"),
    [
        ("json", ['{"symbol": "A", "price": 2.5, "ts": "1970-01-01T00:00:01Z"}', "oops"]),
        ("csv", ["A,2.5,1,1970-01-01T00:00:01Z", "A,B,C,D"]),
    ],
)
def test_payloads_are_parsed(spark: SparkSession, tmp_path: Path, payload: str, lines: list[str]) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "one.txt").write_text("\n".join(lines))
    of = stream(TRADES, "text", {"path": str(source), "value.format": payload})
    rows = read_all(spark, of, ["symbol", "price", "ts"], tmp_path / "check")[0]
    assert (rows[0]["symbol"], rows[0]["price"], rows[0]["_weft_corrupt"]) == ("A", 2.5, None)
    assert rows[1]["_weft_corrupt"] == lines[1]


def test_columns_of_another_type_are_cast(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    (source / "one.txt").write_text("12\nx\n")
    of = stream({"value": "int"}, "text", {"path": str(source)}, computed={"ts": "timestamp_seconds(value)"})
    rows = read_all(spark, of, ["value", "ts"], tmp_path / "check")[0]
    assert [row["value"] for row in rows] == [12, None]
    assert [row["_weft_corrupt"] for row in rows] == [None, '{"value":"x"}']
    assert rows[0]["ts"].timestamp() == 12


def test_the_rate_source(spark: SparkSession) -> None:
    of = stream({"value": "bigint", "timestamp": "timestamp"}, "rate", {}, time_column="timestamp")
    assert open_stream(spark, of, ["value"]).schema.names == ["value", "_weft_corrupt"]


def test_a_column_the_source_does_not_have(spark: SparkSession) -> None:
    of = stream({"vlue": "bigint", "timestamp": "timestamp"}, "rate", {}, time_column="timestamp")
    with pytest.raises(QueryError, match="has no column `vlue`") as caught:
        open_stream(spark, of, ["vlue"])
    assert "did you mean `value`?" in caught.value.because


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("parquet", {"path": "/no/such/place"}, "cannot be read from parquet"),
        ("nosuchformat", {}, "cannot be read from nosuchformat"),
        ("parquet", {}, "cannot be read from parquet"),
    ],
)
def test_sources_that_cannot_be_read(
    spark: SparkSession, tmp_path: Path, source: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(RunError, match=message):
        start_stream(spark, stream(TRADES, source, options), ["ts"], tmp_path, lambda batch, number: None)


def test_an_unknown_payload_format(spark: SparkSession, tmp_path: Path) -> None:
    of = stream(TRADES, "text", {"path": str(tmp_path), "value.format": "yaml"})
    with pytest.raises(QueryError, match="cannot be 'yaml'"):
        open_stream(spark, of, ["ts"])


def generated(**options: str) -> Stream:
    base = {"rows": "250", "rows.per.batch": "100", "rows.per.second": "50", "symbols": "20", "seed": "7"}
    return stream(MARKET, "generator", base | {key.replace("_", "."): v for key, v in options.items()})


def test_the_generator_ends_and_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    of = generated(start="2026-01-01T00:00:00", disorder="2 seconds")
    batches = read_all(spark, of, list(MARKET), tmp_path / "one")
    assert [len(batch) for batch in batches] == [100, 100, 50]
    assert len({row["symbol"] for batch in batches for row in batch}) > 10
    times = [row["ts"].timestamp() for batch in batches for row in batch]
    start = 1_767_225_600.0
    assert all(start + at / 50 - 2 <= time <= start + at / 50 for at, time in enumerate(times))
    assert times != sorted(times)
    assert read_all(spark, of, list(MARKET), tmp_path / "two") == batches
    assert read_all(spark, of, list(MARKET), tmp_path / "two") == []
    other = generated(start="2026-01-01T00:00:00", disorder="2 seconds", seed="8")
    assert read_all(spark, other, list(MARKET), tmp_path / "three") != batches


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows.per.bach": "5"}, "no option 'rows.per.bach'"),
        ({"preset": "weather"}, "no preset 'weather'"),
        ({"rows": "-1"}, "at least 0"),
        ({"disorder": "some"}, "no duration"),
    ],
)
def test_what_the_generator_refuses(options: dict[str, str], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        generator(stream(MARKET, "generator", options).statement)


def test_generated_rows_are_read_again(spark: SparkSession, tmp_path: Path) -> None:
    of = generated(start="now", disorder="1 second")
    batches = read_all(spark, of, list(MARKET), tmp_path / "check")
    for last in (-1, 0, 1):
        again = read_committed(spark, of, tmp_path / "check", last)
        assert again is not None
        assert [row.asDict() for row in again.collect()] == [
            {name: row[name] for name in MARKET} for batch in batches[: last + 1] for row in batch
        ]


def test_committed_files_are_read_again_and_no_others(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in put"
    source.mkdir()
    for at in range(13):  # past the compaction of the source's log
        record = {"symbol": f"S{at}", "price": at, "ts": f"1970-01-01T00:00:{at:02d}Z"}
        (source / f"{at:02d}.json").write_text(json.dumps(record) + "\n{oops")
    of = stream(TRADES, "json", {"path": str(source), "maxFilesPerTrigger": "1"})
    batches = read_all(spark, of, ["symbol", "ts"], tmp_path / "check")
    assert len(batches) == 13
    (source / "later.json").write_text('{"symbol": "Z", "ts": "1970-01-01T00:00:59Z"}')
    for last in (-1, 0, 11, 12):
        again = read_committed(spark, of, tmp_path / "check", last)
        assert again is not None
        expected = sorted(batch[0]["symbol"] for batch in batches[: last + 1])
        assert sorted(row["symbol"] for row in again.collect()) == expected


def test_what_cannot_be_read_again(spark: SparkSession, tmp_path: Path) -> None:
    of = stream({"value": "bigint", "timestamp": "timestamp"}, "rate", {}, time_column="timestamp")
    assert read_committed(spark, of, tmp_path, 3) is None


def test_a_batch_that_fails_with_a_long_story_is_told_of_in_short(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no room left in SELECT " + "(a OR b), " * 200_000)

    monkeypatch.setattr(Ingest, "ingest", fail)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.json").write_text('{"price": 1, "ts": "1970-01-01T00:00:01Z"}')
    session = weft.Session(spark=spark, home=tmp_path / "home")
    session.sql(
        "CREATE STREAM s (price DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND"
        f" FROM json OPTIONS ('path' = '{tmp_path}/in');"
        "CREATE QUERY q AS SELECT price FROM s;"
    )
    session.start(once=True)
    with pytest.raises(RunError, match="no room left") as caught:
        session.wait(120)
    session.stop()
    assert len(str(caught.value)) < 2000
