"""Queries in strands: feeds cut at the edges of their own, when that is offered, and what EXPLAIN says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.engine.bench import STREAM, bound
from weft.plan.nodes import Program
from weft.share.build import Planner, build
from weft.share.explain import explain_program
from weft.share.model.constants import SHIPPED, Constants
from weft.share.model.cost import Level
from weft.share.model.forecast import Basis, cost_of
from weft.share.model.load import Load, Loads
from weft.share.model.offer import Limits, Offer
from weft.share.model.subplans import one_strand
from weft.share.nodes import Edges, StreamPlan
from weft.share.predicates import Turn
from weft.share.reconsider import best_offer
from weft.share.strands import in_strand, nearest, strand_of, without_strand
from weft.share.weave.rates import rate_of
from weft.times import SECOND

QUERY = (
    "CREATE QUERY q{} AS SELECT sym, {} AS v FROM trades [RANGE {} SECONDS SLIDE {} SECONDS] GROUP BY sym;"
)
LONG = [(3600, 60), (3660, 60), (3720, 60), (3780, 60)]
READ_ALL_SLICES = replace(SHIPPED, block=1e-2, cell=0.0, feed=0.0, query=0.0)  # as in the literature


def program(call: str = "MAX(qty)") -> Program:
    """Long windows every minute, and one that cuts every second."""
    asked = [QUERY.format(at, call, *window) for at, window in enumerate(LONG)]
    return bound("\n".join([STREAM, *asked, QUERY.format(len(LONG), "COUNT(*)", 5, 1)]))


def basis(constants: Constants = SHIPPED) -> Basis:
    counted = {("sym",): 100.0}
    load = Load(1000.0, counted=counted, rows_by="measured", groups_by="measured")
    return Basis(Loads({"trades": load}), constants)


def planned(made: Program, *strands: int) -> StreamPlan:
    (plan,) = build(made, {f"q{at}": in_strand((), strand) for at, strand in enumerate(strands)}).streams
    return plan


def offered(
    constants: Constants,
    *strands: int,
    call: str = "MAX(qty)",
    limits: Limits = Limits(),  # noqa: B008  frozen
) -> Offer | None:
    made, planner = program(call), Planner()
    picked = {f"q{at}": in_strand((), strand) for at, strand in enumerate(strands)}
    (plan,) = planner.plan(made, picked).streams
    return best_offer(planner.taken("trades"), plan, picked, basis(constants), limits)


@pytest.mark.parametrize("keys", [(), ("sym",)])
def test_a_strand_stands_among_the_keys(keys: tuple[str, ...]) -> None:
    assert strand_of(keys) == 0
    moved = in_strand(keys, 3)
    assert (strand_of(moved), without_strand(moved)) == (3, keys)
    assert in_strand(moved, 0) == keys


def test_rows_are_aggregated_once_and_each_strand_is_cut_at_its_own_edges() -> None:
    plan = planned(program(), 1, 1, 1, 1, 0)
    assert len(plan.roots) == 1
    rates = {feed.strand: rate_of(feed.edges).value for feed in plan.feeds if feed.edges is not None}
    assert rates[1] < rates[0] <= rate_of(plan.edges).value
    assert [plan.feeds[tap.feed].strand for tap in plan.taps] == [1, 1, 1, 1, 0]


def test_a_query_that_is_added_joins_the_strand_that_has_its_edges() -> None:
    planner, made = Planner(), program()
    planner.plan(made, {f"q{at}": in_strand((), 1) for at in range(len(LONG))})
    added = {"minutes": (7200, 120), "odd": (7261, 60), "seconds": (7, 1), "rare": (180, 180)}
    text = [QUERY.format(name, "SUM(qty)", *window) for name, window in added.items()]
    new = bound("\n".join([STREAM, *text]))
    planner.plan(replace(made, queries=(*made.queries, *new.queries)), planner.hidden())
    found = {name: strand_of(keys) for name, keys in planner.hidden().items()}
    # The strand of long windows has an edge each minute, the other one each second.
    assert found == {**dict.fromkeys(["q0", "q1", "q2", "q3"], 1), "q4": 0} | {
        "qminutes": 1,
        "qodd": 0,
        "qseconds": 0,
        "qrare": 1,
    }


def test_edges_between_those_of_a_strand_are_lacked() -> None:
    minutes = Edges(None, ((60 * SECOND, 0), (60 * SECOND, 13)), "")
    other = Edges(None, ((45 * SECOND, 0),), "")
    assert nearest([(120 * SECOND, 0), (120 * SECOND, 13)], {0: other, 1: minutes}) == 1
    assert nearest([(90 * SECOND, 0)], {0: minutes, 1: other}) == 1
    assert nearest([(SECOND, 0)], {0: minutes, 1: other}) == 1  # that has one in 45, not one in 60


def test_a_finer_grain_is_more_edges_for_all() -> None:
    """Of every 1.5 s two of three are between those of every second, and with these every 0.5 s is one."""
    seconds = Edges(SECOND, ((SECOND, 0),), "")
    others = Edges(None, ((1_300_000, 50_000), (1_300_000, 750_000)), "")
    assert nearest([(3 * SECOND // 2, 0)], {0: seconds, 1: others}) == 1
    assert nearest([(2 * SECOND, 0)], {0: seconds, 1: others}) == 0


def test_without_strands_feeds_have_no_edges_of_their_own() -> None:
    plan = planned(program(), 0, 0, 0, 0, 0)
    assert [feed.edges for feed in plan.feeds] == [None]
    assert one_strand(plan) is plan


def test_taken_together_again_it_is_the_plan_without_strands() -> None:
    apart, plain = planned(program(), 1, 1, 2, 0, 0), planned(program())
    both = [cost_of(each, basis()) for each in (one_strand(apart), plain)]
    assert both[0].levels == pytest.approx(both[1].levels)
    assert both[0].levels != pytest.approx(cost_of(apart, basis()).levels)


def test_what_is_asked_in_two_strands_is_answered_in_each() -> None:
    made = bound("\n".join([STREAM, *(QUERY.format(at, "MAX(qty)", 3600, 60) for at in range(2))]))
    together, apart = (cost_of(planned(made, 0, other), basis()).levels[Level.FINAL] for other in (0, 1))
    assert apart == pytest.approx(2 * together)


def test_strands_are_offered_where_reading_slices_is_dear() -> None:
    offer = offered(READ_ALL_SLICES)
    assert offer is not None
    assert offer.then < offer.now
    assert all(strand_of(keys) for keys in offer.picks_by.values())
    assert set(offer.picks_by) == {f"q{len(LONG)}"}  # the largest group stays where it is
    assert offer.what == "rows asked to rows asked in strand 1"


@pytest.mark.parametrize("call", ["SUM(qty)", "MAX(qty)"])
def test_they_are_not_by_what_work_takes_here(call: str) -> None:
    """With running sums, and with blocks, one set of slices costs least."""
    assert offered(SHIPPED, call=call) is None


def test_those_that_are_as_they_should_be_stay() -> None:
    offer = offered(READ_ALL_SLICES)
    assert offer is not None
    strands = [strand_of(offer.picks_by.get(f"q{at}", ())) for at in range(len(LONG) + 1)]
    assert offered(READ_ALL_SLICES, *strands) is None
    assert offered(READ_ALL_SLICES, *(7 * strand for strand in strands)) is None  # by any other number


@pytest.mark.parametrize(("strands", "moved"), [((1, 1, 1, 0, 0), {"q3": 1}), ((0, 0, 0, 0, 0), {"q4": 1})])
def test_only_those_are_moved_that_are_with_others(strands: tuple[int, ...], moved: dict[str, int]) -> None:
    """The larger group is that of the long windows; it is not renumbered because it grows."""
    offer = offered(READ_ALL_SLICES, *strands, limits=Limits(gain=0.0, code=0.0))
    assert offer is not None
    assert {name: strand_of(keys) for name, keys in offer.picks_by.items()} == moved


def test_what_queries_have_left_behind_that_are_gone_is_priced_too() -> None:
    text = [QUERY.format(at, "MAX(qty)", *window) for at, window in enumerate(LONG)]
    made, planner = bound("\n".join([STREAM, *text, QUERY.format("gone", "MIN(price)", 5, 1)])), Planner()
    planner.plan(made)
    (plan,) = planner.plan(replace(made, queries=made.queries[:-1])).streams
    assert any("min" in partial.text for partial in plan.feeds[0].partials)
    there: dict[str, tuple[str, ...]] = {query.name: () for query in made.queries[:-1]}
    assert best_offer(planner.taken("trades"), plan, there, basis(READ_ALL_SLICES), Limits()) is None


def test_explain_says_which_strand_and_which_way_runs() -> None:
    picked = {"q0": in_strand((), 1), "q1": in_strand((), 1)}
    made = program()
    text = explain_program(made, plan=build(made, picked))
    assert "strand 1 keeps those every 1 min" in text
    assert "cut for strand 1" in text
    (line,) = [line for line in text.splitlines() if line.strip().startswith("TriWeave")]
    assert "this plan" in line
    assert "2 of them" in line
    assert "cut for strand 1" in explain_program(made, "q0", plan=build(made, picked))


def test_explain_while_a_query_is_being_switched() -> None:
    picked = {"q0": in_strand((), 1)}
    made = program()
    plan = build(made, picked, turns={"q0": Turn(0, ())})
    text = explain_program(made, plan=plan)
    assert "cut for strand 1" in text
    alone = explain_program(made, "q0", plan=plan)
    assert "those before are still to be answered, from f" in alone
