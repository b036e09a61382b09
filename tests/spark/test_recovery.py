"""Runs on Spark that are stopped, changed, damaged and started again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.errors import PySparkException

from tests.ages import set_age
from weft.engine.runtime import Runtime
from weft.engine.shape import Job
from weft.errors import RunError
from weft.session import Session
from weft.spark import finish
from weft.terminal.report import read_status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STREAM = """
CREATE STREAM trades (sym STRING, price DOUBLE, note STRING, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 2 SECONDS MAX AHEAD OFF
  FROM json OPTIONS ('path' = '{source}', 'maxFilesPerTrigger' = '1');
"""
COUNT = "CREATE QUERY n AS SELECT COUNT(*) AS n FROM trades [RANGE 4 SECONDS];"
CASTS = "CREATE QUERY casts AS SELECT SUM(CAST(note AS INT)) AS s FROM trades [RANGE 4 SECONDS]"


class Place:
    """A source of JSON files and a home."""

    def __init__(self, path: Path, spark: SparkSession) -> None:
        self.path, self.home, self._spark = path, path / "home", spark
        (path / "in").mkdir()

    def arrive(self, *seconds: int, note: str = "1") -> None:
        """A file with a row for each of these times; its price is the time."""
        number = len(list((self.path / "in").iterdir()))
        rows = [
            {"sym": "A", "price": at, "note": note, "ts": f"2024-01-01T00:00:{at:02d}Z"} for at in seconds
        ]
        staged = self.path / "staged"
        staged.write_text("\n".join(json.dumps(row) for row in rows))
        set_age(staged, number)
        staged.rename(self.path / "in" / f"{number:03d}.json")

    def session(self, text: str) -> Session:
        session = Session(self._spark, self.home)
        session.sql(STREAM.format(source=self.path / "in") + text)
        return session

    def run(self, text: str, drain: bool = False) -> None:
        """What is there, to the end."""
        with self.session(text) as session:
            session.start(once=True, drain=drain)
            assert session.wait(120)

    def answers(self, query: str, column: str, version: int = 1) -> list[Any]:
        parts = sorted((self.home / "results" / query / f"v{version}").glob("part-*"))
        tables = [ds.dataset(part, format="parquet").to_table() for part in parts]
        return [value for table in tables for value in table.column(column).to_pylist()]


@pytest.fixture
def place(tmp_path: Path, spark: SparkSession) -> Place:
    return Place(tmp_path, spark)


def test_it_goes_on_where_it_stopped(place: Place) -> None:
    place.arrive(1, 2)
    place.arrive(5)
    place.run(COUNT)
    place.arrive(6, 9)
    place.run(COUNT, drain=True)
    assert place.answers("n", "n") == [2, 2, 1]


def test_a_log_without_its_checkpoint_is_refused(place: Place) -> None:
    place.arrive(1, 2)
    place.run(COUNT)
    shutil.rmtree(place.home / "checkpoints")
    with pytest.raises(RunError) as refused:
        place.run(COUNT)
    assert refused.value.code == "checkpoint-missing"


def test_a_checkpoint_without_its_log_is_refused(place: Place) -> None:
    place.arrive(1, 2)
    place.run(COUNT)
    for part in ("ingest", "answers", "snapshots"):
        shutil.rmtree(place.home / part)
    with pytest.raises(RunError) as refused:
        place.run(COUNT)
    assert refused.value.code == "log-missing"
    assert "batch 0" in refused.value.because


def test_a_checkpoint_older_than_its_log_is_refused(place: Place, tmp_path: Path) -> None:
    place.arrive(1, 2)
    place.run(COUNT)
    shutil.copytree(place.home / "checkpoints", tmp_path / "backup")
    place.arrive(5)
    place.arrive(6)
    place.run(COUNT)
    shutil.rmtree(place.home / "checkpoints")
    shutil.copytree(tmp_path / "backup", place.home / "checkpoints")
    with pytest.raises(RunError) as refused:
        place.run(COUNT)
    assert refused.value.code == "checkpoint-old"


def test_a_checkpoint_of_another_home_is_refused(place: Place, tmp_path: Path, spark: SparkSession) -> None:
    place.arrive(1, 2)
    place.run(COUNT)
    (tmp_path / "other").mkdir()
    other = Place(tmp_path / "other", spark)
    other.arrive(1, 2)
    other.run(COUNT)
    shutil.rmtree(place.home / "checkpoints")
    shutil.copytree(other.home / "checkpoints", place.home / "checkpoints")
    with pytest.raises(RunError) as refused:
        place.run(COUNT)
    assert refused.value.code == "checkpoint-of-another-log"


def test_dead_letters_of_the_last_batch_are_delivered_before_it_ends(place: Place) -> None:
    place.arrive(1, note="x")
    place.run(COUNT + CASTS + ";", drain=True)
    dead = ds.dataset(place.home / "dead" / "casts@1", format="parquet").to_table().to_pylist()
    assert [json.loads(row["row"])["note"] for row in dead] == ["x"]


def test_the_only_query_of_a_stream_may_fail_and_come_back(place: Place) -> None:
    place.arrive(1)
    place.arrive(5, note="x")
    place.run(CASTS + " ON ERROR FAIL;")
    place.arrive(9)
    place.run(CASTS + " ON ERROR FAIL;")  # nobody reads the stream: it waits
    place.arrive(13)
    place.run(CASTS + ";", drain=True)
    assert place.answers("casts", "s") == []
    assert place.answers("casts", "s", version=2) == [1, 1]


def test_a_query_that_breaks_a_batch_is_taken_out_and_the_others_go_on(place: Place) -> None:
    raising = "IF(price = 5, raise_error('five'), price)"
    boom = f"CREATE QUERY boom AS SELECT MAX({raising}) AS p FROM trades [RANGE 4 SECONDS];"
    place.arrive(1)
    place.arrive(5)
    place.run(COUNT + boom)
    place.arrive(9)
    place.run(COUNT + boom, drain=True)
    assert place.answers("n", "n") == [1, 1, 1]
    assert place.answers("boom", "p") == []
    with place.session(COUNT + boom) as session:
        session.start(once=True)
        assert session.wait(120)
        assert [query.error for query in session.status().queries if query.state == "failed"] == ["five"]


def test_a_step_that_fails_at_the_very_end_is_not_passed_over(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.arrive(1)
    step = Runtime.step

    def fails_to_drain(self: Runtime, *args: Any, **how: Any) -> bool:
        if how.get("drain"):
            raise RunError("disk-full", "no space left")
        return step(self, *args, **how)

    with monkeypatch.context() as patched:
        patched.setattr(Runtime, "step", fails_to_drain)
        with pytest.raises(RunError, match="no space left"):
            place.run(COUNT, drain=True)
    place.run(COUNT, drain=True)
    assert place.answers("n", "n") == [1]


def test_what_ends_a_batch_is_told_as_it_is(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.arrive(1)

    def full(*_: object) -> None:
        raise RunError("disk-full", "no space left")

    monkeypatch.setattr(Runtime, "commit", full)
    with pytest.raises(RunError) as ended:
        place.run(COUNT)
    assert ended.value.code == "disk-full"


def test_a_query_added_while_it_runs_may_need_columns_that_were_not_read(place: Place) -> None:
    place.arrive(1)
    with place.session(COUNT) as session:
        session.start()
        wait_for(session, batches=1)
        session.sql("CREATE QUERY p AS SELECT MAX(price) AS p FROM trades [RANGE 4 SECONDS];")
        place.arrive(5)
        place.arrive(13)
        wait_for(session, batches=3)
    assert place.answers("n", "n") == [1, 1]
    assert place.answers("p", "p") == [5.0]


def test_the_last_query_of_a_stream_may_go_and_another_come_while_it_runs(place: Place) -> None:
    place.arrive(1)
    with place.session(COUNT) as session:
        session.start()
        wait_for(session, batches=1)
        session.sql("DROP QUERY n;")
        place.arrive(5)
        session.sql(COUNT.replace("QUERY n", "QUERY m"))
        place.arrive(13)
        wait_for(session, batches=3)
    assert place.answers("m", "n") == [1]


def test_a_generator_with_an_end_may_be_run_again(place: Place) -> None:
    generated = """
    CREATE STREAM market (symbol STRING, price DOUBLE, qty BIGINT, venue STRING, side STRING, ts TIMESTAMP)
      TIMESTAMP BY ts DELAY 1 SECOND
      FROM generator OPTIONS ('rows' = '200', 'rows.per.batch' = '100', 'rows.per.second' = '10');
    CREATE QUERY g AS SELECT COUNT(*) AS n FROM market [RANGE 5 SECONDS];
    """
    place.run(generated)
    place.run(generated)
    place.run(generated, drain=True)
    assert sum(place.answers("g", "n")) == 200


def test_a_run_whose_last_query_is_dropped_is_idle_until_there_is_another(place: Place) -> None:
    place.arrive(1, 9)
    with place.session(COUNT) as session:
        session.start()
        wait_for(session, 1)
        assert session.status().state == "running"
        session.sql("DROP QUERY n")
        assert not session.wait(0.1)
        assert session.status().state == "idle"
        session.sql(COUNT.replace("QUERY n", "QUERY m"))
        assert session.status().state == "running"
    told = read_status(place.home)
    assert told is not None
    assert told.state == "stopped"


def wait_for(session: Session, batches: int) -> None:
    """Until so many batches are ingested and answered."""
    for _ in range(600):
        if session.status().streams[0].batches >= batches and session.status().steps >= batches:
            return
        assert not session.wait(0.1)
    raise AssertionError(f"no {batches} batches: {session.status()}")


def test_a_spark_that_is_gone_is_not_taken_for_an_expression_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = Mock()
    gone.toArrow.side_effect = gone.range.return_value.toArrow.side_effect = PySparkException("shut down")
    monkeypatch.setattr(finish, "_selected", lambda *_: gone)
    job = Job(pa.table({"_a0": [1]}), ())
    with pytest.raises(PySparkException, match="shut down"):
        finish.finish(gone, [job])
