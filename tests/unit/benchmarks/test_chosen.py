"""The contest of ways to share: every way gives the answers of Shared, and the verdict is what it says."""

from __future__ import annotations

import random
from dataclasses import replace

import click
import pyarrow as pa
import pytest

from benchmarks.chosen import NATIVE, STREAMED, Found, Runs, lines, verdict
from benchmarks.drawn import EVERY_SPARK, Input, draw
from benchmarks.model import Data
from benchmarks.same import check_same
from benchmarks.ways import Job, by_columns, jobs, load_of, plan_of, run
from weft.share.model.constants import SHIPPED
from weft.share.model.plans import NO_SHARE, SHARED, TRIWEAVE, WEAVE, Ways


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> Input:
    data = Data(3000, 600, 3)
    return Input(data, data.write(tmp_path_factory.mktemp("rows") / "files"))


@pytest.mark.parametrize("seed", range(4))
def test_every_way_answers_alike(rows, seed):
    drawn = draw(random.Random(seed), 0, [rows])
    drawn = replace(drawn, queries=drawn.queries[:6])
    shared = plan_of(drawn.text(drawn.names))
    first = run([Job(shared, (shared,))], rows.files, by_columns(), keep=True)
    load = load_of(first, rows.rows, rows.seconds, len(rows.files))
    ways = Ways(shared, SHIPPED)
    found = [*ways.all(load)[:2], *ways.woven(load)]
    assert sum(map(pa.Table.__len__, (t for each in first.answers.values() for t in each))) > 0
    assert {way.name for way in found} >= {NO_SHARE, SHARED}
    for way in found:
        spent = run(jobs(way, shared, drawn.text), rows.files, by_columns(), keep=True)
        check_same(first.answers, spent.answers, way.name)


def test_groups_of_both_woven_ways_are_tried(rows):
    drawn = next(d for s in range(20) if len((d := draw(random.Random(s), 0, [rows])).queries) == 4)
    shared = plan_of(drawn.text(drawn.names))
    woven = {
        way.name: way for way in Ways(shared, SHIPPED).woven(load_of(run([], [], by_columns()), 1, 1, 1))
    }
    assert len(jobs(woven[WEAVE], shared, drawn.text)) == woven[WEAVE].groups >= 2
    (job,) = jobs(woven[TRIWEAVE], shared, drawn.text)
    assert len(job.states) == woven[TRIWEAVE].groups >= 2


def test_other_answers_are_found():
    mine = {"q": [pa.table({"window_end": [1, 2], "a0": [0.1, 0.2]})]}
    check_same(mine, {"q": [pa.table({"window_end": [2, 1], "a0": [0.2, 0.1 + 1e-12]})]}, "another")
    for other in ({}, {"q": [pa.table({"window_end": [1, 2], "a0": [0.1, 0.3]})]}, mine | {"r": mine["q"]}):
        with pytest.raises(click.ClickException, match="another answers"):
            check_same(mine, other, "another")


def found(*medians: float, chosen: str = SHARED) -> Found:
    names = (SHARED, WEAVE, TRIWEAVE)
    runs = [Runs(name, 1, m, [m] * 5) for name, m in zip(names, medians, strict=True)]
    return Found(draw(random.Random(1), EVERY_SPARK, [Input(Data(10, 10, 1), None)]), runs, chosen)


def test_only_what_was_predicted_is_called_so():
    streams = [Runs(STREAMED, 1, None, [2.0]), Runs(NATIVE, 1, None, [3.0])]
    told = list(lines(1, replace(found(1.25, 1.5, 3.0), streams=streams)))
    assert [line for line in told if "1.25 predicted" in line]
    (native,) = [" ".join(line.split()) for line in told if line.startswith(f"   {NATIVE}")]
    assert native == f"{NATIVE} 3.00 CPU-s ± 0% measured once"
    assert sum("predicted" in line for line in told) == 3


def test_what_is_chosen_may_cost_little_more_than_the_cheapest():
    assert found(1.1, 1.0, 3.0).holds
    assert not found(1.2, 1.0, 3.0).holds
    noisy = found(1.2, 1.0, 3.0)
    noisy.runs[1].taken[:] = [0.5, 0.9, 1.0, 1.1, 2.0]
    assert noisy.runs[1].spread == pytest.approx(0.2)
    assert noisy.holds
    *_, last = verdict([found(1.1, 1.0, 3.0), found(1.2, 1.0, 3.0)])
    assert last == "1 of 2 programs pass: FAIL"
