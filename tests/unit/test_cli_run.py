"""`weft check`, `explain`, `run` and `verify` around a session that is not there."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from tests.stores import url
from tests.unit.cli_fakes import FakeSession, a_query, a_status
from weft.cli import cli
from weft.errors import RunError
from weft.log.paths import locate
from weft.testing import Outcome

PROGRAM = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 2 SECONDS FROM rate;
CREATE QUERY highs AS
  SELECT symbol, MAX(price) AS high FROM trades [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY symbol;
CREATE QUERY lows AS SELECT symbol, MIN(price) AS low FROM trades [RANGE 1 MINUTE] GROUP BY symbol;
"""


@pytest.fixture
def program(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("app.sql")
    path.write_text(PROGRAM)
    return path


def weft(*args: object):
    return CliRunner().invoke(cli, [str(arg) for arg in args])


# -- check and explain: real sessions, no Spark


def test_check_of_a_right_program(program) -> None:
    result = weft("check", program)
    assert (result.exit_code, result.stdout) == (0, "app.sql: ok, 1 stream, 2 queries\n")
    assert not Path(".weft").exists()


def test_check_counts_tables_too(program) -> None:
    program.write_text(
        program.read_text() + "CREATE TABLE names (k STRING) FROM parquet OPTIONS ('path' = 'unread');\n"
    )
    assert weft("check", program).stdout == "app.sql: ok, 1 stream, 1 table, 2 queries\n"


def test_check_tells_all_errors_at_once(program) -> None:
    program.write_text(
        PROGRAM.replace("MAX(price)", "MAX(pirce)").replace("GROUP BY symbol;", "GROUP BY smybol;")
    )
    result = weft("check", program)
    assert result.exit_code == 1
    assert "did you mean `price`?" in result.stderr
    assert "did you mean `symbol`?" in result.stderr
    assert "app.sql:5:" in result.stderr
    assert "app.sql:6:" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_program_that_is_not_text_or_not_there(program) -> None:
    program.write_bytes(b"CREATE \xff")
    assert weft("check", program).exit_code == 1
    assert weft("check", "nowhere.sql").exit_code == 2


def test_explain_of_all_and_of_one(program) -> None:
    whole = weft("explain", program)
    assert whole.exit_code == 0
    assert "highs" in whole.stdout
    assert "lows" in whole.stdout
    one = weft("explain", program, "highs")
    assert "Window" in one.stdout
    assert weft("explain", program, "higsh").exit_code == 1


def test_explain_as_json(program) -> None:
    said = json.loads(weft("explain", program, "highs", "lows", "--format", "json").stdout)
    assert list(said) == ["plans", "shared", "shares", "cost"]
    assert list(said["plans"]) == ["highs", "lows"]
    assert list(json.loads(weft("explain", program, "lows", "--format", "json").stdout)["plans"]) == ["lows"]


# -- run


@dataclass
class Made:
    """The session a verb makes, and how it made it."""

    session: FakeSession
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, **options: Any) -> FakeSession:
        self.options = options
        self.session.home = locate(options["home"])
        return self.session


@pytest.fixture
def made(monkeypatch, tmp_path) -> Made:
    made = Made(FakeSession(tmp_path))
    for verb in ("run", "verify"):
        monkeypatch.setattr(f"weft.commands.{verb}.Session", made)
    return made


def test_a_home_may_be_a_url(program, made, tmp_path) -> None:
    there = url("bucket", tmp_path / "app")
    made.session.program = SimpleNamespace(queries=(SimpleNamespace(name="highs", sink=None),))
    result = weft("run", program, "--home", there, "--checkpoint", "file:///checks")
    assert result.exit_code == 0, result.output
    assert (made.options["home"], made.options["checkpoint"]) == (locate(there), Path("/checks"))


@pytest.mark.parametrize(
    ("home", "code"), [("s3:/bucket/app", "bad-url"), ("s33://bucket/app", "unknown-scheme")]
)
def test_a_url_with_a_typo_is_refused_before_anything_starts(program, made, home: str, code: str) -> None:
    result = weft("run", program, "--home", home)
    assert result.exit_code == 3
    assert f"error[{code}]" in result.stderr
    assert made.session.calls == []


def test_run_starts_as_told_and_says_where_the_answers_are(program, made) -> None:
    made.session.program = SimpleNamespace(queries=(SimpleNamespace(name="highs", sink=None),))
    result = weft(
        "run",
        program,
        "--trigger",
        "1s",
        "--master",
        "local[2]",
        "--conf",
        "spark.a=1",
        "--conf",
        "spark.b=x=y",
        "--placement",
        "executors",
        "--buckets",
        "3",
    )
    assert result.exit_code == 0
    assert made.options == {
        "home": Path(".weft/app"),
        "master": "local[2]",
        "conf": {"spark.a": "1", "spark.b": "x=y"},
        "placement": "executors",
        "buckets": 3,
        "checkpoint": None,
    }
    assert made.session.calls == [
        ("sql", PROGRAM, "app.sql"),
        ("start", {"trigger": "1000 milliseconds", "once": False, "drain": False}),
        "stop",
        "close",
    ]
    assert "84,000 rows" in result.stdout
    assert "answers: .weft/app/results" in result.stdout


def test_where_the_dead_letters_are_is_said_if_there_are_some(program, made) -> None:
    assert "dead letters" not in weft("run", program, "--once").stdout
    made.session.reports = [a_status(queries=(a_query(dead=1),))]
    assert "dead letters: .weft/app/dead" in weft("run", program, "--once").stdout


def test_where_says_where_into_sends_answers(program, made) -> None:
    sink = SimpleNamespace(format="parquet", options=(("path", "out/highs"),))
    made.session.program = SimpleNamespace(queries=(SimpleNamespace(name="highs", sink=sink),))
    result = weft("run", program, "--once")
    assert "answers of highs: parquet out/highs" in result.stdout
    assert "results" not in result.stdout


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (["--once"], {"trigger": None, "once": True, "drain": False}),
        (["--drain"], {"trigger": None, "once": True, "drain": True}),
        (["--once", "--drain"], {"trigger": None, "once": True, "drain": True}),
    ],
)
def test_once_and_drain(program, made, flags, options) -> None:
    weft("run", program, *flags)
    assert ("start", options) in made.session.calls


@pytest.mark.parametrize(
    "flags",
    [
        ["--trigger", "often"],
        ["--trigger", "1us"],
        ["--trigger", "1s", "--once"],
        ["--conf", "x"],
        ["--progress", "loud"],
    ],
)
def test_wrong_usage_starts_nothing(program, made, flags) -> None:
    assert weft("run", program, *flags).exit_code == 2
    assert made.session.calls == []


def test_plain_progress_where_there_is_no_terminal(program, made) -> None:
    made.session.reports = [a_status()] * 3
    result = weft("run", program)
    assert "84,000 rows (0/s)" in result.stderr
    silent = weft("run", program, "--progress", "none")
    assert silent.stderr == ""
    assert "84,000 rows" in silent.stdout


def test_a_run_that_ends_with_an_error(program, made) -> None:
    made.session.ends_with = RunError("stream-failed", "stream `trades` stopped", help="mend the source")
    result = weft("run", program)
    assert result.exit_code == 3
    assert result.stderr.endswith("error[stream-failed]: stream `trades` stopped\n  help: mend the source\n")
    assert made.session.calls[-2:] == ["stop", "close"]


@pytest.mark.parametrize(
    "ill",
    [
        a_query(state="failed", error="division by zero"),
        a_query(sink_state="failed", sink_error="refused"),
        a_query(sink_state="retrying", sink_error="refused"),
    ],
)
def test_a_run_in_which_a_query_or_sink_failed(program, made, ill) -> None:
    made.session.reports = [a_status(queries=(ill,))]
    result = weft("run", program, "--once")
    assert result.exit_code == 3
    assert (ill.error or ill.sink_error) in result.stderr


def test_ctrl_c_stops_cleanly_and_is_told_by_the_exit_code(program, made) -> None:
    signals = [signal.SIGINT]
    made.session.reports = [a_status()] * 1000
    made.session.on_report = lambda: os.kill(os.getpid(), signals.pop()) if signals else None
    result = weft("run", program)
    assert result.exit_code == 130
    assert made.session.calls[-2:] == ["stop", "close"]
    assert "answers: " in result.stdout or "84,000 rows" in result.stdout


# -- verify


def found(equal: bool, note: str = "", *differences: str) -> SimpleNamespace:
    return SimpleNamespace(windows=4, rows=8, equal=equal, note=note, differences=list(differences))


@pytest.mark.parametrize(
    ("outcome", "code", "text"),
    [
        (found(True), 0, "highs: equal, 4 windows, 8 rows\n"),
        (found(True, "3 late rows left out"), 0, "highs: equal, 4 windows, 8 rows (3 late rows left out)\n"),
        (
            found(False, "socket cannot be read again"),
            3,
            "highs: not verified: socket cannot be read again\n",
        ),
        (
            found(False, "", "missing: a", "extra: b"),
            4,
            "highs: DIFFERENT (4 windows, 8 rows), 2 differences\n",
        ),
    ],
)
def test_verify(program, made, outcome, code, text) -> None:
    made.session.verify = lambda name, tell: outcome
    result = weft("verify", program, "highs", "--home", "x")
    assert result.exit_code == code
    assert result.stdout.startswith(text)
    assert made.options["home"] == Path("x")
    assert all(difference in result.stdout for difference in outcome.differences)


def test_verify_of_a_standing_filter_counts_rows_only(program, made) -> None:
    made.session.verify = lambda name, tell: SimpleNamespace(
        windows=0, rows=1, equal=True, note="", differences=[]
    )
    assert weft("verify", program, "highs").stdout == "highs: equal, 1 row\n"


def test_verify_of_all_fails_with_the_gravest(program, made) -> None:
    outcomes = {"highs": found(True), "lows": found(False, "", "missing: a")}
    made.session.program = SimpleNamespace(queries=tuple(SimpleNamespace(name=name) for name in outcomes))
    made.session.verify = lambda name, tell: outcomes[name]
    assert weft("verify", program).exit_code == 4
    assert weft("verify", program, "highs").exit_code == 0


def test_a_query_that_cannot_be_verified_leaves_the_others(program, made) -> None:
    def verify(name: str, tell: object) -> SimpleNamespace:
        if name == "highs":
            raise ValueError("odd plan\nin many lines")
        return found(False, "", "missing: a")

    made.session.program = SimpleNamespace(
        queries=(SimpleNamespace(name="highs"), SimpleNamespace(name="lows"))
    )
    made.session.verify = verify
    result = weft("verify", program)
    assert result.exit_code == 70
    assert "highs: not verified: ValueError: odd plan\nlows: DIFFERENT" in result.stdout
    assert "error[unexpected]" in result.stderr


# -- test


@pytest.mark.parametrize(
    ("outcomes", "code", "last"),
    [
        ([Outcome("one"), Outcome("two")], 0, "2 passed, 0 failed"),
        ([Outcome("one"), Outcome("two", "- A 1\n+ A 2")], 4, "1 passed, 1 failed"),
    ],
)
def test_cases(program, made, monkeypatch, outcomes, code, last) -> None:
    asked = []
    monkeypatch.setattr("weft.commands.test.Session", made)
    monkeypatch.setattr("weft.commands.test.run_cases", lambda *args: asked.append(args) or outcomes)
    Path("cases.test").write_text("feed trades")
    result = weft("test", program, "cases.test")
    assert result.exit_code == code
    assert asked == [(PROGRAM, Path("cases.test"), made.session.spark)]
    assert result.stdout.splitlines()[0] == "ok      one"
    assert result.stdout.splitlines()[-1] == last
    assert ("        - A 1\n        + A 2\n" in result.stdout) == (code == 4)
