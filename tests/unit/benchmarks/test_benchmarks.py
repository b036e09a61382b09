"""The benchmarks measure what they say: fixed input, distinct queries, CPU of children included."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks import programs
from benchmarks.data import DISORDER, START, Data, files_of, table
from benchmarks.measure import Claim, Measured, Report, Run, measure, show, tree_cpu
from weft.lang.parse import parse_program
from weft.plan.bind import bind_program

SMALL = Data(rows=10_000, keys=7, files=4, span=100)


def test_the_same_parameters_give_the_same_rows(tmp_path: Path) -> None:
    assert table(SMALL, 2).equals(table(SMALL, 2))
    assert not table(SMALL, 2).equals(table(SMALL, 1).slice(0))
    assert pq.read_table(files_of(SMALL, tmp_path) / "part-00002.parquet").equals(table(SMALL, 2))


def test_files_are_stretches_of_the_span_in_order(tmp_path: Path) -> None:
    directory = files_of(SMALL, tmp_path)
    times = [table(SMALL, n).column("ts").cast("int64").to_numpy() for n in range(SMALL.files)]
    assert min(times[0]) >= START
    assert max(times[-1]) < START + SMALL.span * 1_000_000 + DISORDER
    assert all(max(before) - min(after) <= DISORDER for before, after in itertools.pairwise(times))
    behind = np.maximum.accumulate(np.concatenate(times)) - np.concatenate(times)
    assert 0 < behind.max() <= DISORDER  # out of order, but never by more than the declared delay
    names = sorted(directory.iterdir(), key=lambda path: path.stat().st_mtime)
    assert names == sorted(names)


def test_a_thousand_queries_are_distinct_and_begin_with_the_hundred() -> None:
    hundred, thousand = programs.draw(100), programs.draw(1000)
    assert thousand[:100] == hundred
    assert len({(q.aggregate, q.range, q.slide) for q in thousand}) == 1000
    assert {q.slide for q in hundred} == set(programs.SLIDES)
    assert {q.aggregate for q in hundred} == set(programs.AGGREGATES)
    assert all(1 <= q.range // q.slide <= 50 and q.range % q.slide == 0 for q in thousand)


@pytest.mark.parametrize("into", [None, "noop"])
def test_programs_bind(into: str | None) -> None:
    text = programs.program(programs.draw(20), Path("data"), into=into)
    bound = bind_program(parse_program(text))
    assert len(bound.queries) == 20
    assert all((query.sink is None) == (into is None) for query in bound.queries)


def test_cpu_of_children_counts_while_they_live_and_after() -> None:
    burn = "import time\nwhile time.process_time() < 0.5: pass\ninput()"
    before = tree_cpu()
    with subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        while tree_cpu() - before < 0.45:
            pass
        child.stdin.write(b"\n")
    # Its own time stands in user and system, what it left behind in children: neither lost nor counted twice.
    assert tree_cpu() - before >= 0.45


def test_warm_runs_are_not_measured() -> None:
    calls: list[int] = []
    measured = measure("x", 10, lambda: calls.append(1), warm=2, repeat=3)
    assert (len(calls), len(measured.runs)) == (5, 3)


def test_a_report_says_what_does_not_hold() -> None:
    fast = Measured("fast", 1000, (Run(1.0, 2.0), Run(3.0, 2.0), Run(2.0, 2.0)))
    slow = Measured("slow", 1000, (Run(8.0, 9.0),))
    claims = (Claim("slow / fast", slow.cpu / fast.cpu, 3, True), Claim("again", 4.0, 3, False))
    text = show(Report("which?", (fast, slow), claims))
    assert "slow / fast: 4.00, wanted at most 3: DOES NOT HOLD" in text
    assert "again: 4.00, wanted at least 3: holds" in text
    assert "2.00" in text.splitlines()[3]  # the median of 1, 3, 2
