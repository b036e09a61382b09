"""Tables as Spark reads them, and programs that look them up."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import weft
from weft.errors import Errors, QueryError, RunError
from weft.lang.parse import parse_program
from weft.plan.bind import bind_program
from weft.plan.nodes import Table
from weft.spark.tables import read_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def declared(columns: str, format: str, path: Path | str, *more: str) -> Table:
    options = ", ".join([f"'path' = '{path}'", *more])
    (table,) = bind_program(
        parse_program(f"CREATE TABLE names ({columns}) FROM {format} OPTIONS ({options});")
    ).tables
    return table


def write(path: Path, **columns: list[Any]) -> Path:
    """A table in place of what is there: whoever reads it meanwhile finds one or the other."""
    path.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path.with_suffix(".new"))
    path.with_suffix(".new").rename(path / "one.parquet")
    return path


def test_columns_are_read_by_name_as_they_are_declared(spark: SparkSession, tmp_path: Path) -> None:
    path = write(tmp_path / "names", n=[1, 2], Sym=["a", None], rest=["x", "y"])
    rows = read_table(spark, declared("sym STRING, n INT", "parquet", path))
    assert rows.to_pylist() == [{"sym": "a", "n": 1}, {"sym": None, "n": 2}]


def test_csv_with_a_header_is_read_by_name(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("n,other,sym\n1,x,a\n2,y,b\n")
    table = declared("sym STRING, n INT", "csv", tmp_path / "names.csv", "'header' = 'true'")
    assert read_table(spark, table).to_pylist() == [{"sym": "a", "n": 1}, {"sym": "b", "n": 2}]


def test_csv_without_a_header_is_read_by_place(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "names.csv").write_text("a,1\nb,2\n")
    table = declared("sym STRING, n INT", "csv", tmp_path / "names.csv")
    assert read_table(spark, table).to_pylist() == [{"sym": "a", "n": 1}, {"sym": "b", "n": 2}]


def test_a_table_that_is_not_there_is_named(spark: SparkSession, tmp_path: Path) -> None:
    table = declared("sym STRING", "parquet", tmp_path / "nowhere")
    with pytest.raises(
        RunError, match="table `names` cannot be read from parquet: Path does not exist"
    ) as told:
        read_table(spark, table)
    assert told.value.code == "source-unreadable"
    assert told.value.at is not None


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_column_that_is_missing_is_named(spark: SparkSession, tmp_path: Path, format: str) -> None:
    write(tmp_path / "parquet", symbol=["a"])
    (tmp_path / "csv").write_text("symbol\na\n")
    table = declared("symbl STRING", format, tmp_path / format, "'header' = 'true'")
    with pytest.raises(QueryError, match=f"the {format} source of `names` has no column `symbl`") as told:
        read_table(spark, table)
    assert told.value.because == "did you mean `symbol`?"


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_a_value_that_is_no_such_type_is_shown(spark: SparkSession, tmp_path: Path, format: str) -> None:
    write(tmp_path / "parquet", sym=["a", "b"], n=["1", "many"])
    (tmp_path / "json").write_text('{"sym": "a", "n": 1}\n{"sym": "b", "n": "many"}\n')
    (tmp_path / "csv").write_text("a,1\nb,many\n")
    with pytest.raises(RunError, match=r"rows that are not as declared, 1 of them: .*many") as told:
        read_table(spark, declared("sym STRING, n INT", format, tmp_path / format))
    assert told.value.code == "table-corrupt"


PROGRAM = """
CREATE STREAM quotes (sym STRING, price BIGINT, at TIMESTAMP)
  TIMESTAMP BY at DELAY 0 SECONDS MAX AHEAD OFF FROM json OPTIONS ('path' = '{0}/quotes');
CREATE TABLE names (sym STRING, name STRING) KEY (sym) {1} FROM parquet OPTIONS ('path' = '{0}/names');
CREATE QUERY named AS SELECT q.sym, name FROM quotes q LEFT JOIN names n ON q.sym = n.sym;
"""


def feed(path: Path, file: str, *rows: tuple[str, int]) -> None:
    """Rows at so many seconds after ten."""
    lines = [{"sym": sym, "price": 1, "at": f"2025-01-01T10:00:{second:02}Z"} for sym, second in rows]
    (path / "quotes").mkdir(exist_ok=True)
    (path / f"{file}.tmp").write_text("\n".join(map(json.dumps, lines)))
    (path / f"{file}.tmp").rename(path / "quotes" / f"{file}.json")


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def named(session: weft.Session) -> list[tuple[str, str | None]]:
    rows = session.table("named").to_pylist()
    return sorted(((row["sym"], row["name"]) for row in rows), key=repr)


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path) -> Any:
    with weft.Session(spark, tmp_path / "home") as made:
        yield made


def test_rows_that_come_after_a_refresh_see_it(session: weft.Session, tmp_path: Path) -> None:
    write(tmp_path / "names", sym=["a"], name=["one"])
    feed(tmp_path, "0", ("a", 1), ("b", 2))
    session.sql(PROGRAM.format(tmp_path, ""))
    session.start(trigger="200ms")
    eventually(lambda: len(named(session)) == 2)
    assert not session.refresh("names")
    write(tmp_path / "names", sym=["a", "b"], name=["two", "three"])
    assert session.refresh("NAMES")
    feed(tmp_path, "1", ("b", 2), ("a", 3), ("b", 4))
    eventually(lambda: len(named(session)) == 5)
    assert named(session) == [("a", "one"), ("a", "two"), ("b", "three"), ("b", None), ("b", None)]
    (table,) = session.status().tables
    assert (table.version, table.rows, table.error) == (1, 2, "")


def test_a_refresh_that_fails_is_told_and_the_version_before_stays(
    session: weft.Session, tmp_path: Path
) -> None:
    write(tmp_path / "names", sym=["a"], name=["one"])
    feed(tmp_path, "0", ("a", 1))
    session.sql(PROGRAM.format(tmp_path, "REFRESH EVERY 300 MILLISECONDS"))
    session.start(trigger="200ms")
    eventually(lambda: len(named(session)) == 1)
    write(tmp_path / "names", sym=["a", "a"], name=["two", "three"])
    twice = "table `names` has 2 rows with the key sym = 'a'"
    eventually(lambda: session.status().tables[0].error == twice)
    with pytest.raises(RunError, match="2 rows with the key"):
        session.refresh("names")
    feed(tmp_path, "1", ("a", 2))
    eventually(lambda: len(named(session)) == 2)
    write(tmp_path / "names", sym=["a"], name=["four"])
    eventually(lambda: session.status().tables[0].version == 1)
    feed(tmp_path, "2", ("a", 3))
    eventually(lambda: len(named(session)) == 3)
    assert named(session) == [("a", "four"), ("a", "one"), ("a", "one")]
    eventually(lambda: session.status().tables[0].error == "")


def test_a_table_that_cannot_be_read_at_the_first_start_ends_it(
    session: weft.Session, tmp_path: Path
) -> None:
    feed(tmp_path, "0", ("a", 1))
    session.sql(PROGRAM.format(tmp_path, ""))
    with pytest.raises(RunError, match="table `names` cannot be read"):
        session.start()
    with pytest.raises(Errors) as told:
        session.check()
    assert [error.code for error in told.value.errors] == ["source-unreadable"]


def test_refreshing_what_is_no_table_or_does_not_run_is_refused(
    session: weft.Session, tmp_path: Path
) -> None:
    write(tmp_path / "names", sym=["a"], name=["one"])
    feed(tmp_path, "0", ("a", 1))
    session.sql(PROGRAM.format(tmp_path, ""))
    with pytest.raises(RunError, match="not running"):
        session.refresh("names")
    session.start()
    with pytest.raises(RunError, match="there is no table `nmes`") as told:
        session.refresh("nmes")
    assert told.value.because == "did you mean `names`?"


def test_a_query_over_a_table_can_be_added_while_the_program_runs(
    session: weft.Session, tmp_path: Path
) -> None:
    write(tmp_path / "names", sym=["a"], name=["one"])
    feed(tmp_path, "0", ("a", 1))
    stream, rest = PROGRAM.format(tmp_path, "").split("CREATE TABLE")
    session.sql(stream + "CREATE QUERY plain AS SELECT sym FROM quotes;")
    session.start(trigger="200ms")
    eventually(lambda: session.table("plain").num_rows == 1)
    session.sql("CREATE TABLE" + rest)
    feed(tmp_path, "1", ("a", 2))
    eventually(lambda: len(named(session)) == 1)
    assert named(session) == [("a", "one")]
