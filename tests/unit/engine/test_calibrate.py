"""Constants of this machine: trials do what they are said to do, and what is measured is kept."""

from __future__ import annotations

from dataclasses import fields, replace
from math import log2
from pathlib import Path

import pytest

from weft.engine import calibrate
from weft.engine.calibrate import behind_level1, planned, speed
from weft.engine.calibration import CALIBRATION_FILE, constants_of, keep, kept
from weft.engine.jointrial import with_joins
from weft.engine.trial import Took, Trial, try_out
from weft.share.model.constants import RUNNING_SUMS, SHIPPED, Kind, kind_of
from weft.times import SECOND


@pytest.mark.parametrize(
    "items", ["COUNT(*) AS a", "SUM(n) AS a, MAX(s) AS b", "LAST(x) AS a, VAR_POP(x) AS b, MIN(x) AS c"]
)
def test_a_trial_folds_its_cells_and_answers_its_windows(items: str) -> None:
    took = try_out(Trial(planned(items, 8), groups=30, slices=4, batches=3))
    assert (took.cells, took.answers) == (4 * 30, 4 * 30)
    assert min(took.fold, took.final, took.output) > 0


def test_a_trial_may_have_each_group_in_few_slices() -> None:
    took = try_out(Trial(planned("SUM(n) AS a", 8, slide=8), groups=30, slices=8, batches=3, every=4))
    assert (took.cells, took.answers) == (2 * 30, 30)


def test_a_trial_of_distinct_values_has_ten_in_each_group() -> None:
    took = try_out(Trial(planned("COUNT(DISTINCT n) AS a", 8), groups=30, slices=2, batches=3, before=9))
    assert took.cells == 2 * 2 * 30  # of the groups, and of their values


def test_constants_are_differences_of_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials that take what a known machine would: its constants come out again."""
    known = replace(
        SHIPPED,
        feed=1e-3,
        cell=2e-7,
        fold=dict.fromkeys(Kind, 5e-8),
        place=dict.fromkeys(Kind, 1e-9),
        part=2e-5,
        block=0.0,
        query=4e-4,
        called=dict.fromkeys(Kind, 1e-4),
        told=2e-4,
        select=4e-8,
        final=dict.fromkeys(Kind, 3e-8),
        value=1e-8,
        answer=6e-8,
        step=5e-3,
    )

    def fake(trial: Trial) -> Took:
        places = trial.groups * trial.slices if trial.groups > 1 else 0
        cells, partials, queries = places // trial.every, trial.plan.feeds[0].partials, len(trial.plan.taps)
        slide = trial.plan.taps[0].window.slide // SECOND
        rows, more = places // slide, len(partials) - 1 if len(partials) > 1 else 0
        slices = trial.plan.taps[0].window.range / SECOND
        times = 1 if kind_of(partials[-1]) in RUNNING_SUMS else 1 + log2(slices)
        asked = known.query + (times * 1e-4 if more else 0)
        return Took(
            fold=known.feed
            + more * known.part
            + cells * (known.cell + len(partials) * 5e-8)
            + (places - cells) * 5 * 1e-9,
            final=queries * asked + rows * (known.select + more * 3e-8),
            output=known.step
            + queries * known.told
            + rows * (known.answer + (4 + max(0, more - 1)) * known.value),
            cells=cells or 1,
            answers=rows or 1,
        )

    monkeypatch.setattr(calibrate, "try_out", fake)
    found = behind_level1()
    for name in ("feed", "part", "cell", "query", "told", "select", "value", "answer", "step"):
        assert getattr(found, name) == pytest.approx(getattr(known, name)), name
    assert found.fold == pytest.approx(known.fold)
    assert found.final == pytest.approx(known.final)
    assert found.called == pytest.approx(known.called)
    assert found.place == pytest.approx(known.place)
    assert (found.row, found.batch) == (SHIPPED.row, SHIPPED.batch)  # of level 1: not for trials to tell
    assert calibrate.calibrate().row == pytest.approx(SHIPPED.row * speed(found))


def test_a_machine_that_is_twice_as_slow_has_constants_twice_as_large() -> None:
    twice = {name: {kind: 2 * s for kind, s in getattr(SHIPPED, name).items()} for name in ("fold", "final")}
    slow = replace(SHIPPED, **twice, feed=2 * SHIPPED.feed, query=2 * SHIPPED.query, step=2 * SHIPPED.step)
    assert speed(slow) == pytest.approx(2.0)
    assert speed(SHIPPED) == pytest.approx(1.0)


def test_real_trials_give_constants_above_nothing() -> None:
    found = calibrate.calibrate()
    assert found.origin.startswith("measured on ")
    assert all(seconds >= 0 for _, seconds in found.units())
    assert min(found.feed, found.query, found.final[Kind.MOMENTS], sum(found.fold.values())) > 0


def test_constants_are_kept_in_the_home(tmp_path: Path) -> None:
    assert constants_of(tmp_path) == SHIPPED
    mine = replace(SHIPPED, row=1e-6, origin="measured on a day")
    keep(tmp_path, mine)
    assert constants_of(tmp_path) == kept(tmp_path) == mine


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 0}'])
def test_constants_that_cannot_be_read_are_as_if_none_were_there(tmp_path: Path, text: str) -> None:
    (tmp_path / CALIBRATION_FILE).write_text(text)
    assert kept(tmp_path) is None


def test_every_constant_has_its_line() -> None:
    names = {name.split()[0] for name, _ in SHIPPED.units()}
    assert names == {field.name for field in fields(SHIPPED)} - {"origin"}


def test_what_joins_take_is_measured() -> None:
    measured = with_joins(replace(SHIPPED, kept=0.0, lookup=-1.0, looked=-1.0, change=0.0, counted=0.0))
    assert min(measured.kept, measured.change, measured.counted) > 0
    assert min(measured.lookup, measured.looked) >= 0
    of_joins = ("kept", "lookup", "looked", "change", "counted")
    assert replace(measured, **{name: getattr(SHIPPED, name) for name in of_joins}) == SHIPPED
