"""Update patterns: how the rows of a plan come and go.

After Golab, "Sliding Window Query Processing over Data Streams" (2006), section 3.5, with one departure.
There a group-by is always strict, as each new value of a group replaces the one before. Here an aggregate
says of which window it speaks: a row carries `window_end`, is given once when that window is complete, and
is never taken back. So the window is internal to it, and what comes out only ever grows.
"""

from __future__ import annotations

from typing import assert_never

from weft.plan.nodes import Aggregate, Filter, Plan, Project, Related, Scan, Top, Window
from weft.plan.relationpatterns import Pattern, relation_pattern

__all__ = ["Pattern", "pattern"]


def pattern(plan: Plan) -> Pattern:
    """The update pattern of the rows that the plan gives."""
    match plan:
        case Scan():
            return Pattern.MONOTONIC
        case Window(source=source):
            return max(pattern(source), Pattern.WEAKEST)
        case Filter(source=source) | Project(source=source):
            return pattern(source)
        case Aggregate():
            return Pattern.MONOTONIC
        case Top(source=source):
            # It chooses among the rows of one window, which come together.
            return pattern(source)
        case Related(relation=relation):
            return relation_pattern(relation)
        case _:
            assert_never(plan)
