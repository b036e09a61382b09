"""Tables that are made of a stream of changes, as Spark reads it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import weft
from tests.spark.test_tables import eventually
from weft.errors import RunError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STREAMS = """
CREATE STREAM orders (sym STRING, qty BIGINT, at TIMESTAMP)
  TIMESTAMP BY at DELAY 0 SECONDS MAX AHEAD OFF FROM json OPTIONS ('path' = '{0}/orders');
CREATE STREAM changes (sym STRING, price BIGINT, op STRING, at TIMESTAMP, dear AS price > 100)
  TIMESTAMP BY at DELAY 1 SECOND MAX AHEAD OFF FROM json OPTIONS ('path' = '{0}/changes');
"""
TABLE = "CREATE TABLE prices KEY (sym) DELETE WHERE upper(op) = 'D' FROM STREAM changes;"
PRICED = (
    "CREATE QUERY priced AS SELECT o.sym, qty, price, dear FROM orders o LEFT JOIN prices p ON o.sym = p.sym;"
)
LASTING = (
    "CREATE QUERY lasting AS SELECT sym, price FROM prices RETROACTIVE WHERE length(sym) = 1 EMIT CHANGES;"
)


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path) -> Iterator[weft.Session]:
    for stream in ("orders", "changes"):
        (tmp_path / stream).mkdir()
    with weft.Session(spark, tmp_path / "home") as made:
        yield made


def feed(path: Path, stream: str, file: str, *rows: tuple[Any, ...]) -> None:
    """Rows at so many seconds after ten, the second their last value."""
    names = ("sym", "qty") if stream == "orders" else ("sym", "price", "op")
    lines = [dict(zip(names, row)) | {"at": f"2025-01-01T10:00:{row[-1]:02}Z"} for row in rows]
    (path / f"{file}.tmp").write_text("\n".join(map(json.dumps, lines)))
    (path / f"{file}.tmp").rename(path / stream / f"{file}.json")


def told(session: weft.Session, query: str, *columns: str) -> list[tuple[Any, ...]]:
    rows = session.table(query).to_pylist()
    return sorted((tuple(row[name] for name in columns) for row in rows), key=repr)


def priced(session: weft.Session) -> list[tuple[Any, ...]]:
    return told(session, "priced", "sym", "qty", "price", "dear")


def there(session: weft.Session) -> Counter[tuple[Any, ...]]:
    """What all changes that were told add up to."""
    found: Counter[tuple[Any, ...]] = Counter()
    for change, *row in told(session, "lasting", "change", "sym", "price"):
        found[tuple(row)] += 1 if change == "+" else -1
    return Counter({row: count for row, count in found.items() if count})


def test_rows_see_changes_as_of_their_own_time_also_after_a_restart(
    session: weft.Session, spark: SparkSession, tmp_path: Path
) -> None:
    program = STREAMS.format(tmp_path) + TABLE + PRICED + LASTING
    feed(
        tmp_path, "changes", "0", ("a", 10, "I", 1), ("b", 20, "I", 2), ("a", 110, "U", 4), ("a", 111, "U", 4)
    )
    feed(tmp_path, "orders", "0", ("a", 1, 3), ("a", 2, 4), ("b", 3, 4), ("c", 4, 4))
    session.sql(program)
    session.start(trigger="200ms")
    eventually(lambda: session.table("lasting").num_rows >= 4)
    feed(tmp_path, "changes", "1", ("b", None, "d", 4), ("b", 21, "I", 6))
    eventually(lambda: len(priced(session)) == 4)
    expected = [("a", 1, 10, False), ("a", 2, 111, True), ("b", 3, None, None), ("c", 4, None, None)]
    assert priced(session) == expected
    (table,) = session.status().tables
    assert (table.name, table.stream, table.rows) == ("prices", "changes", 1)
    with pytest.raises(RunError, match="table `prices` is made of a stream, and not read again"):
        session.refresh("prices")
    session.stop()
    feed(tmp_path, "orders", "1", ("a", 5, 7), ("b", 6, 7))
    with weft.Session(spark, tmp_path / "home") as again:
        again.sql(program)
        again.start(trigger="200ms")
        feed(tmp_path, "changes", "2", ("c", 30, "I", 9))
        eventually(lambda: len(priced(again)) == 6)
        assert priced(again) == sorted([*expected, ("a", 5, 111, True), ("b", 6, 21, False)], key=repr)
        eventually(lambda: there(again) == {("a", 111): 1, ("b", 21): 1, ("c", 30): 1})


def test_a_table_can_be_made_while_the_program_runs(session: weft.Session, tmp_path: Path) -> None:
    feed(tmp_path, "changes", "0", ("a", 10, "I", 1))
    session.sql(STREAMS.format(tmp_path) + "CREATE QUERY plain AS SELECT price FROM changes;")
    session.start(trigger="200ms")
    eventually(lambda: session.table("plain").num_rows == 1)
    session.sql(TABLE)  # what came before it is not in it
    feed(tmp_path, "changes", "1", ("b", 20, "I", 2), ("c", 30, "I", 3))
    eventually(lambda: session.table("plain").num_rows == 3)
    session.sql(PRICED)
    feed(tmp_path, "orders", "0", ("a", 1, 4), ("b", 2, 4), ("c", 3, 4))
    feed(tmp_path, "changes", "2", ("d", 20, "I", 9))
    eventually(lambda: len(priced(session)) == 3)
    assert priced(session) == [("a", 1, None, None), ("b", 2, 20, False), ("c", 3, 30, False)]


def test_explain_says_what_a_table_waits_for(session: weft.Session, tmp_path: Path) -> None:
    session.sql(STREAMS.format(tmp_path) + TABLE + PRICED + LASTING)
    text = session.explain("priced")
    assert "with the watermark of changes: until then its table may change" in text
    assert "look-up in a table of changes" in text
    assert "prices of changes of changes as of each row" in text
    assert "the last row of each key, for ever" in session.explain("lasting")
