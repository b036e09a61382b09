"""A case that is itself wrong says so, with its line."""

from __future__ import annotations

import pyarrow as pa
import pytest

from weft.errors import QueryError
from weft.testing.cases import read_cases
from weft.testing.harness import check

PROGRAM = """
CREATE STREAM trades (sym STRING, price INT, at TIMESTAMP) TIMESTAMP BY at DELAY 0 SECONDS FROM rate;
CREATE TABLE names (sym STRING, name STRING) FROM parquet OPTIONS ('path' = 'names');
CREATE QUERY fast AS SELECT sym, SUM(price) AS s FROM trades [RANGE 10 SECONDS] GROUP BY sym;
"""


class Nothing:
    """Takes everything, answers nothing."""

    strict_types = False

    def start(self, program: str) -> None: ...
    def ingest(self, stream: str, rows: pa.Table) -> None: ...
    def revise(self, table: str, rows: pa.Table) -> None: ...
    def drain(self, to: int | None) -> None: ...

    def results(self, query: str) -> pa.Table:
        return pa.table({name: [] for name in ("window_start", "window_end", "sym", "s")})

    def late(self, query: str) -> int:
        return 0

    def dead(self, query: str) -> int:
        return 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("feed tades\nA 1 10:00:00", "c.test:1 there is no stream `tades`"),
        ("feed trades\nA one 10:00:00", "c.test:1 cannot be read"),
        ("feed trades\nA 1", "c.test:1 cannot be read: 3 values wanted, 2 found"),
        ("table nmes\nA Acme", "c.test:1 there is no table `nmes`"),
        ("table names\nA", "c.test:1 cannot be read: 2 values wanted, 1 found"),
        ("drain\nrows fats", "c.test:2 there is no query `fats`"),
        ("drain\nrows", "c.test:2 there is no query ``"),
        ("rows fast\n10:00:00 10:00:10 A many", "c.test:1 cannot be read"),
        ("watermark noon", "c.test:1 cannot be read"),
        ("watermark", "c.test:1 cannot be read"),
        ("late fast", "c.test:1 cannot be read"),
        ("dead fast few", "c.test:1 cannot be read"),
    ],
)
def test_a_bad_case_names_its_line(tmp_path, text, said) -> None:
    path = tmp_path / "c.test"
    path.write_text(text)
    (case,) = read_cases(path, PROGRAM)
    with pytest.raises(QueryError) as raised:
        check(case, Nothing())
    assert said in raised.value.what


def test_a_right_case_passes(tmp_path) -> None:
    path = tmp_path / "c.test"
    given = "table names\nA Acme\nfeed trades\nA 1 10:00:00\nwatermark 10:00:00\n"
    path.write_text(given + "rows fast\nlate fast 0\ndead fast 0")
    (case,) = read_cases(path, PROGRAM)
    check(case, Nothing())
