"""Walking, rewriting, labelling and checking plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.unit.plan.programs import WINDOW, aggregate_of, query
from weft.errors import Bug
from weft.lang.parse import parse_expression
from weft.plan.check import check
from weft.plan.nodes import Aggregate, Filter, Named, Plan, Project, Scan, Top, Window
from weft.plan.pattern import Pattern, pattern
from weft.plan.tree import children, fingerprint, rewrite_up, schema, walk

SELECT = f"""SELECT symbol, COUNT(*) AS n FROM trades {WINDOW} WHERE price > 5 GROUP BY symbol
             HAVING n > 3 ORDER BY n"""


@pytest.fixture
def plan() -> Plan:
    return query(SELECT).plan


def test_walk_goes_from_the_top_down(plan: Plan) -> None:
    assert [type(node) for node in walk(plan)] == [Project, Top, Filter, Aggregate, Filter, Window, Scan]


def test_rewriting_nothing_returns_the_same_object(plan: Plan) -> None:
    assert rewrite_up(plan, lambda node: node) is plan


def test_rewriting_sees_those_below_first(plan: Plan) -> None:
    seen: list[type] = []
    rewrite_up(plan, lambda node: (seen.append(type(node)), node)[1])
    assert seen == [type(node) for node in walk(plan)][::-1]


def test_rewriting_the_leaf_keeps_the_rest(plan: Plan) -> None:
    changed = rewrite_up(plan, lambda node: replace(node, stream="other") if isinstance(node, Scan) else node)
    assert [type(node) for node in walk(changed)] == [type(node) for node in walk(plan)]
    assert list(walk(changed))[-1].stream == "other"  # type: ignore[union-attr]


def test_schema(plan: Plan) -> None:
    assert [(c.name, c.type) for c in schema(plan)] == [
        ("window_start", "timestamp"), ("window_end", "timestamp"), ("symbol", "string"), ("n", "bigint"),
    ]  # fmt: skip
    assert [column.name for column in schema(aggregate_of(plan))] == [
        "window_start",
        "window_end",
        "_k0",
        "_a0",
    ]


def test_fingerprints_are_equal_where_plans_are(plan: Plan) -> None:
    assert fingerprint(plan) == fingerprint(query("\n" + SELECT).plan)
    assert fingerprint(plan) != fingerprint(query(SELECT.replace("> 5", "> 6")).plan)


def test_patterns(plan: Plan) -> None:
    labels = {type(node): pattern(node) for node in walk(plan)}
    assert labels[Window] is Pattern.WEAKEST
    assert labels[Scan] is labels[Aggregate] is labels[Project] is labels[Top] is Pattern.MONOTONIC
    below = aggregate_of(plan).source
    assert isinstance(below, Filter)
    assert pattern(below) is Pattern.WEAKEST
    assert Pattern.MONOTONIC < Pattern.WEAKEST < Pattern.WEAK < Pattern.STRICT


def test_a_bound_plan_is_sound(plan: Plan) -> None:
    check(plan)
    check(query("SELECT * FROM trades WHERE live").plan)


def without(plan: Plan, kind: type) -> Plan:
    return rewrite_up(plan, lambda node: children(node)[0] if isinstance(node, kind) else node)


def with_predicate(plan: Plan, text: str) -> Plan:
    return rewrite_up(
        plan,
        lambda node: replace(node, predicate=parse_expression(text)) if isinstance(node, Filter) else node,
    )


def with_count(plan: Plan, **changes: str) -> Plan:
    """The plan with its one aggregate changed."""
    return rewrite_up(
        plan,
        lambda node: (
            replace(node, aggregations=(replace(node.aggregations[0], **changes),))
            if isinstance(node, Aggregate)
            else node
        ),
    )


def with_items(plan: Plan, *items: Named) -> Plan:
    assert isinstance(plan, Project)
    return replace(plan, items=(*plan.items, *items))


def only_window(plan: Plan) -> Plan:
    assert isinstance(plan, Project)
    return replace(plan, items=plan.items[:2])


def with_slide(plan: Plan, slide: int) -> Plan:
    return rewrite_up(
        plan,
        lambda node: (
            replace(node, window=replace(node.window, slide=slide)) if isinstance(node, Window) else node
        ),
    )


SPOILERS: dict[str, Callable[[Plan], Plan]] = {
    "the one Project stands on top": lambda plan: children(plan)[0],
    "an aggregate has one window": lambda plan: without(plan, Window),
    "columns that are not below it": lambda plan: with_predicate(plan, "nothing > 5"),
    "is no condition": lambda plan: with_predicate(plan, "window_start"),
    "is there twice": lambda plan: with_items(plan, Named("n", parse_expression("_a0"), None)),
    "not the text of its tree": lambda plan: with_items(
        plan, Named("x", replace(parse_expression("_a0"), sql="_k0"), None)
    ),
    "there is no aggregate cuont": lambda plan: with_count(plan, function="cuont"),
    "sum has 1 arguments": lambda plan: with_count(plan, function="sum"),
    "aggregates are numbered": lambda plan: with_count(
        only_window(without(without(plan, Top), Filter)), name="_a1"
    ),
    "above zero": lambda plan: with_slide(plan, 0),
}


@pytest.mark.parametrize("why", SPOILERS)
def test_unsound_plans_are_bugs(plan: Plan, why: str) -> None:
    spoilt = SPOILERS[why](plan)
    with pytest.raises(Bug, match=why):
        check(spoilt)
