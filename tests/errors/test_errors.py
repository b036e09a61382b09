"""A bad program -> the whole message that its author reads."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.golden import check_file, read_cases
from weft.errors import WeftError
from weft.lang.parse import parse_program, read_program
from weft.plan.bind import bind_program

FILES = sorted(Path(__file__).parent.glob("*.err"))

STREAM = """\
CREATE STREAM trades (symbol STRING, price DOUBLE, qty BIGINT, live BOOLEAN, tags ARRAY<STRING>, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 5 SECONDS FROM parquet OPTIONS ('path' = 'in');
"""
OTHERS = """\
CREATE STREAM quotes (symbol STRING, bid DOUBLE, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 5 SECONDS FROM parquet OPTIONS ('path' = 'in');
CREATE TABLE companies (symbol STRING, name STRING) KEY (symbol) FROM csv OPTIONS ('path' = 'companies');
"""


def message(text: str, others: str = "") -> str:
    """The error of a program; one without CREATE STREAM is given a stream of trades, in a file of its own."""
    stream = () if "CREATE STREAM" in text else parse_program(STREAM + others, "trades.sql")
    try:
        bind_program((*stream, *read_program(text, "app.sql")))
    except WeftError as error:
        return str(error)
    return "no error"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_errors(path: Path, request: pytest.FixtureRequest) -> None:
    others = OTHERS if path.stem == "relations" else ""
    check_file(path, partial(message, others=others), request.config.getoption("--update"))


def test_every_message_helps() -> None:
    cases = [case for path in FILES for case in read_cases(path)]
    assert len(cases) >= 40
    for case in cases:
        assert "error[" in case.expected, case.title
        assert "app.sql:" in case.expected, case.title
        assert "help:" in case.expected or "did you mean" in case.expected or "takes" in case.expected, (
            case.title
        )
