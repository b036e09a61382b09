"""The rule `push_having_below_aggregate`."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from weft.lang.expressions import expr
from weft.optimize.conditions import bare_conjuncts, cannot_fail, conjoin
from weft.plan.nodes import Aggregate, Filter, Plan
from weft.plan.tree import schema


def push_having_below_aggregate(plan: Plan) -> Plan:
    """A condition on group keys alone is checked on the rows: groups it would drop are never made.

        Filter _k0 = 'A' AND _a0 > 9 <- Aggregate by _k0 = symbol <- trades
            becomes    Filter _a0 > 9 <- Aggregate by _k0 = symbol <- Filter symbol = 'A' <- trades

    All rows of a group agree on its keys, so a group is present above exactly if it was before. A condition
    that could fail stays, as it would fail on rows instead of answers; so does one that names no key, which
    speaks of all groups and also of empty windows, and one on a key that a grouping set leaves out, where it
    is null whatever the rows say.
    """
    match plan:
        case Filter(source=Aggregate() as aggregate, predicate=predicate):
            parts = bare_conjuncts(predicate)
            down = [part for part in parts if _speaks_of_keys_only(part, aggregate)]
            if not down:
                return plan
            rows = [_in_terms_of_rows(part, aggregate) for part in down]
            below = Filter(aggregate.source, conjoin(rows, predicate), plan.place)
            stays = [part for part in parts if part not in down]
            filtered = replace(aggregate, source=below)
            return replace(plan, source=filtered, predicate=conjoin(stays, predicate)) if stays else filtered
        case _:
            return plan


def _speaks_of_keys_only(part: exp.Expr, aggregate: Aggregate) -> bool:
    names = {column.name for column in part.find_all(exp.Column)}
    types = {column.name: column.type for column in schema(aggregate)}
    return bool(names) and names <= _always_there(aggregate) and cannot_fail(part, types)


def _always_there(aggregate: Aggregate) -> set[str]:
    """The keys that are in every grouping set."""
    return {key.name for at, key in enumerate(aggregate.keys) if all(at in each for each in aggregate.sets)}


def _in_terms_of_rows(part: exp.Expr, aggregate: Aggregate) -> exp.Expr:
    keys = {key.name: key.expr.tree for key in aggregate.keys}
    row = part.transform(lambda node: keys[node.name].copy() if isinstance(node, exp.Column) else node)
    return expr(row).tree
