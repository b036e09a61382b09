"""A program on a real cluster, and a worker killed in the middle: the answers are those of a run here."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tests.cluster.standalone import Standalone, kill

PROGRAM = """
CREATE STREAM s (k STRING, v BIGINT, x DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts DELAY 0 SECONDS
  FROM parquet OPTIONS ('path' = '{files}', 'maxFilesPerTrigger' = '1');
CREATE QUERY sums AS SELECT k, window_end, SUM(v) AS v, COUNT(*) AS n, MAX(x) AS x
  FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k;
CREATE QUERY different AS SELECT window_end, COUNT(DISTINCT k) AS n FROM s [RANGE 10 SECONDS];
CREATE QUERY best AS SELECT k, window_end, SUM(v) AS v FROM s [RANGE 10 SECONDS]
  GROUP BY k ORDER BY v DESC LIMIT 3;
"""
FILES, ROWS, KEYS = 8, 30_000, 5_000


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


def weft(directory: Path, home: str, *options: str) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "weft",
        "run",
        "app.sql",
        "--home",
        home,
        "--drain",
        "--progress",
        "none",
    ]
    with open(directory / f"{home}.log", "wb") as log:
        return subprocess.Popen([*command, *options], cwd=directory, stdout=log, stderr=subprocess.STDOUT)


def answers(directory: Path, home: str, query: str) -> list[tuple[object, ...]]:
    table = ds.dataset(directory / home / "results" / query / "v1", format="parquet").to_table()
    return sorted(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.spark
def test_a_killed_worker_costs_no_answer(tmp_path: Path) -> None:
    write_files(tmp_path / "files")
    (tmp_path / "app.sql").write_text(PROGRAM.format(files=tmp_path / "files"))
    assert weft(tmp_path, "here", "--placement", "driver").wait(300) == 0
    with Standalone(tmp_path, workers=2) as cluster:
        there = weft(
            tmp_path, "there", "--placement", "executors", "--buckets", "4", "--master", cluster.master,
            "--conf", "spark.executor.memory=512m", "--conf", "spark.task.maxFailures=8",
        )  # fmt: skip
        _await_steps(tmp_path / "there", 3, there)
        kill(cluster.workers[0])
        assert there.wait(300) == 0, (tmp_path / "there.log").read_text()
    for query in ("sums", "different", "best"):
        assert answers(tmp_path, "there", query) == answers(tmp_path, "here", query)


def _await_steps(home: Path, steps: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 240
    while len(list((home / "answers").glob("*.json"))) < steps:
        assert process.poll() is None, "it has ended"
        assert time.monotonic() < until, "it did not come so far"
        time.sleep(0.05)
