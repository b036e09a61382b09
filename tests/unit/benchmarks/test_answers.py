"""What the check of a race must not let pass, and what it must."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import partials
from benchmarks.answers import compare
from benchmarks.contestants import duck
from benchmarks.data import Data, files_of
from benchmarks.programs import WindowQuery
from benchmarks.workload import Workload

DATA = Data(rows=2_000, keys=5, files=2, span=200)
QUERIES = (
    WindowQuery("average", "AVG", "price", 30, 10),
    WindowQuery("total", "SUM", "qty", 30, 10),
    WindowQuery("least", "MIN", "price", 7, 7),
    WindowQuery("all_keys", "COUNT", "*", 20, 5, "qty > 500", keyed=False),
)
WORKLOAD = Workload("small", "small", DATA, QUERIES[:3], ("duck",))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return files_of(DATA, tmp_path / "data")


@pytest.fixture
def judge(files: Path, tmp_path: Path) -> Path:
    side = duck.Side("1g")
    side.run(WORKLOAD, files, tmp_path / "judge")
    side.close()
    return tmp_path / "judge"


def copied(judge: Path, place: Path, change: str = "*", only: str = "true", more: str = "") -> Path:
    """The judge's answers, changed."""
    rows = (
        f"(SELECT {change} FROM read_parquet('{judge}/*/*.parquet', hive_partitioning = true) WHERE {only})"
    )
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT * FROM {rows}{more}) TO '{place}' (FORMAT parquet, PARTITION_BY query)"
        )
    return place


def test_the_judge_is_right_row_by_row(files: Path, judge: Path) -> None:
    rows = pa.concat_tables([pq.read_table(path) for path in sorted(files.iterdir())]).to_pandas()
    found = pq.read_table(judge / "query=average").to_pandas()
    assert len(found) > 100
    for end, key, value in zip(found.window_end, found.key, found.value, strict=True):
        end_utc = end.tz_localize("UTC")
        in_window = rows[
            (rows.ts >= end_utc - timedelta(seconds=30)) & (rows.ts < end_utc) & (rows.key == key)
        ]
        assert value == pytest.approx(in_window.price.mean(), rel=1e-12)


def test_a_query_over_all_keys_is_one_group(files: Path) -> None:
    family, *_ = partials.families(QUERIES[3:])
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE slices AS SELECT * FROM (VALUES (1, 3, 600, 2), (2, 4, 600, 5), (1, 9, 100, 9)) "
            "AS s(key, second, qty, n)"
        )
        found = connection.execute(f"{partials.answers(family, 'slices')} ORDER BY window_end").fetchall()
    assert found == [("all_keys", end, 0, 7.0) for end in (5, 10, 15, 20)]


def test_equal_answers_pass_though_sums_of_doubles_differ_a_little(
    files: Path, judge: Path, tmp_path: Path
) -> None:
    other = copied(judge, tmp_path / "other", "* REPLACE (value * (1 + 1e-13) AS value)")
    verdict = compare(WORKLOAD, files, judge, other)
    assert verdict.equal
    assert verdict.rows > 0
    assert str(verdict) == f"{verdict.rows:,} answers equal"


@pytest.mark.parametrize(
    ("change", "only", "what"),
    [
        ("* REPLACE (value * (1 + 1e-6 * (key = 3)::INT) AS value)", "true", "different"),
        ("*", "NOT (key = 3 AND query = 'total')", "missing"),
        ("* REPLACE (key + 100 * (query = 'least')::INT AS key)", "true", "extra"),
    ],
)
def test_other_answers_do_not(
    files: Path, judge: Path, tmp_path: Path, change: str, only: str, what: str
) -> None:
    verdict = compare(WORKLOAD, files, judge, copied(judge, tmp_path / "other", change, only))
    assert not verdict.equal
    assert getattr(verdict, what) > 0
    assert "wanted, got" in str(verdict)


def test_an_answer_given_twice_is_one_too_many(files: Path, judge: Path, tmp_path: Path) -> None:
    doubled = (
        f" UNION ALL (SELECT * FROM read_parquet('{judge}/*/*.parquet', hive_partitioning = true) LIMIT 1)"
    )
    verdict = compare(WORKLOAD, files, judge, copied(judge, tmp_path / "other", more=doubled))
    assert verdict.extra == 1


def test_windows_that_are_still_open_are_not_compared(files: Path, judge: Path, tmp_path: Path) -> None:
    last = datetime(2026, 1, 1) + timedelta(seconds=DATA.span - DATA.disorder - 1)
    other = copied(judge, tmp_path / "other", only=f"window_end <= TIMESTAMP '{last}'")
    assert compare(WORKLOAD, files, judge, other).equal


def test_no_answers_at_all_are_all_missing(files: Path, judge: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    verdict = compare(WORKLOAD, files, judge, tmp_path / "other")
    assert (verdict.missing, verdict.extra) == (verdict.rows, 0)
