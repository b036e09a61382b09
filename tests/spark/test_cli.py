"""The command line from end to end: a process of its own, with a Spark of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

PROGRAM = """
CREATE STREAM trades (symbol STRING, price DOUBLE, qty BIGINT, venue STRING, side STRING, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 2 SECONDS
  FROM generator OPTIONS ('preset' = 'market', {rows}'rows.per.batch' = '2000', 'rows.per.second' = '500');
CREATE QUERY volume AS
  SELECT venue, SUM(qty) AS volume, COUNT(*) AS trades FROM trades [RANGE 2 SECONDS] GROUP BY venue;
"""
SMALL = ("--master", "local[2]", "--conf", "spark.sql.shuffle.partitions=2")


@pytest.fixture
def program(tmp_path) -> Path:
    path = tmp_path / "app.sql"
    path.write_text(PROGRAM.format(rows="'rows' = '6000', "))
    return path


def start(program: Path, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "weft", *args],
        cwd=program.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def weft(program: Path, *args: str) -> subprocess.CompletedProcess[str]:
    child = start(program, *args)
    out, err = child.communicate(timeout=300)
    return subprocess.CompletedProcess(args, child.returncode, out, err)


def test_a_program_is_run_looked_at_and_run_again(program) -> None:
    ran = weft(program, "run", "app.sql", "--drain", *SMALL)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("6,000 rows in ")
    assert "answers: .weft/app/results" in ran.stdout
    shown = weft(program, "results", "volume", "--format", "json").stdout.splitlines()
    assert sum(json.loads(line)["trades"] for line in shown) == 6000
    status = json.loads(weft(program, "status", "--format", "json").stdout)
    assert (status["state"], status["streams"][0]["rows"]) == ("stopped", 6000)
    again = weft(program, "run", "app.sql", "--drain", "--progress", "none", *SMALL)
    assert again.stdout.startswith("0 rows in "), again.stderr
    assert weft(program, "results", "volume", "--format", "json").stdout.splitlines() == shown


def test_ctrl_c_ends_it_cleanly(program) -> None:
    program.write_text(PROGRAM.format(rows=""))
    child = start(program, "run", "app.sql", "--trigger", "1s", *SMALL)
    report = program.parent / ".weft" / "app" / "status.json"
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and child.poll() is None:
        if report.exists() and json.loads(report.read_text())["queries"][0]["answers"]:
            break
        time.sleep(0.5)
    os.kill(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=200)
    assert child.returncode == 130, err
    assert "stopping" in err
    assert "Traceback" not in err
    assert "answers: .weft/app/results" in out
    assert weft(program, "results", "volume", "--format", "csv").stdout.count("\n") > 1


@pytest.mark.slow
def test_all_sources_that_cannot_be_read_are_told_and_no_home_is_left(program) -> None:
    program.write_text(
        "CREATE STREAM a (x INT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND"
        " FROM parquet OPTIONS ('path' = '/no/such/path');"
        "CREATE STREAM b (x INT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 1 SECOND FROM nosuchformat;"
        " CREATE QUERY q AS SELECT COUNT(*) AS n FROM a [RANGE 1 SECOND];"
        " CREATE QUERY r AS SELECT COUNT(*) AS n FROM b [RANGE 1 SECOND];"
    )
    for verb in (("check", "app.sql", "--spark", "--master", "local[2]"), ("run", "app.sql", *SMALL)):
        ran = weft(program, *verb)
        assert ran.returncode == 3
        assert "error[source-unreadable]: stream `a` cannot be read" in ran.stderr
        assert "error[source-unreadable]: stream `b` cannot be read" in ran.stderr
        assert "Traceback" not in ran.stderr
    assert not (program.parent / ".weft").exists()
