"""`weft status` and what it prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.unit.cli_fakes import NOON, SECOND, a_query, a_status, a_stream, a_table
from weft.cli import cli
from weft.terminal.report import as_text, read_status, report, show_queries

NOW = NOON / SECOND + 6


def at_home(home: Path, **changes: object) -> Path:
    home.mkdir(parents=True)
    (home / "weft.json").write_text("{}")
    (home / "status.json").write_text(a_status(**changes).to_json())
    return home


def weft(*args: str):
    return CliRunner().invoke(cli, ["status", *args])


def test_each_query_tells_its_next_window_and_what_it_waits_for(tmp_path) -> None:
    result = weft("--home", str(at_home(tmp_path / "home")))
    assert result.exit_code == 0
    line = next(line for line in result.output.splitlines() if line.startswith("vwap_1"))
    assert "5 min every 10 s" in line
    assert "2023-11-15 12:00:10" in line
    assert line.endswith("trades to reach 12:00:12")


def test_only_the_queries_asked_for(tmp_path) -> None:
    home = str(at_home(tmp_path / "home"))
    text = weft("VWAP_1", "--home", home).output
    assert "vwap_1" in text
    assert "vwap_0" not in text
    unknown = weft("vwap_11", "--home", home)
    assert unknown.exit_code == 3
    assert "did you mean `vwap_1`?" in unknown.stderr


def test_json_is_the_report_itself(tmp_path) -> None:
    home = at_home(tmp_path / "home")
    said = json.loads(weft("vwap_0", "--home", str(home), "--format", "json").output)
    whole = json.loads(a_status().to_json())
    assert said == whole | {"queries": [whole["queries"][0]]}


def test_the_only_home_here_is_found(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "no-home" in weft().stderr
    at_home(tmp_path / ".weft" / "app")
    assert weft().exit_code == 0
    at_home(tmp_path / ".weft" / "other")
    result = weft()
    assert result.exit_code == 3
    assert ".weft/app, .weft/other" in result.stderr


def test_a_home_that_never_ran(tmp_path) -> None:
    result = weft("--home", str(tmp_path))
    assert result.exit_code == 3
    assert "no-report" in result.stderr


def test_a_program_that_is_not_heard_of_is_in_doubt() -> None:
    status = a_status()
    assert "running, 1.00 s ago" in as_text(report(status, NOW, ()))
    assert "it has died, or is stuck" in as_text(report(status, NOW + 60, ()))
    idle = a_status(state="idle")
    assert "idle, 1.00 s ago" in as_text(report(idle, NOW, ()))
    assert "it has died, or is stuck" in as_text(report(idle, NOW + 60, ()))
    stopped = a_status(state="stopped")
    assert "stopped, 1 min 1 s ago" in as_text(report(stopped, NOW + 60, ()))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"streams": (a_stream(state="failed", error="source gone"),)}, "stream `trades`: source gone"),
        ({"tables": (a_table(error="it is gone"),)}, "table `names`: it is gone"),
        ({"queries": (a_query(state="failed", error="1 / 0"),)}, "query `vwap`: 1 / 0"),
        ({"queries": (a_query(sink_state="failed", sink_error="refused"),)}, "sink of `vwap`: refused"),
    ],
)
def test_what_is_wrong_is_told_in_full(changes, told) -> None:
    status = a_status(**changes)
    assert as_text(report(status, NOW, status.queries)).splitlines()[-1] == told


def test_show_queries_has_a_line_for_each_and_no_colours() -> None:
    text = show_queries(a_status(queries=(a_query("a"), a_query("b", version=2, next_end=None))))
    assert len(text.splitlines()) == 3
    assert "\x1b" not in text
    assert "b v2" in text


def test_a_report_survives_the_way_through_its_file(tmp_path) -> None:
    home = at_home(tmp_path / "home")
    assert read_status(home) == a_status()
    assert read_status(tmp_path) is None
