"""What the status of a program says of queries over several streams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.unit.engine.bench import Bench
from weft.engine.outcome import Outcome
from weft.engine.report import report
from weft.engine.status import QueryStatus
from weft.engine.windows import Reach

STREAMS = """
CREATE STREAM a (id INT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 4 SECONDS FROM parquet OPTIONS ('path' = 'a');
CREATE STREAM b (id INT, ts TIMESTAMP) TIMESTAMP BY ts DELAY 0 SECONDS FROM parquet OPTIONS ('path' = 'b');
"""
QUERIES = """
CREATE QUERY pairs AS SELECT x.id FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 MINUTE] y ON x.id = y.id;
CREATE QUERY early AS SELECT id FROM a [RANGE 1 MINUTE] EXCEPT SELECT id FROM b [RANGE 1 MINUTE] EMIT CHANGES;
CREATE QUERY missing AS SELECT id FROM a [RANGE 1 MINUTE] EXCEPT SELECT id FROM b [RANGE 1 MINUTE];
CREATE QUERY begun AS SELECT ISTREAM(x.id) FROM a [RANGE 1 MINUTE] x JOIN b [RANGE 1 MINUTE] y ON x.id = y.id;
CREATE QUERY counts AS SELECT COUNT(*) AS n
  FROM a [RANGE 1 MINUTE SLIDE 10 SECONDS] x JOIN b [RANGE 20 SECONDS SLIDE 10 SECONDS] y ON x.id = y.id;
CREATE QUERY ever AS SELECT COUNT(*) AS n
  FROM a [RANGE UNBOUNDED SLIDE 10 SECONDS] x
  JOIN b [RANGE UNBOUNDED SLIDE 10 SECONDS] y ON x.id = y.id;
"""
SECOND = 1_000_000


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    opened = Bench(tmp_path, QUERIES, STREAMS)
    yield opened
    opened.close()


def statuses(bench: Bench, a: int | None = None, b: int | None = None) -> dict[str, QueryStatus]:
    """With the watermarks of the two streams, in seconds."""
    for name, at in (("a", a), ("b", b)):
        if at is not None:
            bench.runtime.states[name].reach = Reach(at * SECOND)
    return {query.name: query for query in report(bench.runtime, {}, {}).queries}


def test_the_window_is_the_longest_with_the_slide_or_each_instant(bench: Bench) -> None:
    windows = {name: query.window for name, query in statuses(bench).items()}
    assert windows == {
        "pairs": "each instant",
        "early": "each instant",
        "missing": "each instant",
        "begun": "each instant",
        "counts": "1 min every 10 s",
        "ever": "all, every 10 s",
    }


def test_the_stream_that_is_furthest_behind_is_waited_for(bench: Bench) -> None:
    found = statuses(bench, a=17, b=35)
    assert found["missing"].waits_for == found["begun"].waits_for == "later rows of a"
    assert found["counts"].next_end == found["ever"].next_end == 20 * SECOND
    assert found["counts"].waits_for == "a to reach 1970-01-01 00:00:24 (DELAY 4 s), 3 s to go"
    assert statuses(bench, a=51)["missing"].waits_for == "later rows of b"
    assert statuses(bench)["counts"].next_end == 40 * SECOND


def test_a_stream_without_rows_is_waited_for(bench: Bench) -> None:
    found = statuses(bench, a=17)
    assert found["counts"].next_end is None
    assert found["counts"].waits_for == found["missing"].waits_for == "the first row of b"


def test_what_is_told_at_once_waits_for_no_watermark(bench: Bench) -> None:
    found = statuses(bench, a=17, b=35)
    assert found["pairs"].waits_for == found["early"].waits_for == "rows of a or b that it wants"


def test_windows_are_counted_where_answers_have_some() -> None:
    outcome = Outcome({"counts": "counts.1", "pairs": "pairs.1"})
    outcome.add_related(
        {"counts": pa.table({"window_end": [10, 10, 20]}), "pairs": pa.table({"valid_from": [1, 2]})}, {}
    )
    assert outcome.tally.get("windows", "counts.1") == 2
    assert outcome.tally.get("windows", "pairs.1") == 0
    assert outcome.tally.get("answers", "pairs.1") == 2
