"""Which feeds are aggregated from rows: those that no finer one serves, or serves at too high a price."""

from __future__ import annotations

import pytest

from tests.unit.engine.bench import STREAM
from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.share.build import Planner, build
from weft.share.model.forecast import Basis
from weft.share.model.load import Load, Loads
from weft.share.nodes import StreamPlan

WINDOW = "[RANGE 60 SECONDS SLIDE 10 SECONDS]"
BY_SYM = f"CREATE QUERY by_sym AS SELECT sym, COUNT(*) AS n FROM trades {WINDOW} GROUP BY sym;"
OF_ALL = f"CREATE QUERY of_all AS SELECT {{}} FROM trades {WINDOW};"
WIDE = OF_ALL.format(", ".join(f"COUNT(*) FILTER (WHERE qty = {at}) AS n{at}" for at in range(20)))


def basis(groups: float, by: str = "measured") -> Basis:
    """Ten thousand rows a second."""
    return Basis(Loads(other=Load(rows=10_000.0, groups=groups, rows_by=by, batch=10.0)))


def planned(text: str, known: Basis) -> StreamPlan:
    program = optimize_program(bind_program(parse_program(STREAM + text)))
    (plan,) = build(program, basis=known).streams
    return plan


@pytest.mark.parametrize(
    ("query", "known", "roots"),
    [
        (WIDE, basis(10.0), 1),
        (WIDE, basis(50_000.0), 2),  # about a cell for each row, and each with twenty more partials
        (WIDE, basis(50_000.0, "assumed"), 1),  # nobody has counted
        (OF_ALL.format("COUNT(*) AS n"), basis(50_000.0), 1),  # which the finer one has anyway
    ],
    ids=["few-groups", "many-groups", "unknown", "nothing-more"],
)
def test_a_coarser_feed_is_combined_from_a_finer_one_unless_that_costs_more(
    query: str, known: Basis, roots: int
) -> None:
    plan = planned(BY_SYM + query, known)
    assert len(plan.roots) == roots
    finest = max(plan.feeds, key=lambda feed: len(feed.keys))
    coarse = min(plan.feeds, key=lambda feed: len(feed.keys))
    assert (set(coarse.partials) <= set(finest.partials)) is (roots == 1)


def test_one_that_comes_later_is_judged_by_what_is_known_then() -> None:
    planner, first = Planner(), optimize_program(bind_program(parse_program(STREAM + BY_SYM)))
    planner.plan(first, basis=basis(50_000.0, "assumed"))
    both = optimize_program(bind_program(parse_program(STREAM + BY_SYM + WIDE)))
    (plan,) = planner.plan(both, basis=basis(50_000.0)).streams
    assert len(plan.roots) == 2
