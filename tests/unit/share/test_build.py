"""What queries share: partials, feeds, and what is combined from what."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from weft.kernels.orders import Ranked, order_of
from weft.lang.parse import parse_program
from weft.optimize.pipeline import optimize_program
from weft.plan.bind import bind_program
from weft.share import predicates
from weft.share.build import build
from weft.share.explain import explain_program
from weft.share.model.readers import aggregated
from weft.share.nodes import Op
from weft.times import SECOND

STREAM = """
CREATE STREAM trades (symbol STRING, venue STRING, price DOUBLE, qty BIGINT, size INT, ts TIMESTAMP)
  TIMESTAMP BY ts DELAY 1 SECOND FROM parquet OPTIONS ('path' = 'trades');
"""


def program(*queries):
    text = STREAM + "".join(f"CREATE QUERY q{at} AS {query};\n" for at, query in enumerate(queries))
    return optimize_program(bind_program(parse_program(text)))


def plan_of(*queries):
    return build(program(*queries)).stream("trades")


def picks_by(plan):
    """By which keys each query of a plan picks its groups."""
    return {
        tap.query.name: tuple(stream.feeds[tap.feed].keys[pick.place].sql for pick in tap.picks)
        for stream in plan.streams
        for tap in stream.taps
    }


def keys(plan):
    return [tuple(key.sql for key in feed.keys) for feed in plan.feeds]


WINDOW = "[RANGE 10 SECONDS SLIDE 5 SECONDS]"


def test_average_shares_its_sum_and_its_count():
    plan = plan_of(
        f"SELECT symbol, AVG(price) FROM trades {WINDOW} GROUP BY symbol",
        f"SELECT symbol, SUM(price), COUNT(price) FROM trades {WINDOW} GROUP BY symbol",
    )
    mine, other = ({partial for _, partial in aggregated(plan, tap)} for tap in plan.taps)
    assert mine == other
    assert {partial.op for partial in mine} == {Op.COUNT, Op.SUM_FLOAT}
    assert len(plan.feeds[0].partials) == 3  # rows, prices, their sum


def test_a_predicate_written_in_another_order_is_the_same_predicate():
    plan = plan_of(
        f"SELECT COUNT(*) FROM trades {WINDOW} WHERE qty > 1 AND symbol = 'A'",
        f"SELECT COUNT(*) FROM trades {WINDOW} WHERE symbol = 'A' AND 1 < qty",
    )
    assert len(plan.feeds) == 1
    assert len(plan.feeds[0].partials) == 1


def test_group_keys_in_another_order_are_one_feed_and_each_query_finds_its_own():
    plan = plan_of(
        f"SELECT symbol, venue, COUNT(*) FROM trades {WINDOW} GROUP BY symbol, venue",
        f"SELECT venue, symbol, COUNT(*) AS n FROM trades {WINDOW} GROUP BY venue, symbol ORDER BY n LIMIT 3",
    )
    assert keys(plan) == [("symbol", "venue")]
    assert [tap.keys for tap in plan.taps] == [(0, 1), (1, 0)]


def test_a_coarser_feed_is_combined_from_a_finer_one_that_then_holds_its_partials():
    plan = plan_of(
        f"SELECT symbol, MAX(price) FROM trades {WINDOW} GROUP BY symbol",
        f"SELECT symbol, venue, COUNT(*) FROM trades {WINDOW} GROUP BY symbol, venue",
        f"SELECT SUM(qty) FROM trades {WINDOW}",
    )
    coarse, fine, whole = plan.feeds
    assert (coarse.parent, fine.parent, whole.parent) == (1, None, 1)
    assert set(coarse.partials) | set(whole.partials) <= set(fine.partials)
    assert plan.roots == (1,)


def test_a_distinct_count_is_combined_from_a_feed_that_has_its_value_as_a_key():
    plan = plan_of(
        f"SELECT venue, COUNT(DISTINCT symbol) FROM trades {WINDOW} GROUP BY venue",
        f"SELECT symbol, venue, COUNT(*) FROM trades {WINDOW} GROUP BY symbol, venue",
    )
    extra = next(feed for feed in plan.feeds if feed.extra)
    assert [key.sql for key in extra.keys] == ["venue", "symbol"]
    assert not plan.feeds[extra.parent].extra


def test_nothing_is_combined_from_a_feed_with_an_extra_key_but_its_like():
    plan = plan_of(f"SELECT venue, COUNT(DISTINCT qty), SUM(price) FROM trades {WINDOW} GROUP BY venue")
    assert [feed.parent for feed in plan.feeds] == [None, None]


@pytest.mark.parametrize(
    ("type_", "arrow"),
    [("int", pa.int32()), ("bigint", pa.int64()), ("double", pa.float64()), ("boolean", pa.bool_()),
     ("date", pa.date32()), ("timestamp", pa.timestamp("us")), ("decimal(18,2)", pa.decimal128(18, 2)),
     ("decimal(19,2)", pa.decimal128(19, 2)), ("string", pa.string()), ("binary", pa.binary())],
)  # fmt: skip
@pytest.mark.parametrize(
    "call", ["MIN({})", "MAX({})", "FIRST({})", "LAST({})", "MIN_BY({}, qty)", "MAX_BY(qty, {})"]
)
def test_what_explain_says_is_ranked_is_what_the_kernels_rank(type_, arrow, call):
    plan = plan_of(f"SELECT {call.format(f'CAST(venue AS {type_})')} FROM trades {WINDOW}")
    ranked = isinstance(order_of(arrow), Ranked)
    assert plan.taps[0].finals[0].method == ("ranked" if ranked else "dyadic")


def test_sums_are_exact_by_type():
    plan = plan_of(
        f"SELECT SUM(size), SUM(qty), SUM(price), SUM(CAST(price AS DECIMAL(10,2))) FROM trades {WINDOW}"
    )
    ops = [partial.op for partial in plan.feeds[0].partials]
    assert ops == [Op.COUNT, Op.SUM_DECIMAL, Op.SUM_FLOAT, Op.SUM_LONG, Op.SUM_INT]
    assert [final.method for final in plan.taps[0].finals] == ["prefix", "dyadic", "prefix", "prefix"]


def test_decimals_whose_sum_may_have_more_than_38_digits_are_summed_in_two_parts():
    for type_, op in {"28,28": Op.SUM_DECIMAL, "29,0": Op.SUM_WIDE, "38,38": Op.SUM_WIDE}.items():
        plan = plan_of(f"SELECT SUM(CAST(price AS DECIMAL({type_}))) FROM trades {WINDOW}")
        assert [partial.op for partial in plan.feeds[0].partials] == [Op.COUNT, op]
        assert [final.method for final in plan.taps[0].finals] == ["prefix"]


def test_a_row_on_which_an_expression_fails_is_kept_out_of_that_query_alone():
    plan = plan_of(
        f"SELECT SUM(qty div size) FROM trades {WINDOW}",
        f"SELECT COUNT(*) FROM trades {WINDOW}",
    )
    assert [guard.query for guard in plan.guards] == ["q0"]
    failing, well = plan.taps
    assert plan.feeds[0].partials[failing.present].where is not None
    assert plan.feeds[0].partials[well.present].where is None


def test_a_filter_guards_the_argument_of_its_aggregate():
    plan = plan_of(f"SELECT SUM(qty div size) FILTER (WHERE size <> 0) FROM trades {WINDOW}")
    (guard,) = plan.guards
    assert guard.fails.sql.startswith("size <> 0 AND ")


def test_only_the_columns_that_are_needed_are_read():
    plan = plan_of(f"SELECT symbol, COUNT(*) FROM trades {WINDOW} WHERE size > 1 GROUP BY symbol")
    assert plan.columns == ("symbol", "size", "ts")


def test_columns_whose_values_several_queries_ask_for_are_told():
    def asked(*wheres):
        return plan_of(*(f"SELECT COUNT(*) FROM trades {WINDOW} WHERE {where}" for where in wheres)).asked

    assert asked("symbol = 'A'", "symbol = 'B'", "venue = 'X' AND price > 1", "qty > 5") == ("symbol",)
    assert asked("symbol = 'A' AND venue = 'X'", "venue = 'Y' AND symbol = 'B'", "venue = 'Z'") == (
        "venue",
        "symbol",
    )
    many = [f"symbol = '{at}'" for at in range(predicates.MANY)]
    assert asked(*many) == ()  # a key by now
    assert set(asked(*(f"{one} AND size = {at}" for at, one in enumerate(many[:3])))) == {"symbol", "size"}
    grouped = f"SELECT venue, COUNT(*) FROM trades {WINDOW} GROUP BY venue"
    plan = plan_of(
        grouped, *(f"SELECT COUNT(*) FROM trades {WINDOW} WHERE venue = '{at}'" for at in range(2))
    )
    assert plan.asked == ()


def test_rows_no_query_wants_are_known_only_when_every_query_filters():
    some = plan_of(f"SELECT COUNT(*) FROM trades {WINDOW} WHERE size > 1")
    every = plan_of(
        f"SELECT COUNT(*) FROM trades {WINDOW} WHERE size > 1", f"SELECT COUNT(*) FROM trades {WINDOW}"
    )
    assert some.wanted.sql == "size > 1"
    assert every.wanted is None


def test_the_state_reaches_back_as_far_as_the_longest_window():
    plan = plan_of(
        f"SELECT COUNT(*) FROM trades {WINDOW}",
        "SELECT COUNT(*) FROM trades [RANGE 3 SECONDS SLIDE 9 SECONDS]",
    )
    assert plan.longest == 10 * SECOND


def test_a_query_without_window_or_aggregate_is_a_standing_filter():
    plan = plan_of("SELECT symbol, price * 2 AS twice FROM trades WHERE price > 1000")
    assert not plan.taps
    assert [standing.where.sql for standing in plan.standing] == ["price > 1000"]


def test_explain_says_with_whom_a_query_shares():
    text = explain_program(
        program(
            f"SELECT symbol, AVG(price) AS a FROM trades {WINDOW} GROUP BY symbol",
            "SELECT symbol, SUM(price) AS s FROM trades [RANGE 1 HOUR SLIDE 1 MINUTE] GROUP BY symbol",
        ),
        "q0",
    )
    assert "sum_float(price)  f0  shared with 1: q1" in text
    assert "count(price)      f0  this query alone" in text


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ("RANGE 15 SECONDS SLIDE 6 SECONDS", "a row stands in 2 to 3 windows"),
        ("RANGE 1 MINUTE SLIDE 6 SECONDS", "a row stands in 10 windows"),
        ("RANGE 1 MINUTE", "a row stands in 1 window and"),
        ("RANGE 5 SECONDS SLIDE 6 SECONDS", "a row stands in 0 to 1 windows"),
    ],
)
def test_explain_says_in_how_many_windows_a_row_stands(window, said):
    assert said in explain_program(program(f"SELECT COUNT(*) AS n FROM trades [{window}]"), "q0")


def test_queries_share_what_is_made_for_one_feed(monkeypatch):
    """The same count by other keys is another thing for every row; one that is combined from it is not."""
    monkeypatch.setattr(predicates, "MANY", 2)
    rules = [f"SELECT COUNT(*) AS n FROM trades {WINDOW} WHERE symbol = '{at}'" for at in range(3)]
    made = program(
        *rules,
        f"SELECT venue, COUNT(*) AS n FROM trades {WINDOW} GROUP BY venue",
        f"SELECT COUNT(*) AS n FROM trades {WINDOW}",
    )
    plan = build(made).stream("trades")
    assert keys(plan) == [("symbol",), ("venue",), ()]
    assert [feed.parent for feed in plan.feeds] == [None, None, 0]
    text = explain_program(made)
    assert "count(*)  f0  4" in text
    assert "count(*)  f1  1" in text
    assert "count(*)  f1  this query alone" in explain_program(made, "q3")
    assert "count(*)  f0  shared with 3: q0, q1, q2" in explain_program(made, "q4")
    told = json.loads(explain_program(made, format="json"))["shared"]["streams"][0]["readers"]
    assert [(each["feed"], each["queries"]) for each in told] == [
        ("f0", ["q0", "q1", "q2", "q4"]),
        ("f1", ["q3"]),
    ]


def test_explain_tells_the_plan_in_force_and_of_a_query_that_is_not_what_it_would_share():
    made = program(
        f"SELECT symbol, SUM(qty) FROM trades {WINDOW} GROUP BY symbol",
        f"SELECT SUM(qty) FROM trades {WINDOW}",
    )
    in_force = build(replace(made, queries=made.queries[:1]))
    assert "trades: 1 query," in explain_program(made, plan=in_force)
    assert "feed     f0 by symbol" in explain_program(made, "q0", plan=in_force)
    assert "sum_long(qty)  f0  shared with 1: q0" in explain_program(made, "q1", plan=in_force)


def test_coarser_sets_are_combined_from_the_finest():
    plan = plan_of(
        f"SELECT symbol, venue, SUM(qty) AS q FROM trades {WINDOW} GROUP BY ROLLUP (venue, symbol)"
    )
    assert keys(plan) == [("symbol", "venue"), ("venue",), ()]
    assert [feed.parent for feed in plan.feeds] == [None, 0, 0]
    assert [tap.keys for tap in plan.taps[0].sets] == [(1, 0), (0, None), (None, None)]
    assert len(plan.taps) == 1


def test_sets_share_the_feeds_of_queries_that_group_alike():
    alone = f"SELECT symbol, venue, SUM(qty) AS q FROM trades {WINDOW} GROUP BY symbol, venue"
    both = plan_of(alone, f"SELECT venue, SUM(qty) AS q FROM trades {WINDOW} GROUP BY CUBE (symbol, venue)")
    assert keys(both) == [("symbol", "venue"), ("symbol",), ("venue",), ()]
    assert both.roots == plan_of(alone).roots
    assert both.feeds[0].partials == plan_of(alone).feeds[0].partials


def test_a_set_that_is_there_twice_reads_one_feed():
    plan = plan_of(f"SELECT COUNT(*) AS n FROM trades {WINDOW} GROUP BY GROUPING SETS ((venue), (venue), ())")
    assert keys(plan) == [("venue",), ()]
    assert [tap.feed for tap in plan.taps[0].sets] == [0, 0, 1]


def test_what_is_counted_distinct_is_a_key_of_every_set():
    plan = plan_of(f"SELECT COUNT(DISTINCT qty) AS n FROM trades {WINDOW} GROUP BY ROLLUP (venue)")
    extra = [feed for feed in plan.feeds if feed.extra]
    assert [[key.sql for key in feed.keys] for feed in extra] == [["venue", "qty"], ["qty"]]
    assert extra[1].parent == plan.feeds.index(extra[0])
    assert [tap.finals[0].feed for tap in plan.taps[0].sets] == [plan.feeds.index(feed) for feed in extra]


def test_groups_are_picked_in_every_set(monkeypatch):
    monkeypatch.setattr(predicates, "MANY", 1)
    where = "WHERE symbol IN ('a', 'b')"
    plan = plan_of(f"SELECT COUNT(*) AS n FROM trades {WINDOW} {where} GROUP BY ROLLUP (symbol, venue)")
    assert [(feed.keys[-feed.inner :] if feed.inner else (), len(feed.keys)) for feed in plan.feeds] == [
        ((), 2),
        ((), 1),
        ((plan.feeds[2].keys[0],), 1),
    ]
    places = [plan.feeds[tap.feed].keys[tap.picks[0].place].sql for tap in plan.taps[0].sets]
    assert places == ["symbol", "symbol", "symbol"]


def test_sets_are_told_by_explain():
    made = program(f"SELECT venue, COUNT(*) AS n FROM trades {WINDOW} GROUP BY ROLLUP (venue, symbol)")
    text = str(explain_program(made, "q0"))
    assert "(venue, symbol)  f0 by symbol, venue, from rows" in text
    assert "()               f2 by nothing (one group), combined from f0" in text
    assert "f0, f1, f2" in str(explain_program(made))
    told = json.loads(explain_program(made, format="json"))["shared"]["streams"][0]["queries"][0]
    assert told["sets"][1] == {"keys": "(venue)", "feed": "f1"}


@pytest.mark.parametrize(
    ("items", "grouped", "partials"),
    [
        ("COUNT(*) AS n", "BY symbol", 1),
        (
            "AVG(price) AS a, SUM(price) AS s, COUNT(price) AS n",
            "BY symbol",
            3,
        ),  # and how many rows there are
        ("SUM(qty) AS s", "BY ROLLUP (symbol, venue)", 2),
        ("SUM(qty) AS s", "BY GROUPING SETS ((symbol), (venue))", 4),
        ("COUNT(DISTINCT qty) AS n, COUNT(*) AS m", "BY symbol", 2),
    ],
)
def test_a_query_by_itself_would_keep_each_partial_once(items, grouped, partials):
    """As many as are in its plan, whoever else is there."""
    one = f"SELECT {items} FROM trades {WINDOW} GROUP {grouped}"
    other = f"SELECT symbol, venue, qty, MAX(price) AS m FROM trades {WINDOW} GROUP BY symbol, venue, qty"
    alone = build(program(one)).saving
    assert (alone.partials_apart, alone.partials_shared) == (partials, partials)
    assert build(program(other, one)).saving.partials_apart == partials + 2


def test_a_query_that_picks_groups_would_ask_rows_by_itself(monkeypatch):
    monkeypatch.setattr(predicates, "MANY", 1)
    made = program(f"SELECT COUNT(*) AS n, SUM(qty) AS s FROM trades {WINDOW} WHERE symbol = 'a'")
    assert build(made).saving.partials_apart == 2


def test_each_set_would_be_work_of_its_own_without_sharing():
    saving = build(program(f"SELECT COUNT(*) AS n FROM trades {WINDOW} GROUP BY ROLLUP (symbol)")).saving
    assert (saving.queries, saving.row_updates_apart, saving.row_updates_shared) == (1, 4.0, 1.0)
