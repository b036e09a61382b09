"""What an aggregate needs of each row, under the names that the dialects find it by."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.nodes import Aggregation, Named


def wanted(keys: Sequence[Named], calls: Sequence[Aggregation]) -> dict[str, Expr]:
    """Keys, filters and arguments by name; where a filter is not true its argument is not evaluated."""
    made = {key.name: key.expr for key in keys}
    for call in calls:
        if call.filter is not None:
            made[filter_name(call)] = as_boolean(call.filter)
        for name, arg in zip(arg_names(call), call.args):
            made[name] = arg if call.filter is None else _where_true(call.filter, arg)
    return made


def arg_names(call: Aggregation) -> list[str]:
    return [f"_x{call.name}_{number}" for number in range(len(call.args))]


def filter_name(call: Aggregation) -> str:
    return f"_f{call.name}"


def as_boolean(condition: Expr) -> Expr:
    """The same: a column that is NULL alone would have no type, and be no filter."""
    return expr(exp.cast(condition.tree.copy(), "boolean"), condition.place)


def _where_true(condition: Expr, value: Expr) -> Expr:
    branch = exp.If(this=condition.tree.copy(), true=value.tree.copy())
    return expr(exp.Case(ifs=[branch]), value.place)
