"""The group of verbs: help, errors and exit codes."""

from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from weft.cli import VERBS, cli, paint
from weft.errors import Bug, Errors, Place, QueryError, RunError

PLACE = Place("app.sql", 2, 8, 5, "SELECT pirce FROM trades")
WRONG = QueryError("unknown-column", "no column `pirce`", at=PLACE, help="did you mean `price`?")


def invoke(*args: str):
    return CliRunner().invoke(cli, list(args), prog_name="weft")


@pytest.fixture
def raising(monkeypatch):
    """`weft doctor` raises what it is given."""

    def arrange(error: BaseException) -> None:
        def fail(*args: object) -> None:
            raise error

        monkeypatch.setattr("weft.commands.doctor.examine", fail)

    return arrange


def test_help_lists_every_verb_and_every_exit_code() -> None:
    text = invoke("--help").output
    for word in (*VERBS, "0 ", "1 ", "2 ", "3 ", "4 ", "70 ", "130 "):
        assert f"  {word}" in text


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb) -> None:
    result = invoke(verb, "--help")
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: weft {verb}")


def test_an_unknown_verb_or_option_is_a_matter_of_usage() -> None:
    assert invoke("rnu").exit_code == 2
    assert invoke("doctor", "--fast").exit_code == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (WRONG, 1),
        (Errors([WRONG, WRONG]), 1),
        (RunError("home-in-use", "the home is in use"), 3),
        (Errors([WRONG, RunError("unreadable", "no such directory")]), 3),
        (Bug("broken", "a promise"), 70),
        (ZeroDivisionError("oh"), 70),
        (ModuleNotFoundError("No module named 'pyspark'", name="pyspark"), 3),
        (KeyboardInterrupt(), 130),
    ],
)
def test_the_exit_code_says_who_can_act(raising, error, code) -> None:
    raising(error)
    assert invoke("doctor").exit_code == code


def test_an_error_is_shown_as_it_is_and_on_stderr(raising) -> None:
    raising(Errors([WRONG, RunError("unreadable", "no such directory")]))
    result = invoke("doctor")
    assert result.stderr == f"{WRONG}\n\nerror[unreadable]: no such directory\n"
    assert result.stdout == ""


def test_a_bug_brings_its_traceback_and_asks_to_be_reported(raising) -> None:
    raising(ZeroDivisionError("oh"))
    text = invoke("doctor").stderr
    assert "Traceback" in text
    assert "error[unexpected]: ZeroDivisionError: oh" in text
    assert "report it" in text


def test_an_error_is_coloured_without_a_change_to_its_text() -> None:
    painted = paint(str(WRONG))
    assert click.unstyle(painted) == str(WRONG)
    assert click.style("error[unknown-column]", fg="red", bold=True) in painted
    assert click.style("       ^^^^^", fg="red") in painted
    assert click.style("  help:", fg="cyan", bold=True) in painted


PROGRAM = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts DELAY 2 SECONDS FROM rate;
CREATE QUERY highs AS SELECT symbol, MAX(price) AS high FROM trades [RANGE 1 MINUTE] GROUP BY symbol;
"""


def test_check_tells_all_errors_whatever_their_kind(tmp_path) -> None:
    program = tmp_path / "app.sql"
    program.write_text(
        PROGRAM + "CREATE QUERY a AS SELECT pric FROM trades;\n"
        "CREATE STREAM quotes (bid DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts FROM rate;\n"
        "CREATE QUERY b AS SELECT bid FROM quotes;\nEXPLAIN c;\nDROP QUERY d;\n"
    )
    result = invoke("check", str(program))
    assert result.exit_code == 1
    codes = re.findall(r"error\[(.*)\]", result.stderr)
    assert codes == ["unknown-column", "missing-delay", "unknown-query", "unknown-query"]


def loaded_by(*args: str) -> set[str]:
    """The modules that are loaded after the command line has done this."""
    script = (
        "import sys\nfrom weft.cli import cli\n"
        f"cli({list(args)!r}, standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(ran.stderr.split())


def test_help_loads_no_verb() -> None:
    assert not {"sqlglot", "pyarrow", "numpy", "rich", "pyspark"} & loaded_by("--help")


@pytest.mark.parametrize("verb", ["check", "explain"])
def test_what_needs_no_spark_loads_neither_spark_nor_arrow(tmp_path, verb) -> None:
    program = tmp_path / "app.sql"
    program.write_text(PROGRAM)
    assert not {"pyspark", "pandas", "pyarrow", "rich"} & loaded_by(verb, str(program))


@pytest.mark.parametrize("verb", ["run", "results", "status", "doctor", "demo"])
def test_a_verb_loads_spark_only_when_it_starts(verb) -> None:
    assert not {"pyspark", "pandas"} & loaded_by(verb, "--help")


def test_python_m_weft_is_weft() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "weft", "--version"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith("weft ")
