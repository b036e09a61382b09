"""Query text -> its plan as bound, and as optimized if that differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import check_file
from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize
from weft.plan.bind import bind_program
from weft.plan.check import check
from weft.plan.show import show

FILES = sorted(Path(__file__).parent.glob("*.plan"))

STREAM = """
CREATE STREAM trades (symbol STRING, price DOUBLE, qty BIGINT, fee DECIMAL(10, 2), venue STRING, live BOOLEAN,
                      note STRING, ts TIMESTAMP, day AS date(ts), notional AS price * qty)
  TIMESTAMP BY ts DELAY 5 SECONDS FROM parquet OPTIONS ('path' = 'in');
"""


OTHERS = """
CREATE STREAM quotes (symbol STRING, bid DOUBLE, ask DOUBLE, size INT, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 5 SECONDS FROM parquet OPTIONS ('path' = 'in');
CREATE TABLE companies (symbol STRING, name STRING) KEY (symbol) FROM csv OPTIONS ('path' = 'companies');
CREATE VIEW large AS SELECT symbol, price, qty FROM trades [RANGE 1 MINUTE] WHERE qty > 100;
"""


def plans(query: str) -> str:
    bound = bind_program(parse_program(f"{STREAM}{OTHERS}CREATE QUERY q AS {query}")).queries[0]
    optimized = optimize(bound)
    check(bound.plan)
    before, after = show(bound.plan), show(optimized.plan)
    return before if before == after else f"{before}\n\noptimized:\n{after}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_plans(path: Path, request: pytest.FixtureRequest) -> None:
    check_file(path, plans, request.config.getoption("--update"))


def test_there_are_plans() -> None:
    assert len(FILES) > 5
