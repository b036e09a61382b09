"""A program whose home is in an object store: killed, taken over from elsewhere, moved to executors."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.ages import set_age
from tests.stores import package, url
from weft.errors import RunError
from weft.log.catalog import Catalog
from weft.log.home import Home
from weft.log.ingest import IngestLog
from weft.log.paths import locate
from weft.session import Session
from weft.spark.checkpoint import check_checkpoint, query_id
from weft.spark.committed import read_committed
from weft.spark.executors import SparkCrew
from weft.spark.filescan import batch_files

pytestmark = pytest.mark.spark

PROGRAM = """
CREATE STREAM trades (sym STRING, qty BIGINT, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 2 SECONDS MAX AHEAD OFF
  FROM parquet OPTIONS ('path' = '{source}', 'maxFilesPerTrigger' = '1');
CREATE QUERY volume AS
  SELECT sym, SUM(qty) AS volume, COUNT(*) AS trades FROM trades [RANGE 10 SECONDS] GROUP BY sym;
"""
ROWS = 21_000  # in a file: so many that executors do level 1
START = 1_704_067_200_000_000
SMALL = ("--master", "local[2]", "--conf", "spark.sql.shuffle.partitions=2", "--progress", "none")


class Machine:
    """A program and its source, reached by processes that start in directories of their own."""

    def __init__(self, path: Path) -> None:
        self.path, self.home = path, url("bucket", path / "store" / "app")
        self.env = package(path / "package")
        self.tables: list[pa.Table] = []
        (path / "in").mkdir()
        (path / "app.sql").write_text(PROGRAM.format(source=path / "in"))

    def arrive(self) -> None:
        number = len(self.tables)
        rng = np.random.default_rng(number)
        at = START + number * 10_000_000 + rng.integers(0, 10_000_000, ROWS)
        columns = {
            "sym": [f"S{key}" for key in rng.integers(0, 5, ROWS)],
            "qty": rng.integers(1, 100, ROWS),
            "ts": pa.array(at, pa.timestamp("us", "UTC")),
        }
        self.tables.append(pa.table(columns))
        pq.write_table(self.tables[-1], self.path / f"{number}.staged", row_group_size=ROWS // 2)
        set_age(self.path / f"{number}.staged", number)
        (self.path / f"{number}.staged").rename(self.path / "in" / f"{number:03d}.parquet")

    def weft(self, where: str, *args: str, fault: str = "") -> subprocess.CompletedProcess[str]:
        (self.path / where).mkdir(exist_ok=True)
        env = self.env | ({"WEFT_FAULT": fault} if fault else {})
        child = subprocess.Popen(
            [sys.executable, "-m", "weft", *args, "--home", self.home],
            cwd=self.path / where,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        out, err = child.communicate(timeout=300)
        with suppress(ProcessLookupError):  # what a killed driver leaves of Spark
            os.killpg(child.pid, signal.SIGKILL)
        return subprocess.CompletedProcess(args, child.returncode, out, err)

    def run(self, where: str, *args: str, fault: str = "") -> subprocess.CompletedProcess[str]:
        return self.weft(where, "run", str(self.path / "app.sql"), *args, *SMALL, fault=fault)

    def expected(self) -> list[tuple[int, str, int, int]]:
        rows = pa.concat_tables(self.tables)
        window = pc.divide(pc.subtract(rows.column("ts").cast(pa.int64()), START), 10_000_000)
        found = rows.append_column("w", window).group_by(["w", "sym"])
        return sorted(
            (row["w"], row["sym"], row["qty_sum"], row["qty_count"])
            for row in found.aggregate([("qty", "sum"), ("qty", "count")]).to_pylist()
        )

    def answers(self, where: str) -> list[tuple[int, str, int, int]]:
        said = self.weft(where, "results", "volume", "--format", "json")
        assert said.returncode == 0, said.stderr
        return sorted(map(_answer, map(json.loads, said.stdout.splitlines())))


def _answer(row: dict[str, object]) -> tuple[int, str, int, int]:
    second = int(np.datetime64(str(row["window_start"]).rstrip("Z"), "us").astype(np.int64)) - START
    return second // 10_000_000, str(row["sym"]), int(str(row["volume"])), int(str(row["trades"]))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.slow
def test_killed_and_taken_over_elsewhere_it_answers_the_same(machine: Machine, spark) -> None:
    machine.arrive()
    machine.arrive()
    checkpoint = ("--checkpoint", str(machine.path / "checkpoints"))
    killed = machine.run("one", "--placement", "driver", "--once", *checkpoint, fault="answers.record.staged")
    assert killed.returncode == -9, killed.stderr
    machine.arrive()
    machine.arrive()
    ended = machine.run("two", "--placement", "executors", "--drain")
    assert ended.returncode == 0, ended.stderr
    assert f"--home {machine.home}" in ended.stdout
    assert machine.answers("three") == machine.expected()
    status = machine.weft("three", "status", "--format", "json")
    assert json.loads(status.stdout)["state"] == "stopped", status.stderr
    assert [os.listdir(machine.path / where) for where in ("one", "three")] == [[], []]
    newest = IngestLog(Home.look(machine.home), "trades").last
    assert newest is not None
    assert len(newest.data.files) == 2  # one of each task
    with Session(spark, machine.home) as session:
        session.sql((machine.path / "app.sql").read_text())
        assert session.verify("volume").equal


def test_a_checkpoint_where_spark_has_no_file_system_is_refused(machine: Machine, spark) -> None:
    machine.arrive()
    with Session(spark, machine.home) as session:
        session.sql((machine.path / "app.sql").read_text())
        with pytest.raises(RunError) as refused:
            session.start(once=True)
    assert refused.value.code == "checkpoint-unreachable"
    assert "--checkpoint" in refused.value.help


def test_executors_that_do_not_see_the_home_are_told_apart(machine: Machine, spark) -> None:
    with pytest.raises(RunError) as refused:
        SparkCrew(spark, 2).check_home(machine.home)  # these workers were started without the package
    assert refused.value.code == "executors-lack-home"
    assert "bucket://" in refused.value.what


def test_a_checkpoint_is_read_where_it_is_and_another_is_refused(machine: Machine, spark) -> None:
    machine.arrive()
    with Session(spark, machine.home, checkpoint=machine.path / "checkpoints") as session:
        session.sql((machine.path / "app.sql").read_text())
        session.start(once=True)
        assert session.wait(120)
        stream = session.program.stream("trades")
    checkpoint = machine.path / "checkpoints" / "trades"
    there = locate(url("bucket", checkpoint))  # as if Spark had written it there
    assert query_id(there) == query_id(checkpoint) is not None
    assert batch_files(there, 0) == batch_files(checkpoint, 0) == [f"file://{machine.path}/in/000.parquet"]
    home = Home.look(machine.home)
    check_checkpoint(there, Catalog(home), IngestLog(home, "trades"))
    again = read_committed(spark, stream, there, 0)
    assert again is not None
    assert again.count() == ROWS
    with Session(spark, machine.home, checkpoint=machine.path / "others") as session:
        session.sql((machine.path / "app.sql").read_text())
        with pytest.raises(RunError) as refused:
            session.start(once=True)
    assert refused.value.code == "checkpoint-elsewhere"
