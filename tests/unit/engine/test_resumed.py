"""Whoever looks at a home sees the plan that runs there, with all that was decided while it ran."""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cases import first
from tests.properties.treatments import switches, treatments
from tests.unit.cli_fakes import a_status
from tests.unit.engine.bench import STREAM, Bench, bound, row
from weft.engine.knowledge import basis_of
from weft.engine.resumed import plan_in
from weft.log.home import Home
from weft.session import Session
from weft.share.model.forecast import Basis
from weft.share.model.measured import Measured
from weft.share.nodes import SharedPlan

RULE = (
    "CREATE QUERY r{0} AS SELECT COUNT(*) AS n FROM trades [RANGE 8 SECONDS SLIDE 4 SECONDS] "
    "WHERE sym = 's{0}';\n"
)
RULES = RULE.format(0) + RULE.format(1)
ROWS = [row(f"s{at % 3}", at % 7, at % 5, "ab"[at % 2], at) for at in range(6)]


def seen(bench: Bench) -> SharedPlan:
    plan = plan_in(bench.home.path, bound(STREAM + RULES), basis_of(bench.runtime))
    assert plan is not None
    return plan


def halves(plan: SharedPlan) -> dict[str, list[tuple[Any, ...]]]:
    """Which windows of each query are answered by which feed, in whatever order a plan has them."""
    return {
        tap.query.name: [
            (half.after, half.until, stream.feeds[half.feed].keys, stream.feeds[half.feed].strand, half.picks)
            for half in tap.halves
        ]
        for stream in plan.streams
        for tap in stream.taps
    }


def test_what_was_switched_is_seen_as_it_is(tmp_path: Path) -> None:
    bench = Bench(tmp_path, RULES)
    assert halves(seen(bench)) == halves(bench.runtime.woven)
    bench.ingest(*ROWS)
    bench.step()
    bench.runtime.switch({"r0": ("sym",)}, "a test")
    assert halves(seen(bench)) == halves(bench.runtime.woven)
    session = Session(home=bench.home.path)
    session.sql(STREAM + RULES)
    assert "picks sym" in str(session.explain("r0"))
    assert "picks sym" not in str(session.explain("r1"))
    bench.close()


@pytest.mark.parametrize("seed", first(1, range(4)))
def test_whatever_was_switched_is_seen_as_it_is(seed: int, tmp_path: Path) -> None:
    bench, rng = Bench(tmp_path, RULES), Random(seed)
    asked = switches(rng, treatments(bound(STREAM + RULES)))
    for at, treated in zip(range(12), asked, strict=False):
        bench.ingest(*(row(sym, at, 1, "a", 3 * at) for sym in ("s0", "s1")))
        bench.runtime.switch(treated, "a test")
        bench.step()
        assert halves(seen(bench)) == halves(bench.runtime.woven)
    assert len(bench.runtime.catalog.epochs) > 2
    bench.close()


def test_a_query_that_failed_is_not_in_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, RULES)
    bench.runtime.quarantine({"r1": "it cannot be"})
    assert set(halves(seen(bench))) == {"r0"}
    bench.close()


def test_where_nothing_has_run_there_is_none(tmp_path: Path) -> None:
    Home.open(tmp_path / "home").close()
    assert plan_in(tmp_path / "home", bound(STREAM + RULES), Basis()) is None


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (RULES, None),
        (RULE.format(0), "it also has r1"),
        (RULES + RULE.format(2), "it lacks r2"),
        (
            RULE.format(0).replace("8 SECONDS", "4 SECONDS") + RULE.format(2),
            "it also has r1; it lacks r2; it has another r0",
        ),
    ],
)
def test_analyze_says_where_another_program_runs(tmp_path: Path, program: str, told: str | None) -> None:
    bench = Bench(tmp_path, RULES)
    measured = Measured(60.0, 30.0, {}, {}, {}, {}).to_json()
    (bench.home.path / "status.json").write_text(a_status(measured=measured, updated=time.time()).to_json())
    session = Session(home=bench.home.path)
    session.sql(STREAM + program)
    said = [line for line in session.explain(analyze=True).splitlines() if "another program" in line]
    assert said == ([] if told is None else [f"  another program runs than this one: {told}"])
    found = json.loads(session.explain(format="json", analyze=True))["measured"]["apart"]
    assert any(found.values()) == (told is not None)
    assert "another program" not in str(session.explain())
    bench.close()
