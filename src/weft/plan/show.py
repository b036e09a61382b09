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

from weft.lang.statements import WindowSpec
from weft.plan.nodes import Aggregate, Filter, Plan, Project, Related, Scan, Top, Window
from weft.plan.pattern import pattern
from weft.plan.relationshow import relation_lines, show_relation_node
from weft.plan.shownparts import WIDE, show_aggregation, show_named, show_order_key
from weft.plan.tree import children
from weft.times import show_duration


def show(plan: Plan) -> str:
    lines = list(_lines(plan, 0))
    width = max(len(text) for text, label in lines if label)
    return "\n".join(f"{text:{width}}    {label}" if label else text for text, label in lines)


def _lines(plan: Plan, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(plan, Related):
        yield from relation_lines(plan.relation, depth)
        return
    indent, label = "  " * depth, str(pattern(plan))
    head, parts = _parts(plan)
    whole = indent + show_node(plan)
    if len(whole) <= WIDE:
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
            by = f" by {', '.join(map(show_named, keys))}" if keys else ""
            shown = [f"set ({', '.join(f'_k{at}' for at in each)})" for each in sets]
            shown += [f"{made.name} = {show_aggregation(made)}" for made in aggregations]
            return f"Aggregate{by}", shown
        case Project(items=items):
            return "Project", [show_named(item) for item in items]
        case Top(order=order, limit=limit):
            by = f" by {', '.join(map(show_order_key, order))}" if order else ""
            return f"Top {limit if limit is not None else 'all'}{by}", []
        case Related(relation=relation):
            return show_relation_node(relation), []
        case _:
            assert_never(plan)


def show_window(window: WindowSpec) -> str:
    """`5 min every 10 s`, `1 h tumbling`, `1 min every 1 h offset 5 s`."""
    tumbling = window.slide == window.range
    every = "tumbling" if tumbling else f"every {show_duration(window.slide)}"
    offset = f" offset {show_duration(window.offset)}" if window.offset else ""
    return f"{show_duration(window.range)} {every}{offset}"
