"""A plan as text: one line a node, the last first, each ending in its update pattern.

    Project window_start, window_end, symbol = _k0, n = _a0    monotonic
      Aggregate by _k0 = symbol: _a0 = count(*)                monotonic
        Window 1 min every 10 s                                weakest
          Scan trades (symbol)                                 monotonic

Above an aggregate, `_k0` is its first group key and `_a0` its first aggregate; with grouping sets `_g0` is
GROUPING of that key and `_gid` GROUPING_ID.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from weft.lang.statements import OrderKey, WindowSpec
from weft.plan.nodes import Aggregate, Aggregation, Filter, Named, Plan, Project, Related, Scan, Top, Window
from weft.plan.pattern import pattern
from weft.plan.tree import children
from weft.times import show_duration

_WIDE = 100  # a longer node is spread over lines, one part each


def show(plan: Plan) -> str:
    lines = list(_lines(plan, 0))
    width = max(len(text) for text, label in lines if label)
    return "\n".join(f"{text:{width}}    {label}" if label else text for text, label in lines)


def _lines(plan: Plan, depth: int) -> Iterator[tuple[str, str]]:
    indent, label = "  " * depth, str(pattern(plan))
    head, parts = _parts(plan)
    whole = indent + show_node(plan)
    if len(whole) <= _WIDE:
        yield whole, label
    else:
        yield indent + head, label
        yield from ((f"{indent}    {part}", "") for part in parts)
    for child in children(plan):
        yield from _lines(child, depth + 1)


def show_node(plan: Plan) -> str:
    """The node itself, in one line, without what is below it."""
    head, parts = _parts(plan)
    between = ": " if isinstance(plan, Aggregate) else " "
    return head + (between + ", ".join(parts) if parts else "")


def _parts(plan: Plan) -> tuple[str, list[str]]:
    """What the node is, and what it makes."""
    match plan:
        case Scan(stream=stream, columns=columns):
            return f"Scan {stream} ({', '.join(column.name for column in columns)})", []
        case Filter(predicate=predicate):
            return f"Filter {predicate.sql}", []
        case Window(window=window):
            return f"Window {show_window(window)}", []
        case Aggregate(keys=keys, aggregations=aggregations, sets=sets):
            by = f" by {', '.join(map(_show_named, keys))}" if keys else ""
            shown = [f"set ({', '.join(f'_k{at}' for at in each)})" for each in sets]
            shown += [f"{made.name} = {show_aggregation(made)}" for made in aggregations]
            return f"Aggregate{by}", shown
        case Project(items=items):
            return "Project", [_show_named(item) for item in items]
        case Top(order=order, limit=limit):
            by = f" by {', '.join(map(_show_order_key, order))}" if order else ""
            return f"Top {limit if limit is not None else 'all'}{by}", []
        case Related():
            return "Related", []
        case _:
            assert_never(plan)


def show_window(window: WindowSpec) -> str:
    """`5 min every 10 s`, `1 h tumbling`, `1 min every 1 h offset 5 s`."""
    tumbling = window.slide == window.range
    every = "tumbling" if tumbling else f"every {show_duration(window.slide)}"
    offset = f" offset {show_duration(window.offset)}" if window.offset else ""
    return f"{show_duration(window.range)} {every}{offset}"


def show_aggregation(made: Aggregation) -> str:
    """`sum(price * qty) where side = 'BUY'`."""
    args = ", ".join(arg.sql for arg in made.args)
    params = "".join(f", {param}" for param in made.params)
    nulls = " ignore nulls" if made.ignore_nulls else ""
    where = f" where {made.filter.sql}" if made.filter is not None else ""
    calls = {"count_star": "count(*)", "count_distinct": f"count(distinct {args})"}
    return calls.get(made.function, f"{made.function}({args}{params})") + nulls + where


def _show_named(named: Named) -> str:
    return named.name if named.name == named.expr.sql else f"{named.name} = {named.expr.sql}"


def _show_order_key(key: OrderKey) -> str:
    direction = " desc" if key.descending else ""
    usual = key.nulls_first is not key.descending
    nulls = "" if usual else f" nulls {'first' if key.nulls_first else 'last'}"
    return f"{key.expr.sql}{direction}{nulls}"
