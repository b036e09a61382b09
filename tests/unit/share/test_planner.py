"""A plan that is changed query by query reads what one made in one go would."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.unit.share.test_build import WINDOW, program
from weft.plan.nodes import Program
from weft.share.build import FEW, Planner, build
from weft.share.model.forecast import Basis
from weft.share.nodes import SharedPlan, StreamPlan, Tap
from weft.share.slicing import lies_on, pairs_of

AGGREGATES = ("COUNT(*)", "SUM(qty)", "AVG(price)", "MAX(price)", "COUNT(DISTINCT venue)", "MIN(symbol)")
WHERES = ("", "WHERE price > 5", "WHERE qty = 3", "WHERE symbol = '{}'", "WHERE price > {} AND qty < 9")
KEYS = ("", "GROUP BY symbol", "GROUP BY venue", "GROUP BY venue, symbol", "GROUP BY ROLLUP (venue, symbol)")


def queries(count: int, seed: int) -> Program:
    """Queries of all sorts, standing filters among them."""
    rng, texts = Random(seed), []
    for _ in range(count):
        where = rng.choice(WHERES).format(rng.randrange(20))
        window = f"[RANGE {rng.randrange(1, 90)} SECONDS SLIDE {rng.randrange(1, 40)} SECONDS]"
        select = f"SELECT {rng.choice(AGGREGATES)} AS x FROM trades {window} {where} {rng.choice(KEYS)}"
        texts.append(f"SELECT price FROM trades {where}" if rng.random() < 0.1 else select)
    return program(*texts)


def reads(plan: StreamPlan, tap: Tap) -> object:
    """What a query reads, whatever the places in the plan."""

    def feed(at: int) -> object:
        found = plan.feeds[at]
        return found.keys, found.key_types, found.extra, found.inner

    return [
        (
            feed(each.feed),
            plan.feeds[each.feed].partials[each.present],
            each.window,
            each.keys,
            each.picks,
            [
                (final.name, final.method, feed(final.feed), plan.feeds[final.feed].partials[at])
                for final in each.finals
                for at in final.partials
            ],
        )
        for each in tap.sets
    ]


def check(plan: SharedPlan, whole: Program, planner: Planner) -> None:
    """That the plan is as good as a new one of the same queries, with the same decisions."""
    other = build(whole, planner.hidden())
    assert [one.stream.name for one in plan.streams] == [one.stream.name for one in other.streams]
    for mine, new in zip(plan.streams, other.streams, strict=True):
        found = {tap.query.name: reads(mine, tap) for tap in mine.taps}
        assert found == {tap.query.name: reads(new, tap) for tap in new.taps}
        assert {one.query.name for one in mine.standing} == {one.query.name for one in new.standing}
        assert set(mine.guards) == set(new.guards)
        assert set(new.columns) <= set(mine.columns)
        assert set(new.asked) <= {*mine.asked, *(key.sql for feed in mine.feeds for key in feed.keys)}
        assert new.wanted is not None or mine.wanted is None
        for feed in mine.feeds:
            assert feed.parent is None or set(feed.partials) <= set(mine.feeds[feed.parent].partials)
        for pair in (pair for tap in new.taps for pair in pairs_of(tap.window)):
            assert any(lies_on(pair, edge) for edge in mine.edges.pairs)
    assert plan.saving.queries == other.saving.queries
    assert plan.saving.partials_apart == other.saving.partials_apart
    assert plan.saving.row_updates_apart == other.saving.row_updates_apart


@pytest.mark.parametrize("seed", range(8))
def test_queries_come_and_go(seed: int) -> None:
    everything, rng, planner = queries(60, seed), Random(seed), Planner()
    there = set(rng.sample(range(60), 20))
    for _ in range(12):
        weave = planner.anew(Basis())
        there ^= set(rng.sample(range(60), rng.choice([1, 1, 1, 12])))
        some = tuple(query for at, query in enumerate(everything.queries) if at in there)
        now = replace(everything, queries=some)
        check(planner.plan(now), now, planner)
        if planner.is_stale and rng.random() < 0.7:  # one that was made meanwhile takes over
            hidden, planner = planner.hidden(), weave()
            check(planner.plan(now, hidden), now, planner)


def test_what_stays_is_the_same() -> None:
    both, planner = queries(12, 1), Planner()
    before = planner.plan(replace(both, queries=both.queries[:11])).streams[0]
    after = planner.plan(both).streams[0]
    assert [id(tap) for tap in after.taps[: len(before.taps)]] == [id(tap) for tap in before.taps]


def test_what_only_a_query_needed_that_is_gone_stays_until_one_takes_over_that_is_anew() -> None:
    texts = [f"SELECT MAX(price * {at}) AS x FROM trades {WINDOW}" for at in range(4 * FEW)]
    whole, planner = program(*texts), Planner()
    planner.plan(whole)
    planner.plan(replace(whole, queries=whole.queries[FEW:]))
    assert not planner.is_stale
    rest = replace(whole, queries=whole.queries[FEW + 1 :])
    assert len(planner.plan(rest).streams[0].feeds[0].partials) == 1 + len(texts)
    assert planner.is_stale
    planner = planner.anew(Basis())()
    assert len(planner.plan(rest).streams[0].feeds[0].partials) == len(texts) - FEW
    assert not planner.is_stale


def test_one_that_is_anew_may_be_without_queries() -> None:
    whole = program(*(f"SELECT MAX(price * {at}) AS x FROM trades {WINDOW}" for at in range(3)))
    planner = Planner()
    planner.plan(whole)
    planner = planner.anew(Basis(), without={whole.queries[0].name})()
    (one,) = planner.plan(replace(whole, queries=whole.queries[1:])).streams
    assert len(one.feeds[0].partials) == 3


def test_a_feed_that_nobody_reads_is_not_in_one_that_is_anew() -> None:
    whole = program(
        f"SELECT symbol, COUNT(*) AS n FROM trades {WINDOW} GROUP BY symbol",
        f"SELECT venue, COUNT(*) AS n FROM trades {WINDOW} GROUP BY venue",
    )
    planner = Planner()
    planner.plan(whole)
    rest = replace(whole, queries=whole.queries[1:])
    assert len(planner.plan(rest).streams[0].feeds) == 2
    assert planner.is_stale
    assert len(planner.anew(Basis())().plan(rest).streams[0].feeds) == 1


def test_one_that_is_anew_has_the_very_taps_where_they_are_the_same() -> None:
    whole = program(*(f"SELECT MAX(price * {at}) AS x FROM trades {WINDOW}" for at in range(3)))
    planner = Planner()
    planner.plan(whole)
    rest = replace(whole, queries=(whole.queries[0], whole.queries[2]))
    (before,) = planner.plan(rest).streams
    (after,) = planner.anew(Basis())().plan(rest).streams
    assert after.taps[0] is before.taps[0]
    assert after.taps[1] != before.taps[1]  # its partial has moved up


def test_a_feed_that_came_last_goes_and_nothing_else_is_worked_out_again() -> None:
    whole = program(
        f"SELECT symbol, COUNT(*) AS n FROM trades {WINDOW} GROUP BY symbol",
        f"SELECT venue, COUNT(*) AS n FROM trades {WINDOW} GROUP BY venue",
    )
    planner = Planner()
    (before,) = planner.plan(whole).streams
    (after,) = planner.plan(replace(whole, queries=whole.queries[:1])).streams
    assert [id(tap) for tap in after.taps] == [id(before.taps[0])]
    assert [feed.keys for feed in after.feeds] == [before.feeds[0].keys]
    (again,) = planner.plan(whole).streams
    assert again.feeds == before.feeds
