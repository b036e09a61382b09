"""A growing file holds what was added, at every length it has had."""

from __future__ import annotations

import datetime
import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.engine import tails
from weft.engine.tails import ParquetTail, TextTail, plain_table
from weft.engine.textrows import csv_lines, json_lines


def answers(first: int, count: int) -> Any:
    numbers = range(first, first + count)
    return pa.table(
        {
            "window_end": pa.array([n * 1_000_000 for n in numbers], pa.timestamp("us", "UTC")),
            "key": pa.array([None if n % 7 == 0 else f"k{n % 5}" for n in numbers], pa.string()),
            "x": pa.array([n / 3 for n in numbers]),
            "d": pa.array([Decimal(n).scaleb(-2) for n in numbers], pa.decimal128(20, 2)),
            "flag": pa.array([n % 2 == 0 for n in numbers]),
            "list": pa.array([[n] * (n % 3) for n in numbers], pa.list_(pa.field("element", pa.int64()))),
        }
    )


def read(tail: ParquetTail) -> Any:
    return pq.read_table(pa.BufferReader(b"".join(tail.chunks())))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=30),
    st.sampled_from(["snappy", "zstd", "gzip", "lz4", "none"]),
)
def test_a_parquet_file_grows_by_row_groups(counts: list[int], compression: str) -> None:
    tail, first = ParquetTail(compression), 0
    for count in counts:
        tail.add(answers(first, count))
        first += count
    assert read(tail).equals(answers(0, first))
    data = b"".join(tail.chunks())
    assert pq.read_metadata(pa.BufferReader(data)).num_row_groups == len(counts)
    assert len(data) == pytest.approx(tail.nbytes, abs=20_000)


def test_what_was_written_keeps_its_place() -> None:
    tail = ParquetTail("snappy")
    tail.add(answers(0, 100))
    before = b"".join(tail.chunks())
    old = pq.read_metadata(pa.BufferReader(before))
    tail.add(answers(100, 5000))
    after = b"".join(tail.chunks())
    # A reader that took the old footer, and opens the file only now.
    found = pq.ParquetFile(pa.BufferReader(after), metadata=old).read()
    assert found.equals(answers(0, 100))


def test_statistics_and_filters_survive(tmp_path: Path) -> None:
    tail = ParquetTail("zstd")
    for first in range(0, 300, 50):
        tail.add(answers(first, 50))
    path = tmp_path / "a.parquet"
    path.write_bytes(b"".join(tail.chunks()))
    bound = pa.scalar(260_000_000, pa.timestamp("us", "UTC"))
    found = pq.read_table(path, filters=[("window_end", ">=", bound)])
    assert found.equals(answers(260, 40))
    chunk = pq.read_metadata(path).row_group(5).column(0)
    assert chunk.statistics.min == datetime.datetime(1970, 1, 1, 0, 4, 10, tzinfo=datetime.UTC)
    counted = duckdb.sql(
        f"select count(*), sum(d), count(key) from '{path}' where epoch_us(window_end) >= 260000000"
    )
    assert counted.fetchall() == [(40, Decimal("111.80"), 35)]


def test_many_small_row_groups_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tails, "MOST_ROW_GROUPS", 4)
    tail = ParquetTail("snappy")
    for first in range(10):
        tail.add(answers(first, 1))
        assert len(tail._groups) <= 5
        assert read(tail).equals(answers(0, first + 1))
    tail.compact()
    assert pq.read_metadata(pa.BufferReader(b"".join(tail.chunks()))).num_row_groups == 1
    assert read(tail).equals(answers(0, 10))


def test_a_tail_goes_on_from_its_bytes() -> None:
    tail, again = ParquetTail("snappy"), ParquetTail("snappy")
    tail.add(answers(0, 10))
    tail.add(answers(10, 10))
    schema = again.load(b"".join(tail.chunks()))
    assert schema.equals(answers(0, 1).schema)
    again.add(answers(20, 10))
    assert read(again).equals(answers(0, 30))


def test_instants_are_in_microseconds_and_dictionaries_plain() -> None:
    table = pa.table(
        {
            "a": pa.array([1_500], pa.timestamp("ns", "CET")),
            "b": pa.array([2], pa.timestamp("s")),
            "c": pa.array(["x"]).dictionary_encode(),
            "l": pa.array([[{"at": 5}]], pa.list_(pa.struct([("at", pa.timestamp("ms", "UTC"))]))),
        },
        metadata={"private": "yes"},
    )
    plain = plain_table(table)
    assert plain.schema == pa.schema(
        [
            ("a", pa.timestamp("us", "UTC")),
            ("b", pa.timestamp("us")),
            ("c", pa.string()),
            ("l", pa.list_(pa.field("element", pa.struct([("at", pa.timestamp("us", "UTC"))])))),
        ]
    )
    assert plain.schema.metadata is None
    assert plain.column("a").cast(pa.int64()).to_pylist() == [1]


STRANGE = pa.table(
    {
        "s": ['a"b\\c\nd\x01\té', None, ""],
        "x": [1.0, float("nan"), float("-inf")],
        "f": pa.array([0.1, None, 1e30], pa.float32()),
        "i": [1, None, 2**63 - 1],
        "d": pa.array([Decimal("1.10"), None, Decimal("-3.00")], pa.decimal128(38, 2)),
        "t": pa.array([0, None, 1_234_567], pa.timestamp("us", "UTC")),
        "day": pa.array([datetime.date(2020, 1, 2), None, None]),
        "b": [True, None, False],
        "l": [["x", None], None, []],
        "st": [{"p": 1, "q": "z"}, None, {"p": None, "q": '"'}],
        "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "bin": [b"ab", None, b""],
        "n": pa.nulls(3),
    }
)


def test_json_lines_say_every_value() -> None:
    rows = [json.loads(line, parse_float=Decimal) for line in json_lines(STRANGE).splitlines()]
    assert rows[0] == {
        "s": 'a"b\\c\nd\x01\té', "x": Decimal("1.0"), "f": Decimal("0.1"), "i": 1, "d": Decimal("1.10"),
        "t": "1970-01-01T00:00:00.000000Z", "day": "2020-01-02", "b": True, "l": ["x", None],
        "st": {"p": 1, "q": "z"}, "m": {"k": 1}, "bin": "YWI=", "n": None,
    }  # fmt: skip
    assert rows[1] == dict.fromkeys(STRANGE.schema.names) | {"x": "NaN"}
    assert rows[2] == {
        "s": "", "x": "-Infinity", "f": Decimal("1e+30"), "i": 2**63 - 1, "d": Decimal("-3.00"),
        "t": "1970-01-01T00:00:01.234567Z", "day": None, "b": False, "l": [], "st": {"p": None, "q": '"'},
        "m": {}, "bin": "", "n": None,
    }  # fmt: skip


def test_json_of_a_slice() -> None:
    whole = json_lines(STRANGE).splitlines()
    assert json_lines(STRANGE.slice(1, 1)).splitlines() == whole[1:2]
    assert json_lines(pa.concat_tables([STRANGE.slice(2), STRANGE.slice(0, 1)])).splitlines() == [
        whole[2],
        whole[0],
    ]
    assert json_lines(STRANGE.slice(0, 0)) == b""


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(), min_size=1), st.lists(st.floats(), min_size=1))
def test_json_texts_and_numbers_come_back(texts: list[str], numbers: list[float]) -> None:
    count = min(len(texts), len(numbers))
    texts = [text.encode(errors="replace").decode() for text in texts[:count]]
    rows = [
        json.loads(line) for line in json_lines(pa.table({"s": texts, "x": numbers[:count]})).splitlines()
    ]
    assert [row["s"] for row in rows] == texts
    assert [repr(float(row["x"])) for row in rows] == [repr(number) for number in numbers[:count]]


def test_csv_tells_null_from_empty(tmp_path: Path) -> None:
    table = STRANGE.select(["s", "x", "i", "d", "t", "l"])
    path = tmp_path / "a.csv"
    path.write_bytes(csv_lines(table, header=True, separator=";"))
    found = duckdb.read_csv(str(path), sep=";", header=True, all_varchar=True, allow_quoted_nulls=False)
    assert found.fetchall() == [
        ('a"b\\c\nd\x01\té', "1.0", "1", "1.10", "1970-01-01T00:00:00.000000Z", '["x",null]'),
        (None, "NaN", None, None, None, None),
        ("", "-Infinity", str(2**63 - 1), "-3.00", "1970-01-01T00:00:01.234567Z", "[]"),
    ]


@pytest.mark.parametrize("compressed", [False, True])
def test_lines_are_added_behind_lines(compressed: bool) -> None:
    tail = TextTail(lambda table, first: csv_lines(table, first, ","), compressed)
    tail.add(pa.table({"a": [1, 2]}))
    before = b"".join(tail.chunks())
    tail.add(pa.table({"a": [3]}))
    after = b"".join(tail.chunks())
    assert after.startswith(before)
    again = TextTail(lambda table, first: csv_lines(table, first, ","), compressed)
    again.load(after)
    again.add(pa.table({"a": [4]}))
    again.compact()
    data = b"".join(again.chunks())
    assert (gzip.decompress(data) if compressed else data) == b'"a"\n1\n2\n3\n4\n'


def test_a_large_table_is_cut_into_row_groups() -> None:
    tail = ParquetTail("snappy")
    tail.add(pa.table({"a": pa.array(range(tails.WHOLE_ROW_GROUP + 10))}))
    found = pq.read_metadata(pa.BufferReader(b"".join(tail.chunks())))
    assert [found.row_group(at).num_rows for at in range(2)] == [tails.WHOLE_ROW_GROUP, 10]
    tail.compact()
    assert pc.sum(read(tail).column("a")).as_py() == sum(range(tails.WHOLE_ROW_GROUP + 10))


def test_only_columns_that_repeat_themselves_get_a_dictionary() -> None:
    rows = 20_000
    table = pa.table(
        {
            "same": pa.array(np.zeros(rows, np.int64)),
            "few": pa.array([f"s{at % 50}" for at in range(rows)]),
            "new": pa.array(np.arange(rows) / 7),
            "listed": pa.array([[at] for at in range(rows)], pa.list_(pa.field("element", pa.int64()))),
        }
    )
    tail = ParquetTail("snappy")
    tail.add(table)
    group = pq.read_metadata(pa.BufferReader(b"".join(tail.chunks()))).row_group(0)
    columns = [group.column(at) for at in range(group.num_columns)]
    assert [column.has_dictionary_page for column in columns] == [True, True, False, False]
    assert read(tail).equals(table)


def test_row_groups_of_fair_size_are_left_as_they_are() -> None:
    """Each flush of a busy query is one: to encode them again would cost as much as all there was."""
    tail = ParquetTail("snappy")
    for at in range(10):
        tail.add(pa.table({"a": pa.array(np.full(tails.SMALL_ROW_GROUP, at))}))
    before = tail.chunks()
    tail.compact()
    assert tail.chunks() == before
