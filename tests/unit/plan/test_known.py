"""Which expressions are known to have a value on every row, once they are made safe."""

from __future__ import annotations

import pytest

from weft.lang.parse import parse_expression
from weft.plan.failures import safe
from weft.plan.known import is_known

COLUMNS = {
    "k": "string",
    "a": "int",
    "d": "double",
    "n": "decimal(5,2)",
    "ts": "timestamp",
    "xs": "array<int>",
}


@pytest.mark.parametrize(
    "text",
    [
        "a / 2 > 1 AND NOT k IS NULL", "k IN (1, 5)", "CAST(k AS INT) + 1", "hour(k)", "upper(k) LIKE 'A%'",
        "EXTRACT(HOUR FROM ts)", "k RLIKE '^a'", "round(d, 2)", "round(n)", "date_format(ts, 'HH')",
        "regexp_extract(k, '(a)', 1)", "unix_timestamp(ts)", "xs[0]", "DATEADD(YEAR, a, ts)", "to_date(k)",
        "CASE k WHEN 1 THEN a END", "COALESCE(a, k)", "-k", "concat(k, 'x')", "a::tinyint",
    ],
)  # fmt: skip
def test_known(text: str) -> None:
    assert is_known(safe(parse_expression(text), COLUMNS), COLUMNS)


@pytest.mark.parametrize(
    "text",
    [
        "conv(k, 36, 10)", "k RLIKE k", "round(a, -1)", "date_format(ts, k)", "EXTRACT(HOUR FROM k)",
        "unix_timestamp(k, 'yyyy')", "upper(to_char(a, k)) = 'X'", "transform(xs, x -> x + 1)[0]",
        "split(k, k)[0]", "map(k, a)",
    ],
)  # fmt: skip
def test_not_known(text: str) -> None:
    """They may fail, or it is not known that they cannot."""
    assert not is_known(safe(parse_expression(text), COLUMNS), COLUMNS)
