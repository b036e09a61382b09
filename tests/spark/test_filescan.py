"""Files that weft reads by itself: the rows that Spark would have given, from the files of each batch."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.ages import set_age
from tests.cases import in_parts
from tests.properties.programs import scenario
from weft.engine import parquetfiles, strides
from weft.engine.parquetfiles import Piece, pieces, read, spread
from weft.engine.rowscan import Unsuited, compile_scan
from weft.lang.parse import parse_program
from weft.session import Session
from weft.share.build import build
from weft.spark import filescan, ways
from weft.spark.filescan import batch_files
from weft.spark.level1 import collect, small_rows
from weft.spark.running import bind_with_spark
from weft.spark.ways import Ways

pytestmark = pytest.mark.spark

PLAIN = """
SELECT k, COUNT(*) AS n, SUM(x) AS s, AVG(p) AS a FROM s [RANGE 10 SECONDS SLIDE 4 SECONDS]
  WHERE k <> 'c' AND x > 0 GROUP BY k
"""
START = datetime(2025, 1, 1, tzinfo=UTC)


def same(wanted: pa.Table, found: pa.Table) -> bool:
    """To the bit, but that a standing filter that cannot tell wants no row."""
    told = [wanted[name].fill_null(False) if name[0] == "q" else wanted[name] for name in wanted.column_names]
    values = [str(column.to_pylist()) for column in told]  # tells 0.0 from -0.0, and NaN from nothing
    assert [(field.name, field.type) for field in wanted.schema] == [
        (field.name, field.type) for field in found.schema
    ]
    return values == [str(column.to_pylist()) for column in found.columns]


@in_parts(4)
def test_rows_are_those_that_spark_gives(spark, tmp_path: Path, part: int) -> None:
    scanned = 0
    for seed in range(5 * part, 5 * part + 5):
        made = scenario(Random(seed), 8, 80)
        file = str(tmp_path / f"{seed}.parquet")
        pq.write_table(pa.concat_tables(made.feeds), file, row_group_size=50)
        for name, sql in made.queries:
            (plan,) = build(bind_with_spark(spark, parse_program(made.only(name).text))).streams
            with suppress(Unsuited):
                scan = compile_scan(plan)
                rows = list(read(pieces([file], scan.columns), scan, None))
                wanted = collect(small_rows(spark.read.parquet(file).coalesce(1), plan, None))
                assert same(wanted, pa.Table.from_batches(rows, schema=rows[0].schema)), sql
                scanned += 1
    assert scanned > 3


class Runs:
    """Runs a program over files that a test lays down, and tells who read them."""

    def __init__(self, spark, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spark, self.path, self.read = spark, path, list[bool]()
        self.laid = 0
        (path / "in").mkdir()
        real = Ways._by_columns

        def spied(gone: Ways, *args: Any) -> Any:
            made = real(gone, *args)
            self.read.append(made is not None)
            return made

        monkeypatch.setattr(Ways, "_by_columns", spied)

    def lay(self, name: str, table: pa.Table, **options: Any) -> None:
        file = self.path / "in" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, file, **options)
        self.laid += 1
        set_age(file, self.laid)

    def answers(self, query: str = PLAIN, options: str = "", **session: Any) -> list[dict[str, Any]]:
        """Of a fresh run, its rows in order."""
        home = self.path / f"home{len(list(self.path.glob('home*')))}"
        program = (
            "CREATE STREAM s (k STRING, x BIGINT, p DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND "
            f"FROM parquet OPTIONS ('path' = '{self.path / 'in'}', 'maxFilesPerTrigger' = '1'{options});"
            f"CREATE QUERY q AS {query};"
        )
        self.read.clear()
        with Session(spark=self.spark, home=home, **session) as running:
            running.sql(program)
            running.start(drain=True)
            running.wait()
            found = running.results("q").toArrow().to_pylist()
        return sorted(found, key=str)


@pytest.fixture
def runs(spark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(spark, tmp_path, monkeypatch)


def rows(count: int, start: int = 0) -> pa.Table:
    at = range(start, start + count)
    return pa.table(
        {
            "k": pa.array(["abc"[i % 3] if i % 7 else None for i in at]),
            "x": pa.array([i % 5 for i in at], pa.int64()),
            "p": pa.array([i / 4 for i in at]),
            "ts": pa.array([START + timedelta(seconds=i) for i in at], pa.timestamp("us", "UTC")),
        }
    )


@pytest.mark.parametrize(
    ("small", "placement"),
    [
        pytest.param(ways.SMALL, "driver", id="here", marks=pytest.mark.slow),
        pytest.param(3, "executors", id="in workers, for executors"),
        pytest.param(3, "driver", id="in workers", marks=pytest.mark.slow),
        pytest.param(ways.SMALL, "executors", id="here, for executors", marks=pytest.mark.slow),
    ],
)
def test_answers_are_the_same_whoever_reads(
    runs: Runs, small: int, placement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ways, "SMALL", small)
    for at in range(13):  # so that Spark compacts the log of its source
        runs.lay(f"{at:02d} %20 ü.parquet", rows(10, 10 * at), row_group_size=4)
    found = runs.answers(placement=placement)
    assert runs.read == [True] * 13
    runs.spark.conf.set(filescan.ENABLED, "false")
    try:
        assert runs.answers() == found
    finally:
        runs.spark.conf.unset(filescan.ENABLED)
    assert runs.read == [False] * 13
    assert len(found) > 50


def test_a_standing_filter_is_answered_from_workers(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "SMALL", 3)
    runs.lay("a.parquet", rows(20), row_group_size=7)
    assert [row["x"] for row in runs.answers("SELECT x FROM s WHERE p >= 3 AND k = 'b'")] == [1, 3, 4]
    assert runs.read == [True]


Change = Callable[[pa.Table], pa.Table]


def cast(name: str, type_: pa.DataType) -> Change:
    return lambda table: table.set_column(
        table.column_names.index(name), name, table.column(name).cast(type_, safe=False)
    )


@pytest.mark.parametrize(
    ("change", "name", "options"),
    [
        (cast("ts", pa.timestamp("ms", "UTC")), "a.parquet", {}),
        (cast("ts", pa.timestamp("ns", "UTC")), "a.parquet", {"use_deprecated_int96_timestamps": True}),
        (cast("x", pa.int32()), "a.parquet", {}),
        (lambda table: table.drop_columns(["p"]), "a.parquet", {}),
        (lambda table: table.drop_columns(["k"]), "k=b/a.parquet", {}),
        (lambda table: table, "k=b/a.parquet", {}),
        (lambda table: table.replace_schema_metadata({parquetfiles.LEGACY[0]: ""}), "a.parquet", {}),
    ],
    ids=["milliseconds", "int96", "narrower", "missing", "partition", "both", "calendar"],
)
def test_files_that_are_not_as_declared_are_left_to_spark(
    runs: Runs, change: Change, name: str, options: dict[str, Any]
) -> None:
    runs.lay(name, change(rows(30)), **options)
    found = runs.answers(
        "SELECT k, COUNT(*) AS n, SUM(x) AS s, AVG(p) AS a FROM s [RANGE 10 SECONDS] GROUP BY k"
    )
    assert runs.read == [False]
    assert sum(row["n"] for row in found) == 30


def test_so_are_times_of_an_older_calendar(runs: Runs) -> None:
    old = rows(3).set_column(
        3, "ts", pa.array([datetime(1850, 1, 1, tzinfo=UTC)] * 3, pa.timestamp("us", "UTC"))
    )
    runs.lay("a.parquet", old)
    runs.spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED")
    try:
        assert sum(row["n"] for row in runs.answers("SELECT COUNT(*) AS n FROM s [RANGE 1 HOUR]")) == 3
    finally:
        runs.spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInRead")
    assert runs.read == [False]


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("SELECT upper(k) AS u, COUNT(*) AS n FROM s [RANGE 1 HOUR] GROUP BY upper(k)", ""),
        ("SELECT COUNT(*) AS n FROM s [RANGE 1 HOUR]", ", 'mergeSchema' = 'true'"),
    ],
    ids=["function", "option"],
)
def test_so_is_what_the_kernels_do_not_know(
    runs: Runs, query: str, options: str, caplog: pytest.LogCaptureFixture
) -> None:
    runs.lay("a.parquet", rows(30))
    with caplog.at_level(logging.INFO, "weft"):
        assert sum(row["n"] for row in runs.answers(query, options)) == 30
    assert runs.read == [False]
    told = "stream s is read row by row: only Spark can evaluate UPPER(k)"
    assert [record.getMessage() for record in caplog.records if record.name == "weft"] == (
        [] if options else [told]
    )


def test_a_file_that_turns_out_otherwise_is_read_by_spark(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Footers were as declared; then a page cannot be read."""
    for at in range(2):
        runs.lay(f"{at}.parquet", rows(30, 30 * at))

    def broken(*_: Any) -> Any:
        raise Unsuited("a page cannot be read")
        yield

    monkeypatch.setattr(ways, "read", broken)
    assert sum(row["n"] for row in runs.answers("SELECT COUNT(*) AS n FROM s [RANGE 1 HOUR]")) == 60
    assert runs.read == [False, False]


def test_late_rows_and_rows_without_time_are_counted(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strides, "LONGEST", 0.0)  # a step after each file, or the late row is still in time
    runs.lay("0.parquet", rows(30, 90))
    times = pa.array([START, None, START + timedelta(minutes=2)], pa.timestamp("us", "UTC"))
    runs.lay("1.parquet", rows(3).set_column(3, "ts", times))
    found = runs.answers("SELECT COUNT(*) AS n FROM s [RANGE 1 MINUTE]")
    assert sorted(row["n"] for row in found) == [1, 30]
    assert runs.read == [True, True]
    letters = [path for path in runs.path.glob("home0/dead/**/*") if path.is_file()]
    assert letters


def test_a_log_of_another_kind_is_not_guessed_at(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text('v2\n{}\n{"logOffset":0}')
    with pytest.raises(Unsuited, match="version v2"):
        batch_files(tmp_path, 0)


def test_pieces_are_shared_out_by_rows() -> None:
    parts = [Piece("f", at, count) for at, count in enumerate([5, 1, 4, 2])]
    assert [[part.rows for part in share] for share in spread(parts, 2)] == [[5, 1], [4, 2]]
    assert len(spread(parts, 9)) == 4
    assert parquetfiles.spread([], 3) == [[]]
