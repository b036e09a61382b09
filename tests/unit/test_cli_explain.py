"""`weft explain`: what costs rest on, and what is measured beside them."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.unit.cli_fakes import a_status
from weft.cli import cli
from weft.engine import calibrate
from weft.engine.calibration import keep
from weft.errors import RunError
from weft.log.home import Home
from weft.session import Session
from weft.share.model.constants import SHIPPED
from weft.share.model.cost import Level
from weft.share.model.figures import cpu
from weft.share.model.measured import Measured, StreamMeasured

PROGRAM = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 1 SECOND FROM parquet OPTIONS ('path' = 'trades');
CREATE QUERY high AS SELECT symbol, MAX(price) AS high FROM trades [RANGE 1 MINUTE SLIDE 5 SECONDS] GROUP BY symbol;
CREATE QUERY low AS SELECT symbol, MIN(price) AS low FROM trades [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY symbol;
"""  # noqa: E501

MEASURED = Measured(
    wall=60.0,
    cpu=30.0,
    levels={Level.FOLD: 1.0, Level.FINAL: 2.0, Level.OUTPUT: 3.0},
    queries={"high": 1.5, "low": 0.5},
    answers={"high": 480, "low": 40},
    streams={"trades": StreamMeasured(60.0, 300_000, 60, 60, {("symbol",): 40})},
)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "app.sql"
    path.write_text(PROGRAM)
    return path


def weft(*args: object):
    return CliRunner().invoke(cli, ["explain", *map(str, args)], prog_name="weft")


def report(home: Path, **changes: object) -> Path:
    home.mkdir()
    told = {"measured": MEASURED.to_json(), "updated": time.time()} | changes
    (home / "status.json").write_text(a_status(**told).to_json())
    return home


def test_what_is_assumed_is_said_and_can_be_given(program: Path) -> None:
    assert "10,000 rows/s and 100 groups assumed" in weft(program).output
    assert "5,000 rows/s given, 100 groups assumed" in weft(program, "--rate", 5000).output
    assert (
        "5,000 rows/s and 1,000 groups given" in weft(program, "high", "--rate", 5e3, "--groups", 1e3).output
    )


@pytest.mark.parametrize("option", ["--rate", "--groups"])
@pytest.mark.parametrize("number", ["0", "-5", "many", "nan", "inf"])
def test_what_cannot_be_a_load_is_refused(program: Path, option: str, number: str) -> None:
    result = weft(program, option, number)
    assert result.exit_code == 2
    assert option in result.stderr


@pytest.mark.parametrize("number", [0, -1.0, float("inf"), float("nan"), "fast", True])
def test_a_session_refuses_it_as_well(number: Any) -> None:
    session = Session()
    session.sql(PROGRAM)
    with pytest.raises(RunError, match="bad-groups"):
        session.explain(groups=number)


def test_a_query_that_is_not_there_is_told_with_those_that_are(program: Path) -> None:
    result = weft(program, "nosuch")
    assert result.exit_code == 1
    assert "there is no query `nosuch`\n  help: there are high, low" in result.stderr
    assert "did you mean `high`?" in weft(program, "hihg").stderr


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_picture_has_no_other_format(program: Path, tmp_path: Path, form: str) -> None:
    result = weft(program, "--svg", tmp_path / "plan.svg", "--format", form)
    assert result.exit_code == 2
    assert "--svg draws a picture instead of a text" in result.stderr
    assert not (tmp_path / "plan.svg").exists()


def test_large_numbers_are_written_out(program: Path) -> None:
    program.write_text(PROGRAM.replace("SLIDE 5 SECONDS", "SLIDE 1 MICROSECOND"))
    said = weft(program).output
    assert "every 1 us, 1,000,000 a second" in said
    assert "60,000,060 if each query ran window() by itself" in said
    assert "a window is about 60,000,000 of them" in weft(program, "high").output


def test_constants_of_the_home_are_used_and_named(program: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    keep(home, replace(SHIPPED, batch=7.0, origin="measured on a day"))
    said = weft(program, "--home", home).output
    assert "constants measured on a day" in said
    assert "keeps 7 cores busy" in said
    assert "constants as shipped" in weft(program).output


def test_the_dearest_queries_and_other_ways_to_share_have_their_lines(program: Path) -> None:
    said = weft(program).output
    assert "dearest queries" in said
    for way in ("No Share", "Shared", "Weave Share", "TriWeave"):
        assert f"\n    {way} " in said


def test_json_of_one_query_has_what_its_text_has(program: Path) -> None:
    name = "high"
    found = json.loads(weft(program, name, "--format", "json").output)
    text = weft(program, name).output
    (query,) = (one for one in found["shared"]["streams"][0]["queries"] if one["query"] == name)
    assert f"a window is about {query['slices_per_window']:.0f} of them, a row stands in 12 windows" in text
    assert query["windows_per_row"] == {"least": 12, "most": 12}
    assert f"alone {cpu(found['cost'][name]['alone'])}" in text
    shares = {each["partial"].split(" : ")[0]: each["with"] for each in found["shares"][name]}
    assert shares == {"count(*)": ["low"], "max(price)": []}
    assert re.search(r"count\(\*\) +f0  shared with 1: low", text)
    assert re.search(r"max\(price\) +f0  this query alone", text)


def test_json_of_a_filter_has_no_windows(program: Path) -> None:
    program.write_text(PROGRAM + "CREATE QUERY dear AS SELECT price FROM trades WHERE price > 5;")
    found = json.loads(weft(program, "dear", "--format", "json").output)
    assert (found["shares"]["dear"], found["cost"]["dear"]["alone"]) == ([], None)


def test_costs_in_json_add_up(program: Path) -> None:
    found = json.loads(weft(program, "--format", "json").output)["cost"]
    (stream,) = found["streams"]
    assert sum(stream["levels"].values()) == pytest.approx(stream["total"])
    assert sum(stream["queries"].values()) == pytest.approx(stream["total"])
    assert found["constants"]["origin"] == "as shipped"
    both = json.loads(weft(program, "high", "low", "--format", "json").output)
    assert {name: cost["query"] for name, cost in both["cost"].items()} == {"high": "high", "low": "low"}
    assert set(both["plans"]) == {"high", "low"}


def test_what_another_process_measures_stands_beside_what_is_predicted(program: Path, tmp_path: Path) -> None:
    home = report(tmp_path / "home")
    said = weft(program, "--home", home, "--analyze").output
    assert "5,000 rows/s and 40 groups measured" in said
    assert "of 300,000 rows, 60 s of stream in 60 s" in said
    lines = {line.split("  ")[2]: line.split() for line in said.splitlines() if line.startswith("    ")}
    assert lines["total"][-2:] == ["500", "ms"]
    assert lines["fold cells"][-2:] == ["17", "ms"]
    assert lines["high"][-1] == "8"
    found = json.loads(weft(program, "--home", home, "--analyze", "--format", "json").output)["measured"]
    assert found["answers"]["low"]["measured"] == pytest.approx(40 / 60)


def test_streams_are_as_another_process_has_counted_them(program: Path, tmp_path: Path) -> None:
    said = weft(program, "--home", report(tmp_path / "home")).output
    assert "5,000 rows/s and 40 groups measured" in said
    assert "predicted and measured" not in said
    ended = weft(program, "--home", report(tmp_path / "ended", state="stopped")).output
    assert "10,000 rows/s and 100 groups assumed" in ended


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"state": "stopped"}, "it has ended"),
        ({"updated": 0.0}, "not been heard of"),
        ({"measured": {}}, "not been heard of"),
    ],
)
def test_what_does_not_run_cannot_be_analyzed(program: Path, tmp_path: Path, changes, why) -> None:
    result = weft(program, "--home", report(tmp_path / "home", **changes), "--analyze")
    assert result.exit_code == 3
    assert "error[not-running]" in result.stderr
    assert why in result.stderr


def test_nothing_to_analyze_where_nothing_ever_ran(program: Path, tmp_path: Path) -> None:
    result = weft(program, "--home", tmp_path / "none", "--analyze")
    assert result.exit_code == 3
    assert "no report of a run" in result.stderr
    session = Session(home=tmp_path / "none")
    with pytest.raises(RunError, match="not-running"):
        session.sql(PROGRAM + "EXPLAIN ANALYZE high;")


def test_a_machine_is_calibrated_once_and_explain_says_so(program: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(
        calibrate, "calibrate", lambda: replace(SHIPPED, row=5e-6, origin="measured on a day")
    )
    home = tmp_path / "made"
    said = CliRunner().invoke(cli, ["calibrate", str(program), "--home", str(home)], prog_name="weft")
    assert said.exit_code == 0, said.output
    assert said.output.startswith(f"constants measured on a day, kept in {home}\n")
    assert "\n  row                                5 µs\n" in said.output
    assert "constants measured on a day" in weft(program, "--home", home).output
    Home.check(home)  # a program can be started there
