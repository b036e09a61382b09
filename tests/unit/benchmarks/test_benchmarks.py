"""The benchmarks measure what they say: fixed input, distinct queries, CPU of children included."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks import programs
from benchmarks.data import LATE_FILES, START, Data, files_of, lanes_of, table
from benchmarks.measure import Claim, Measured, Report, Run, measure, show, tree_cpu
from benchmarks.workloads import Sizes, all_workloads, find
from weft.lang.parse import parse_program
from weft.plan.bind import bind_program

SMALL = Data(rows=10_000, keys=7, files=4, span=100)
DISORDER = SMALL.disorder * 1_000_000


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
    assert {(q.function, q.column) for q in hundred} == set(programs.AGGREGATES)
    assert all(1 <= q.range // q.slide <= 50 and q.range % q.slide == 0 for q in thousand)


def test_of_five_thousand_queries_at_least_four_thousand_are_distinct() -> None:
    many = programs.draw(5000)
    assert len({query.name for query in many}) == 5000
    assert len({(q.aggregate, q.range, q.slide) for q in many}) >= 4000


@pytest.mark.parametrize("out", [None, Path("out")])
def test_the_programs_of_all_workloads_bind(out: Path | None) -> None:
    for workloads in all_workloads(Sizes(rows=1000, files=5)).values():
        for workload in workloads:
            if len(workload.queries) > 100:
                continue
            text = programs.program(workload.queries, workload.data, Path("data"), out)
            bound = bind_program(parse_program(text))
            assert len(bound.queries) == len(workload.queries)


def test_workloads_are_found_by_names_that_differ() -> None:
    every = [w.name for several in all_workloads(Sizes()).values() for w in several]
    assert len(set(every)) == len(every)
    assert all(find(name, Sizes()).name == name for name in every)


def test_a_part_holds_the_first_files_and_lanes_hold_all_lines_in_time(tmp_path: Path) -> None:
    data = replace(SMALL, format="csv")
    first = files_of(data, tmp_path, 3)
    assert [path.name for path in sorted(first.iterdir())] == [f"part-{n:05d}.csv" for n in range(3)]
    lanes = sorted(lanes_of(first, 2).iterdir())
    lines = [path.read_text().splitlines() for path in lanes]
    assert sorted(lines[0] + lines[1]) == sorted(
        line for path in first.iterdir() for line in path.read_text().splitlines()
    )
    for lane in lines:
        times = np.array([int(line.split(",")[-1]) for line in lane])
        assert (np.maximum.accumulate(times) - times).max() <= DISORDER


def test_late_rows_are_marked_and_as_late_as_is_said() -> None:
    data = replace(SMALL, files=10, late=100)
    for number in range(data.files):
        rows = table(data, number)
        late = rows.column("late").to_numpy()
        times = rows.column("ts").cast("int64").to_numpy()
        start = START + number * data.span * 1_000_000 // data.files
        assert late.any() == (number > LATE_FILES)
        assert (times[~late] >= start).all()
        assert (times[late] < start - (LATE_FILES - 1) * data.span * 1_000_000 // data.files + DISORDER).all()


def test_nexmark_has_its_shares_and_keys_that_move_on() -> None:
    rows = table(replace(SMALL, kind="nexmark"), 3)
    kind, key = rows.column("kind").to_numpy(), rows.column("key").to_numpy()
    assert [int((kind == k).sum()) for k in range(3)] == [50, 150, 2300]
    newest = 3 * (10_000 // 50)
    assert key[kind == 2].max() < newest
    assert key[kind == 2].min() >= 3 * 150 - 100  # none of the auctions of long ago
    assert (rows.column("price").to_numpy()[kind == 2] >= 100).all()


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


def test_measurements_survive_being_written_down() -> None:
    side = Measured("x", 10, (Run(1.0, 2.0),), "part", (0.5, 1.5), Run(3.0, 4.0), 7)
    assert Measured.from_json(json.loads(json.dumps(side.to_json()))) == side


def test_a_report_says_what_does_not_hold() -> None:
    fast = Measured("fast", 1000, (Run(1.0, 2.0), Run(3.0, 2.0), Run(2.0, 2.0)))
    slow = Measured("slow", 1000, (Run(8.0, 9.0),))
    claims = (Claim("slow / fast", slow.cpu / fast.cpu, 3, True), Claim("again", 4.0, 3, False))
    text = show(Report("which?", (fast, slow), claims))
    assert "slow / fast: 4.00, wanted at most 3: DOES NOT HOLD" in text
    assert "again: 4.00, wanted at least 3: holds" in text
    assert "2.00" in text.splitlines()[3]  # the median of 1, 3, 2
