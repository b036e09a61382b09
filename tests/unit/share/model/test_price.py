"""What a plan costs: nothing is lost among levels and queries, and the final method decides what pays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.share.build import build
from weft.share.model.change import break_evens
from weft.share.model.constants import SHIPPED, Constants, Kind, kind_of
from weft.share.model.cost import Level
from weft.share.model.load import Load, Loads, occupied
from weft.share.model.plans import NO_SHARE, SHARED, TRIWEAVE, WEAVE, Ways
from weft.share.model.price import Priced
from weft.share.model.subplans import some_taps
from weft.share.weave.rates import rate_of

STREAM = """
CREATE STREAM trades (symbol STRING, venue STRING, price DOUBLE, qty BIGINT, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 1 SECOND FROM parquet OPTIONS ('path' = 'trades');
"""


def plan_of(*queries):
    text = STREAM + "".join(f"CREATE QUERY q{at} AS {query};\n" for at, query in enumerate(queries))
    return build(optimize_program(bind_program(parse_program(text)))).stream("trades")


def windowed(items, window, keys="symbol", where=""):
    return (
        f"SELECT {keys}, {items} FROM trades [RANGE {window[0]} SECONDS SLIDE {window[1]} SECONDS] "
        f"{f'WHERE {where}' if where else ''} GROUP BY {keys}"
    )


def ways_of(plan, load=Load(), constants=SHIPPED):  # noqa: B008  frozen
    return {way.name: way for way in Ways(plan, constants).all(load)}


ITEMS = ["COUNT(*)", "SUM(qty)", "AVG(qty)", "SUM(price)", "MAX(price)", "STDDEV(price)", "LAST(price)"]
queries = st.builds(
    windowed,
    st.lists(st.sampled_from(ITEMS), min_size=1, max_size=3, unique=True).map(", ".join),
    st.tuples(st.integers(1, 100), st.integers(1, 30)),
    st.sampled_from(["symbol", "venue", "symbol, venue"]),
    st.sampled_from(["", "qty > 5", "price < 3"]),
)
loads = st.builds(
    Load,
    rows=st.floats(0.1, 1e7),
    groups=st.floats(1, 1e6),
    batch=st.sampled_from([0.1, 1.0, 10.0, 60.0]),
    step=st.sampled_from([1.0, 60.0]),
)
ANY_NUMBER = settings(max_examples=40, deadline=None)


@ANY_NUMBER
@given(st.lists(queries, min_size=1, max_size=8), loads)
def test_the_queries_together_cost_what_the_levels_do(texts, load):
    cost = Priced.of(plan_of(*texts), SHIPPED, load).cost()
    by_query = {level: sum(mine[level] for mine in cost.queries.values()) for level in Level}
    assert by_query == pytest.approx(cost.levels)
    assert all(seconds >= 0 for seconds in cost.levels.values())
    assert set(cost.queries) == {f"q{at}" for at in range(len(texts))}


@ANY_NUMBER
@given(queries, loads)
def test_a_query_by_itself_costs_the_same_shared_or_not(text, load):
    ways = ways_of(plan_of(text), load)
    assert ways[NO_SHARE].cost == pytest.approx(ways[SHARED].cost)
    assert set(ways) == {NO_SHARE, SHARED}


@ANY_NUMBER
@given(st.lists(queries, min_size=1, max_size=8), loads)
def test_all_queries_taken_out_of_a_plan_cost_what_the_plan_does(texts, load):
    plan = plan_of(*texts)
    again = some_taps(plan, plan.taps, plan.edges)
    assert Priced.of(again, SHIPPED, load).cost().levels == pytest.approx(
        Priced.of(plan, SHIPPED, load).cost().levels
    )


@ANY_NUMBER
@given(
    st.lists(st.tuples(st.integers(1, 500), st.integers(1, 100)), min_size=2, max_size=8, unique=True), loads
)
def test_where_windows_are_differences_of_running_sums_one_set_of_slices_is_best(windows, load):
    plan = plan_of(*(windowed("SUM(qty), COUNT(*)", window) for window in windows))
    assume(occupied(load.groups, load.rows / rate_of(plan.edges).value) * 16 >= load.groups)  # else see below
    ways = ways_of(plan, load)
    assert min(ways.values(), key=lambda way: way.cost).cost == pytest.approx(ways[SHARED].cost)


def test_groups_that_are_rare_in_fine_slices_may_fill_coarser_ones():
    plan = plan_of(*(windowed("SUM(qty), COUNT(*)", window) for window in [(1, 1), (135, 3)]))
    load = Load(rows=7.0, groups=304.0, batch=60.0, step=1.0)
    lists_are_dear = replace(SHIPPED, sparse=30.0, place=dict.fromkeys(Kind, 0.0))
    ways = ways_of(plan, load, lists_are_dear)
    assert ways[TRIWEAVE].groups == 2
    assert ways[TRIWEAVE].cost < ways[SHARED].cost
    empty_places_too = replace(lists_are_dear, place=dict.fromkeys(Kind, 1e-5))
    assert ways_of(plan, load, empty_places_too)[TRIWEAVE].groups == 1


def test_windows_of_running_sums_cost_the_same_however_many_slices_they_have():
    coarse, fine = (
        plan_of(windowed("SUM(qty)", (600, 60)), windowed("COUNT(*)", (slide, slide), "venue"))
        for slide in (60, 1)
    )
    assert rate_of(fine.edges).value == 60 * rate_of(coarse.edges).value
    answering = [
        Priced.of(plan, SHIPPED, Load()).cost().queries["q0"][Level.FINAL] for plan in (coarse, fine)
    ]
    assert answering[0] == pytest.approx(answering[1])


def test_windows_of_blocks_cost_more_with_every_doubling_of_their_slices():
    coarse, fine = (
        plan_of(windowed("MAX(price)", (640, 64)), windowed("COUNT(*)", (slide, slide), "venue"))
        for slide in (64, 16)
    )
    mine = [Priced.of(plan, SHIPPED, Load()).cost().queries["q0"][Level.FINAL] for plan in (coarse, fine)]
    windows = 100 / 64  # of groups, a second
    each = windows * SHIPPED.block + SHIPPED.called[Kind.EXTREME] / 64
    assert mine[1] - mine[0] == pytest.approx(2 * each)


def test_groups_with_slices_of_their_own_win_where_reading_slices_is_dear():
    """As in the literature, whose windows read every slice: the arithmetic is not biased to one answer."""
    dear = replace(SHIPPED, block=1e-3, cell=0.0, feed=0.0, query=0.0)
    plan = plan_of(
        *(windowed("MAX(price)", (slide * 10, slide)) for slide in (7, 11, 13)),
        *(windowed("SUM(price)", (3000 + at, 1)) for at in range(2)),
    )
    ways = ways_of(plan, Load(rows=100.0), dear)
    assert ways[TRIWEAVE].groups > 1
    assert ways[TRIWEAVE].cost < ways[SHARED].cost
    assert ways[WEAVE].cost <= ways[SHARED].cost


def test_what_would_change_the_plan_is_found():
    """With a job for nothing and cells that are dear, queries by other keys would rather be apart."""
    odd = replace(SHIPPED, batch=0.0, step=0.0, cell=1e-2, row=1e-6)
    plan = plan_of(windowed("MAX(price)", (60, 60)), windowed("MAX(qty)", (1, 1), "venue"))
    (turn,) = break_evens(Ways(plan, odd), Load(rows=1e6, groups=1.0, batch=60.0))[-1:]
    at = replace(Load(rows=1e6, batch=60.0), groups=turn.at)
    ways = {way.name: way.cost for way in Ways(plan, odd).all(at)}
    assert turn.what == "groups"
    assert min(ways.values()) < ways[SHARED]


def test_what_two_queries_share_is_split_and_what_is_theirs_is_not():
    plan = plan_of(windowed("SUM(qty)", (10, 10)), windowed("SUM(qty), MAX(price)", (10, 10)))
    cost = Priced.of(plan, SHIPPED, Load()).cost()
    mine, other = (cost.queries[name][Level.AGGREGATE] for name in ("q0", "q1"))
    cells = Priced.of(plan, SHIPPED, Load()).cells(0)
    by_row = 10_000 * SHIPPED.by_columns * SHIPPED.partial[Kind.EXTREME]
    assert other - mine == pytest.approx(by_row + cells * SHIPPED.made_part)


def levels_of(*texts, load=Load()):  # noqa: B008  frozen
    return Priced.of(plan_of(*texts), SHIPPED, load).cost().levels


def test_queries_that_ask_the_same_are_answered_once_and_each_is_written():
    one, other = windowed("MAX(price) AS m", (60, 1)), windowed("MAX(price) AS top", (60, 1))
    alone, both = levels_of(one), levels_of(one, other)
    assert both[Level.FINAL] == pytest.approx(alone[Level.FINAL])
    assert both[Level.OUTPUT] == pytest.approx(2 * alone[Level.OUTPUT])
    cost = Priced.of(plan_of(one, other), SHIPPED, Load()).cost()
    assert cost.of("q0") == pytest.approx(cost.of("q1"))


def test_each_by_itself_is_answered_by_itself():
    one = windowed("MAX(price)", (60, 1))
    assert ways_of(plan_of(one, one))[NO_SHARE].cost == pytest.approx(2 * sum(levels_of(one).values()))


def test_another_select_list_or_having_is_another_thing_to_answer():
    one = windowed("MAX(price)", (60, 1))
    alone = levels_of(one)[Level.FINAL]
    for other in (windowed("MAX(price) * 2", (60, 1)), f"{one} HAVING MAX(price) > 1"):
        assert levels_of(one, other)[Level.FINAL] > 1.5 * alone


@pytest.mark.parametrize("where", ["venue = 'v{}'", "price > {}", "price > {} AND qty > 3"])
def test_those_that_ask_the_same_of_other_groups_ask_for_windows_once(where):
    """Of one group each, it is only the asking that costs anything."""
    texts = [windowed("MAX(price)", (60, 1), where=where.format(at)) for at in range(20)]
    plan, few = plan_of(*texts), Load(groups=1.0, distinct={"venue": 20.0})
    assert plan.taps[0].picks
    one = Priced.of(some_taps(plan, plan.taps[:1]), SHIPPED, few).cost().levels
    assert Priced.of(plan, SHIPPED, few).cost().levels[Level.FINAL] < 1.5 * one[Level.FINAL]


def test_those_of_which_the_first_rows_are_wanted_ask_one_by_one():
    wheres = [f"venue = 'v{at}'" for at in range(20)]
    texts = [f"{windowed('MAX(price) AS m', (60, 1), where=each)} ORDER BY m LIMIT 3" for each in wheres]
    plan, few = plan_of(*texts), Load(groups=1.0, distinct={"venue": 20.0})
    assert plan.taps[0].picks
    one = Priced.of(some_taps(plan, plan.taps[:1]), SHIPPED, few).cost().levels
    assert Priced.of(plan, SHIPPED, few).cost().levels[Level.FINAL] > 15 * one[Level.FINAL]


def test_files_that_are_read_by_columns_cost_less_than_rows_from_spark():
    plan = plan_of(windowed("SUM(qty)", (10, 1)))
    rows = replace(plan.stream, statement=replace(plan.stream.statement, format="kafka"))
    by_columns, by_row = (
        Priced.of(each, SHIPPED, Load()).cost().levels[Level.READ]
        for each in (plan, replace(plan, stream=rows))
    )
    assert by_columns == pytest.approx(SHIPPED.by_columns * by_row)


def test_cells_are_never_more_than_rows_nor_than_places():
    plan = plan_of(windowed("SUM(qty)", (10, 1)))
    assert Priced.of(plan, SHIPPED, Load(rows=5.0, groups=1e6)).cells(0) == pytest.approx(5.0, rel=1e-3)
    assert Priced.of(plan, SHIPPED, Load(rows=1e9, groups=50.0)).cells(0) == pytest.approx(100.0)


def test_what_rows_leave_occupied():
    assert occupied(10.0, 1e9) == pytest.approx(10.0)
    assert occupied(1e9, 10.0) == pytest.approx(10.0)
    assert occupied(0.0, 10.0) == 0.0


@pytest.mark.parametrize(
    ("aggregate", "kind"),
    [
        ("COUNT(qty)", Kind.COUNT),
        ("SUM(qty)", Kind.SUM),
        ("SUM(CAST(price AS DECIMAL(38, 2)))", Kind.SUM),
        ("SUM(price)", Kind.FLOAT),
        ("MIN(price)", Kind.EXTREME),
        ("MIN(venue)", Kind.RANKED),
        ("MAX_BY(price, venue)", Kind.RANKED),
        ("VAR_POP(price)", Kind.MOMENTS),
        ("FIRST(price)", Kind.PAIR),
    ],
)
def test_kinds_of_partials(aggregate, kind):
    plan = plan_of(windowed(aggregate, (10, 1)))
    assert kind_of(plan.feeds[0].partials[plan.taps[0].finals[0].partials[0]]) is kind


def test_constants_are_kept_and_those_of_another_version_are_not_read():
    kept = replace(SHIPPED, origin="measured").to_json()
    assert Constants.from_json(kept) == replace(SHIPPED, origin="measured")
    assert Constants.from_json(kept | {"version": 0}) is None
    assert Constants.from_json({name: value for name, value in kept.items() if name != "row"}) is None


@pytest.mark.parametrize("where", ["venue = 'v{}'", "price > {}", "price > {} AND qty > 3"])
def test_rows_of_answers_are_as_many_whatever_queries_pick_by(where):
    """Of keys that they do not show they pick some groups, and combine these."""
    texts = [windowed("MAX(price)", (60, 1), where=where.format(at)) for at in range(20)]
    plan = plan_of(*texts)
    assert plan.taps[0].picks
    load = Load(rows=1e6, distinct={"symbol": 100.0, "venue": 50.0}, rows_by="measured")
    answers = Priced.of(plan, SHIPPED, load).answers()
    assert answers == pytest.approx(dict.fromkeys(answers, 100.0))


def test_a_load_that_was_counted_and_one_that_was_given():
    plan = plan_of(windowed("COUNT(DISTINCT qty), COUNT(*)", (10, 1)), windowed("COUNT(*)", (10, 1), "venue"))
    counted = Load(counted={("symbol",): 7.0, ("qty", "symbol"): 30.0}, groups_by="measured")
    groups = {tuple(key.sql for key in feed.keys): counted.groups_of(feed) for feed in plan.feeds}
    assert groups == {("symbol",): 7.0, ("symbol", "qty"): 30.0, ("venue",): 100.0}
    given_ = Loads({"trades": counted}).given(rows=None, groups=9.0).of("trades")
    assert {given_.groups_of(feed) for feed in plan.feeds} == {9.0, 90.0}
    assert (given_.groups_by, given_.rows_by) == ("given", "assumed")
    assert Loads({"trades": counted}).of("others") == Load()


def test_shared_is_chosen_unless_another_way_costs_clearly_less():
    """Cells that are dear make it better to fold those of each query by itself."""
    plan = plan_of(windowed("MAX(price)", (60, 60)), windowed("MAX(qty)", (1, 1), "venue"))
    dear, load = replace(SHIPPED, batch=0.0, step=0.0, cell=1e-2), Load(rows=1e6, groups=1e4, batch=60.0)
    assert Ways(plan, SHIPPED).chosen(load).name == SHARED
    apart = Ways(plan, dear).chosen(load)
    assert apart.cost < 0.95 * ways_of(plan, load, dear)[SHARED].cost
    assert [[tap.query.name for tap in group.taps] for group in apart.plans] == [["q0"], ["q1"]]


def test_woven_ways_have_groups_even_where_one_would_be_best():
    ways = Ways(plan_of(windowed("SUM(qty)", (60, 7)), windowed("SUM(qty)", (60, 11))), SHIPPED)
    assert [(way.name, way.groups) for way in ways.woven(Load())] == [(WEAVE, 2), (TRIWEAVE, 2)]
    assert ways.chosen(Load()).plans[0].taps == ways.all(Load())[1].plans[0].taps


def test_rows_of_a_group_with_few_edges_are_cut_there_and_nowhere_else():
    """Sixteen windows of odd lengths are cut by their common divisor; eight of them at their own edges."""
    plan = plan_of(*(windowed("MAX(price)", (1001 + at, 401 + 2 * at)) for at in range(16)))
    assert plan.edges.combined
    (weave, _) = Ways(plan, replace(SHIPPED, row=0.0, key=0.0)).woven(Load())
    small = [group for group in weave.plans if len(group.taps) <= 8]
    assert small
    assert not any(group.edges.combined for group in small)


def test_a_matrix_costs_for_its_empty_places_and_a_list_does_not():
    plan = plan_of(windowed("SUM(qty)", (10, 1)))

    def folding(rows: float, place: float) -> float:
        constants = replace(SHIPPED, place=dict.fromkeys(Kind, place))
        return Priced.of(plan, constants, Load(rows=rows, groups=100.0)).cost().levels[Level.FOLD]

    few, fewer = 20.0, 2.0  # rows a slice: of a hundred groups, 18 and 2 are in each
    partials = len(plan.feeds[0].partials)
    assert folding(few, 1e-6) - folding(few, 0.0) == pytest.approx(partials * 82e-6, rel=0.25)
    assert folding(fewer, 1e-6) == folding(fewer, 0.0)


def test_a_query_costs_for_each_kind_of_partials_it_asks_for():
    def answering(*items: str) -> float:
        cost = Priced.of(plan_of(windowed(", ".join(items), (8, 1))), SHIPPED, Load(groups=1.0)).cost()
        return cost.levels[Level.FINAL]

    one, same, other = (
        answering("MAX(qty)"),
        answering("MAX(qty)", "MIN(qty)"),
        answering("MAX(qty)", "AVG(qty)"),
    )
    assert same - one < SHIPPED.called[Kind.EXTREME]
    assert other - one > SHIPPED.called[Kind.SUM]


@ANY_NUMBER
@given(st.lists(queries, min_size=2, max_size=8, unique=True), loads)
def test_no_way_costs_less_than_what_it_must_at_the_least(texts, load):
    ways = Ways(plan_of(*texts), SHIPPED)
    least = ways._least(load)
    found = [next(way for way in ways.all(load) if way.name == NO_SHARE), *ways.woven(load)]
    assert all(least[way.name] <= way.cost * (1 + 1e-9) for way in found)


@ANY_NUMBER
@given(st.lists(queries, min_size=2, max_size=8, unique=True), loads, st.sampled_from([1.0, 1e3]))
def test_what_is_chosen_is_the_cheapest_of_all_ways_or_as_good(texts, load, dearer):
    """Ways that cannot win are not worked out, and which those are makes no difference."""
    constants = replace(SHIPPED, fold={kind: dearer * each for kind, each in SHIPPED.fold.items()})
    ways = Ways(plan_of(*texts), constants)
    found = ways.all(load)
    shared, best = found[1], min(found, key=lambda way: way.cost)
    expected = best if best.cost < 0.85 * shared.cost else shared
    assert ways.chosen(load).cost == pytest.approx(expected.cost)


def test_queries_are_moved_about_where_that_makes_groups_cheaper():
    """Classes that meet late in the history may belong to the groups of others: fifteen odd windows."""
    odd = [(1000 + 37 * at, 300 + 7 * at) for at in range(15)]
    groupings = Ways(plan_of(*(windowed("MAX(price)", each) for each in odd)), SHIPPED)._groupings
    moved = [
        count
        for count in groupings.counts
        if {group.readers.everyone for group in groupings.of(count)}
        != {group.readers.everyone for group in groupings.polished(count)}
    ]
    assert moved
    for count in groupings.counts:
        names = [name for group in groupings.polished(count) for name in group.readers.everyone]
        assert sorted(names) == sorted(f"q{at}" for at in range(15))
