"""One query: plan -> cheaper plan that gives the same rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from weft.errors import Bug, WeftError
from weft.lang.patterns import Filled
from weft.optimize.patterns import Optimized, filled_in, optimized
from weft.optimize.relations import normalise
from weft.optimize.rules.drop_true_filter import drop_true_filter
from weft.optimize.rules.fold_constants import fold_constants
from weft.optimize.rules.list_equalities import list_equalities
from weft.optimize.rules.merge_filters import merge_filters
from weft.optimize.rules.number_aggregates import number_aggregates
from weft.optimize.rules.orient_comparisons import orient_comparisons
from weft.optimize.rules.prune_columns import prune_columns
from weft.optimize.rules.push_filter_below_window import push_filter_below_window
from weft.optimize.rules.push_having_below_aggregate import push_having_below_aggregate
from weft.optimize.rules.push_not_down import push_not_down
from weft.optimize.rules.settle_lists import settle_lists
from weft.optimize.rules.sort_operands import sort_operands
from weft.optimize.rules.split_between import split_between
from weft.plan.check import check
from weft.plan.nodes import Plan, Program, Query, Related, Window
from weft.plan.tree import over, rewrite_up, schema, walk

Rule = Callable[[Plan], Plan]

RULES: tuple[Rule, ...] = (
    fold_constants,  # first: the others see fewer and simpler conditions
    split_between,  # before NOT is pushed into what it becomes
    push_not_down,
    push_having_below_aggregate,  # before merging: what it pushes down meets WHERE there
    push_filter_below_window,
    merge_filters,
    drop_true_filter,
    number_aggregates,  # before sorting what is said of them
    list_equalities,  # before lists are put in order
    settle_lists,
    orient_comparisons,
    sort_operands,  # after all that changes the text, which it goes by
    prune_columns,  # last: others free columns
)

_MOST_ROUNDS = 20


def optimize_program(program: Program) -> Program:
    """The program with every query optimized; those that differ in their windows and constants alone, once.

    For no rule looks at how long a window is, and hardly one at a constant.
    """
    known: dict[tuple[object, ...], Plan | Optimized | None] = {}
    return replace(
        program, queries=tuple(replace(query, plan=_known(query.plan, known)) for query in program.queries)
    )


def _known(plan: Plan, known: dict[tuple[object, ...], Plan | Optimized | None]) -> Plan:
    parts, where = _parts(plan), filled_in(plan)
    if parts not in known:
        known[parts] = optimize_plan(plan) if where is None else optimized(plan, where, optimize_plan)
    match known[parts]:
        case None:
            made = optimize_plan(plan)
        case Optimized() as found:
            assert where is not None
            made = found.fill(where)
        case found:
            made = found
    window = next((node.window for node in walk(plan) if isinstance(node, Window)), None)
    return made if window is None else over(made, window)


def optimize(query: Query) -> Query:
    """The query with every rule applied until none has anything left to do."""
    return replace(query, plan=optimize_plan(query.plan))


def _parts(plan: Plan) -> tuple[object, ...]:
    """What tells a plan from others that are alive, window and constants aside: the objects it is made of."""
    found: list[object] = []
    for node in walk(plan):
        found.append(type(node))
        if not isinstance(node, Window):
            found += [_id(getattr(node, name)) for name in node.__slots__ if name not in ("source", "place")]
    return tuple(found)


def _id(part: object) -> int:
    return id(part.pattern if isinstance(part, Filled) else part)


def optimize_plan(plan: Plan, rules: tuple[Rule, ...] = RULES) -> Plan:
    if isinstance(plan, Related):
        return Related(normalise(plan.relation))
    for _ in range(_MOST_ROUNDS):
        before = plan
        for rule in rules:
            plan = _apply(rule, plan)
        if plan is before:
            return plan
    raise Bug("endless-rules", f"the rules did not come to rest in {_MOST_ROUNDS} rounds")


def _apply(rule: Rule, plan: Plan) -> Plan:
    """The plan after one rule, found sound and with the same columns; the same object if nothing changed."""
    changed = rewrite_up(plan, rule)
    if changed is plan:
        return plan
    try:
        check(changed, plan)
    except WeftError as error:
        raise Bug("unsound-rule", f"rule {rule.__name__} broke a plan: {error.what}") from error
    if schema(changed) != schema(plan):
        raise Bug("unsound-rule", f"rule {rule.__name__} changed the columns of a plan")
    return changed
