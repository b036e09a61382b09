"""Parts of plan nodes as text."""

from __future__ import annotations

from weft.lang.statements import OrderKey
from weft.plan.nodes import Aggregation, Named

WIDE = 100  # a longer node is spread over lines, one part each


def show_aggregation(made: Aggregation) -> str:
    """`sum(price * qty) where side = 'BUY'`."""
    args = ", ".join(arg.sql for arg in made.args)
    params = "".join(f", {param}" for param in made.params)
    nulls = " ignore nulls" if made.ignore_nulls else ""
    where = f" where {made.filter.sql}" if made.filter is not None else ""
    calls = {"count_star": "count(*)", "count_distinct": f"count(distinct {args})"}
    return calls.get(made.function, f"{made.function}({args}{params})") + nulls + where


def show_named(named: Named) -> str:
    """`n = _a0`, or the name alone where it says all."""
    return named.name if named.name == named.expr.sql else f"{named.name} = {named.expr.sql}"


def show_order_key(key: OrderKey) -> str:
    """`price desc nulls first`."""
    direction = " desc" if key.descending else ""
    usual = key.nulls_first is not key.descending
    nulls = "" if usual else f" nulls {'first' if key.nulls_first else 'last'}"
    return f"{key.expr.sql}{direction}{nulls}"
