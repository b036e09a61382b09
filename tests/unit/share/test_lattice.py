"""Which feeds are aggregated from rows: those that no finer one serves, or serves at too high a price."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.engine.bench import STREAM
from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.plan.nodes import Program
from weft.share import lattice
from weft.share.build import Planner, build
from weft.share.describe import describe
from weft.share.draw.picture import draw
from weft.share.lattice import Draft, arrange
from weft.share.model.constants import Kind
from weft.share.model.cost import Level
from weft.share.model.forecast import Basis, cost_of
from weft.share.model.load import Load, Loads
from weft.share.model.subplans import some_taps
from weft.share.nodes import Feed, StreamPlan
from weft.share.show import show_shared
from weft.share.strands import in_strand

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


# -- feeds that no query asks for

ITEMS = "COUNT(*) AS n, SUM(v) AS s, MAX(v) AS m"
KEYS = """
CREATE STREAM t (a INT, b INT, c INT, d INT, e INT, f INT, v DOUBLE, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 1 SECOND FROM parquet;
"""
EXAMPLE_4 = ("a", "b, c", "a, c", "c, d")  # of Guirguis's thesis


def by(*groupings: str, items: str = ITEMS) -> Program:
    """A query by each of these keys."""
    texts = [
        f"CREATE QUERY q{at} AS SELECT {keys}, {items} FROM t {WINDOW} GROUP BY {keys};"
        for at, keys in enumerate(groupings)
    ]
    return optimize_program(bind_program(parse_program(KEYS + "\n".join(texts))))


def counted(rows: float = 1e6, keys: str = "abcd", values: float = 10.0, **known: Any) -> Basis:
    """So many rows a second, and so many values of each key."""
    load = Load(rows=rows, rows_by="measured", batch=10.0, distinct=dict.fromkeys(keys, values))
    return Basis(Loads(other=replace(load, **known)))


def common(plan: StreamPlan) -> set[str]:
    return {", ".join(key.sql for key in feed.keys) for feed in plan.feeds if feed.common}


def test_a_common_feed_is_made_that_no_query_asks_for() -> None:
    """Ten values each: a thousandth of a cell for each row."""
    (plan,) = build(by(*EXAMPLE_4), basis=counted()).streams
    assert common(plan) == {"a, b, c, d"}
    assert [feed.parent for feed in plan.feeds] == [4, 4, 4, 4, None]
    assert plan.derived(4) == (0, 1, 2, 3)
    assert plan.feeds[4].partials == plan.feeds[0].partials
    (apart,) = build(by(*EXAMPLE_4)).streams
    assert plan.taps == apart.taps
    basis = counted()
    assert cost_of(plan, basis).total < 0.6 * cost_of(apart, basis).total


@pytest.mark.parametrize(
    ("known", "made"),
    [
        (Basis(), set()),
        (counted(keys=""), set()),  # rows were counted, and no values
        (counted(keys="abc"), {"a, b, c"}),  # nobody knows how many values d has
        (counted(counted={("c", "d"): 1e5}), {"a, b, c"}),  # one of them is too fine
        (counted(values=300.0), set()),  # about as many groups as rows, or more
        (counted(rows=2000.0), set()),  # and so here, with few rows
        (counted(rows_by="assumed"), set()),
    ],
    ids=["nothing-known", "no-values", "one-unknown", "one-too-fine", "many-values", "few-rows", "assumed"],
)
def test_it_is_made_only_where_it_is_known_to_have_few_groups(known: Basis, made: set[str]) -> None:
    (plan,) = build(by(*EXAMPLE_4), basis=known).streams
    assert common(plan) == made


def test_there_may_be_several() -> None:
    """All in one would have as many groups as there are rows."""
    (plan,) = build(by("a, b", "a, c", "d, e", "d, f"), basis=counted(keys="abcdef", values=20.0)).streams
    assert common(plan) == {"a, b, c", "d, e, f"}
    assert [feed.parent for feed in plan.feeds] == [4, 4, 5, 5, None, None]


def test_it_saves_a_quarter_or_it_is_not_made() -> None:
    """Of what feeds take; the more values, the less it is."""
    made = {}
    for values in range(10, 100, 2):
        basis = counted(values=float(values))
        (plan,) = build(by("a, b", "b, c"), basis=basis).streams
        apart = build(by("a, b", "b, c")).streams[0]
        together = arrange([_draft(feed) for feed in apart.feeds], saves=lambda *_: 1.0)
        assert [feed.common for feed in together] == [False, False, True]
        work = [_work(replace(apart, feeds=feeds), basis) for feeds in (apart.feeds, together)]
        made[work[0] / work[1]] = bool(common(plan))
    assert all(was_made is (gain > 1.25) for gain, was_made in made.items())
    assert set(made.values()) == {True, False}


def _draft(feed: Feed) -> Draft:
    places = {partial: at for at, partial in enumerate(feed.partials)}
    return Draft(feed.keys, feed.key_types, feed.extra, partials=places)


def _work(plan: StreamPlan, basis: Basis) -> float:
    """What feeds take, but for what they take whatever they hold."""
    nothing = replace(basis.constants, feed=0.0, part=0.0, place=dict.fromkeys(Kind, 0.0))
    levels = cost_of(plan, replace(basis, constants=nothing)).levels
    return levels[Level.AGGREGATE] + levels[Level.FOLD]


def test_a_feed_that_a_query_asks_for_is_none() -> None:
    planner = Planner()
    first = by(*EXAMPLE_4)
    (plan,) = planner.plan(first, basis=counted()).streams
    (fifth,) = by(*EXAMPLE_4, "a, b, c, d").queries[4:]
    (more,) = planner.plan(replace(first, queries=(*first.queries, fifth)), basis=counted()).streams
    assert not common(more)
    assert [feed.parent for feed in more.feeds] == [4, 4, 4, 4, None]
    assert all(new is old for new, old in zip(more.taps, plan.taps, strict=False))
    (fewer,) = planner.plan(first, basis=counted()).streams
    assert fewer.feeds == plan.feeds


def test_feeds_with_an_extra_key_are_made_for_no_other_and_from_no_other() -> None:
    (plan,) = build(by("a", "b", items="COUNT(DISTINCT c) AS n"), basis=counted()).streams
    assert common(plan) == {"a, b"}
    fine = {feed.keys[-1].sql for feed in plan.feeds if feed.extra and feed.parent is None}
    assert fine == {"c"}


def test_one_is_made_for_feeds_by_the_same_signature_alone() -> None:
    signed = "WEFT_SIGNATURE(v > 1, v > 2)"
    where = ("v > 1", "v > 2", "v > 2", "v > 3")
    texts = [
        f"CREATE QUERY q{key} AS SELECT {key}, COUNT(*) AS n FROM t {WINDOW} WHERE {each} GROUP BY {key};"
        for key, each in zip("abcd", where, strict=True)
    ]
    program = optimize_program(bind_program(parse_program(KEYS + "".join(texts))))
    hidden = {"qa": (signed,), "qb": (signed,), "qc": (), "qd": ()}
    (plan,) = build(program, hidden, basis=counted()).streams
    assert common(plan) == {f"{signed}, a, b", "c, d"}


def test_explain_says_what_it_is_made_for() -> None:
    shared = build(by(*EXAMPLE_4), basis=counted())
    lines = [" ".join(line.split()) for line in show_shared(shared).splitlines()]
    assert "f4 by a, b, c, d from rows 3 partials for f0, f1, f2, f3" in lines
    assert "f1 by b, c combined from f4 3 partials 1 query" in lines
    (described,) = describe(shared)["streams"]
    assert [feed["made_for"] for feed in described["feeds"]] == [[], [], [], [], ["f0", "f1", "f2", "f3"]]
    assert "3 partials, for f0, f1, f2, f3" in draw(shared, counted())


def test_it_is_in_the_plan_of_several_of_its_queries() -> None:
    (plan,) = build(by(*EXAMPLE_4), basis=counted()).streams
    assert some_taps(plan, plan.taps, plan.edges).feeds == plan.feeds
    assert [feed.common for feed in some_taps(plan, plan.taps[:2]).feeds] == [False, False, True]
    assert [feed.parent for feed in some_taps(plan, plan.taps[:1]).feeds] == [None]


def test_only_so_many_feeds_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lattice, "MOST", 3)
    (plan,) = build(by("a", "b", "c", "d"), basis=counted()).streams
    assert common(plan) == {"a, b, c"}
    monkeypatch.setattr(lattice, "NARROW", 2)
    (plan,) = build(by("a", "b", "c", "d"), basis=counted()).streams
    assert not common(plan)


def test_one_is_made_within_a_strand() -> None:
    program, strands = by(*EXAMPLE_4), (0, 0, 1, 1)
    hidden = {query.name: in_strand((), at) for query, at in zip(program.queries, strands, strict=True)}
    (plan,) = build(program, hidden, counted()).streams
    made = {feed.strand: feed for feed in plan.feeds if feed.common}
    assert {at: tuple(key.sql for key in feed.keys) for at, feed in made.items()} == {1: ("a", "c", "d")}
    assert made[1].edges is not None


def test_what_was_judged_to_come_from_rows_is_not_judged_again() -> None:
    """The union of both is the finer of them."""
    feeds = build(by("a", "a, b")).streams[0].feeds
    apart = arrange([_draft(feed) for feed in feeds], lambda coarse, fine: False, lambda *_: 1.0)
    assert [feed.parent for feed in apart] == [None, None]
