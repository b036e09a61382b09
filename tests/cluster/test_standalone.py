"""Programs on a real cluster, started in each way that is documented: answers are those of a run here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tests.ages import set_age
from tests.cluster.standalone import HOST, SPARK, Standalone, kill

pytestmark = pytest.mark.spark

PROGRAM = """
CREATE STREAM s (k STRING, v BIGINT, x DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts DELAY 0 SECONDS
  FROM parquet OPTIONS ('path' = '{files}', 'maxFilesPerTrigger' = '1');
CREATE QUERY sums AS SELECT k, window_end, SUM(v) AS v, COUNT(*) AS n, MAX(x) AS x
  FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k;
CREATE QUERY different AS SELECT window_end, COUNT(DISTINCT k) AS n FROM s [RANGE 10 SECONDS];
CREATE QUERY best AS SELECT k, window_end, SUM(v) AS v FROM s [RANGE 10 SECONDS]
  GROUP BY k ORDER BY v DESC LIMIT 3;
CREATE QUERY met AS SELECT a.k, a.v, b.x FROM s [RANGE 8 SECONDS] a JOIN s [RANGE 8 SECONDS] b ON a.k = b.k
  WHERE a.v > 990 AND b.v < 100;
CREATE QUERY alone AS SELECT a.k, a.v FROM s [RANGE 8 SECONDS] a WHERE a.v > 990
  AND NOT EXISTS (SELECT 1 FROM s [RANGE 8 SECONDS] b WHERE b.k = a.k AND b.v < 100);
"""
FILES, ROWS, KEYS = 8, 30_000, 5_000
EXECUTORS = (
    "--conf", "spark.executor.memory=512m",
    "--conf", "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
)  # fmt: skip
LAST = ("--drain", "--progress", "none")
DOCS = Path(__file__).parents[2] / "docs" / "cluster.md"

Process = subprocess.Popen[bytes]


def write_files(directory: Path) -> None:
    directory.mkdir()
    rng = np.random.default_rng(5)
    for at in range(FILES):
        seconds = 10 * at + np.sort(rng.random(ROWS)) * 10
        rows = {
            "k": pa.array([f"key {n}" for n in rng.integers(0, KEYS, ROWS)]),
            "v": pa.array(rng.integers(0, 1000, ROWS)),
            "x": pa.array(rng.random(ROWS)),
            "ts": pa.array((seconds * 1e6).astype(np.int64), pa.timestamp("us", tz="UTC")),
        }
        pq.write_table(pa.table(rows), directory / f"{at:03d}.parquet")
        set_age(directory / f"{at:03d}.parquet", at)


def start(directory: Path, name: str, *command: str | Path, python: Path | str = sys.executable) -> Process:
    """A process that writes its log beside the program; `python` is that of the workers."""
    chosen = {"PYSPARK_DRIVER_PYTHON": sys.executable, "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": HOST}
    with open(directory / f"{name}.log", "wb") as log:
        return subprocess.Popen(
            command, cwd=directory, env=os.environ | chosen, stdout=log, stderr=subprocess.STDOUT
        )


def weft(directory: Path, home: str, *options: str) -> Process:
    return start(
        directory, home, sys.executable, "-m", "weft", "run", "app.sql", "--home", home, *LAST, *options
    )


def submit(directory: Path, name: str, *arguments: str | Path, python: Path | str = sys.executable) -> None:
    ran = start(directory, name, SPARK / "bin" / "spark-submit", *arguments, python=python)
    assert ran.wait(300) == 0, (directory / f"{name}.log").read_text()


def assert_answered(directory: Path, home: str) -> None:
    for query in ("sums", "different", "best", "met", "alone"):
        told = answers(directory, home, query)
        assert told
        assert told == answers(directory, "here", query)


def answers(directory: Path, home: str, query: str) -> list[tuple[object, ...]]:
    table = ds.dataset(directory / home / "results" / query / "v1", format="parquet").to_table()
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program, its input, and what it answers without a cluster, submitted as the docs say."""
    made = tmp_path_factory.mktemp("cluster")
    write_files(made / "files")
    (made / "app.sql").write_text(PROGRAM.format(files=made / "files"))
    found = [sys.executable, "-c", "import weft.submit as it; print(it.__file__)"]
    application = subprocess.check_output(found, text=True).strip()
    options = ("--home", "here", *LAST, "--placement", "driver")
    submit(made, "here", "--master", "local[2]", application, "app.sql", *options)
    return made


@pytest.fixture(scope="module")
def cluster(directory: Path) -> Iterator[Standalone]:
    with Standalone(directory, workers=2) as started:
        yield started


@pytest.fixture(scope="module")
def lean_python(directory: Path) -> Path:
    """One that has nothing but what the docs ask for."""
    venv.create(directory / "lean", with_pip=False)
    (packages,) = (directory / "lean").glob("lib/python3*/site-packages")
    for needed in (np, pa):
        found = Path(str(needed.__file__)).parent
        for path in (found, found.with_suffix(".libs")):
            if path.exists():
                (packages / path.name).symlink_to(path)
    return directory / "lean" / "bin" / "python"


@pytest.mark.slow
def test_the_script_of_the_docs_by_spark_submit(
    directory: Path, cluster: Standalone, lean_python: Path
) -> None:
    (script,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    for shown, used in (
        ("/shared/app", "submitted"),
        ("buckets=32", "buckets=4"),
        (".start()", ".start(drain=True)"),
    ):
        script = script.replace(shown, used)
    (directory / "run.py").write_text(script)
    submit(directory, "script", "--master", cluster.master, *EXECUTORS, "run.py", python=lean_python)
    assert_answered(directory, "submitted")


def test_a_killed_worker_costs_no_answer(directory: Path, cluster: Standalone) -> None:
    there = weft(
        directory, "there", "--placement", "executors", "--buckets", "4", "--master", cluster.master,
        *EXECUTORS, "--conf", "spark.task.maxFailures=8",
    )  # fmt: skip
    _await_batches(directory / "there", 3, there)
    kill(cluster.workers[0])
    assert there.wait(300) == 0, (directory / "there.log").read_text()
    assert_answered(directory, "there")


def _await_batches(home: Path, batches: int, process: Process) -> None:
    until = time.monotonic() + 240
    while len(list((home / "ingest" / "s").glob("*.json"))) < batches:
        assert process.poll() is None, "it has ended"
        assert time.monotonic() < until, "it did not come so far"
        time.sleep(0.05)
