"""What a run counts and uses, as EXPLAIN ANALYZE shows it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.engine.bench import Bench, row
from weft.engine.account import SPAN, Account
from weft.engine.cputime import tree_seconds
from weft.share.build import build
from weft.share.model.analyze import REST, compared, show_compared
from weft.share.model.cost import Level
from weft.share.model.forecast import Basis
from weft.share.model.measured import Measured

pytestmark = pytest.mark.together

QUERIES = """
CREATE QUERY every AS SELECT sym, COUNT(*) AS n FROM trades [RANGE 4 SECONDS] GROUP BY sym;
CREATE QUERY large AS SELECT sym, SUM(qty) AS q FROM trades [RANGE 8 SECONDS SLIDE 4 SECONDS]
  WHERE qty > 2 GROUP BY sym;
"""


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def fed(path: Path, clock: Clock) -> tuple[Bench, Account]:
    """Four batches of five rows, five seconds each, of two groups; CPU time is as the clock says."""
    bench = Bench(path, QUERIES)
    account = Account(bench.runtime, clock, clock)
    for at in range(0, 20, 5):
        bench.ingest(*(row("AB"[n % 2], n / 2, n, "x", at + n) for n in range(5)))
        bench.step()
        clock.now += 1.0
        account.look()
    return bench, account


def test_what_streams_bring_is_counted(tmp_path: Path) -> None:
    bench, account = fed(tmp_path, Clock())
    stream = account.measured().streams["trades"]
    bench.close()
    assert (stream.rows, stream.batches, stream.steps, stream.seconds) == (20, 4, 4, 19.0)
    assert stream.groups == {("sym",): 2}
    assert stream.passing == {"qty > 2": pytest.approx(0.4)}
    load = stream.load()
    assert load is not None
    assert (load.rows, load.groups, load.batch) == (20 / 19, 2.0, 19 / 4)
    assert (load.rows_by, load.groups_by) == ("measured", "measured")


def test_what_answering_takes_is_told_by_level_and_query(tmp_path: Path) -> None:
    bench, account = fed(tmp_path, Clock())
    found = account.measured()
    bench.close()
    assert (found.wall, found.cpu) == (4.0, 4.0)
    assert {level for level, seconds in found.levels.items() if seconds > 0} == {
        Level.FOLD,
        Level.FINAL,
        Level.OUTPUT,
    }
    assert set(found.queries) == {"every", "large"}
    assert sum(found.queries.values()) == pytest.approx(found.levels[Level.FINAL])
    assert found.answers == {"every": 6, "large": 5}


def test_what_is_more_than_a_minute_ago_does_not_count(tmp_path: Path) -> None:
    clock = Clock()
    bench, account = fed(tmp_path, clock)
    for _ in range(3):
        clock.now += SPAN
        account.look()
    found = account.measured()
    bench.close()
    assert found.wall == SPAN
    assert found.streams["trades"].rows == 0
    assert found.loads().streams == {}


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    bench, account = fed(tmp_path, Clock())
    found = account.measured()
    bench.close()
    assert Measured.from_json(found.to_json()) == found


def test_predicted_and_measured_stand_side_by_side(tmp_path: Path) -> None:
    bench, account = fed(tmp_path, Clock())
    measured = account.measured()
    bench.close()
    found = compared(build(bench.runtime.program), Basis(measured.loads()), measured)
    total = found.levels["total"]
    parts = [sides for name, sides in found.levels.items() if name != "total"]
    assert sum(part.predicted for part in parts) == pytest.approx(total.predicted)
    assert sum(part.measured for part in parts) == pytest.approx(total.measured) == pytest.approx(4 / 19)
    assert found.answers["every"].measured == pytest.approx(6 / 19)
    assert found.answers["every"].predicted == pytest.approx(2 / 4, rel=0.3)
    text = show_compared(found)
    assert "of 20 rows, 19 s of stream in 4 s" in text
    assert REST in text
    assert [line.split()[0] for line in show_compared(found, "large").splitlines()[4:]] == ["large"]


def test_the_time_of_processes_that_this_one_started_counts() -> None:
    before = tree_seconds()
    busy = "import time\nwhile time.process_time() < 0.3: pass\nprint('done', flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        during = tree_seconds()
        child.communicate("\n")
    assert during - before >= 0.25
    assert tree_seconds() >= during  # it has left its time with us
    assert tree_seconds(root=os.getpid()) >= time.process_time() - 0.1
