"""Update patterns: how the rows of a plan come and go.

After Golab, "Sliding Window Query Processing over Data Streams" (2006), section 3.5, with one departure.
There a group-by is always strict, as each new value of a group replaces the one before. Here an aggregate
says of which window it speaks: a row carries `window_end`, is given once when that window is complete, and
is never taken back. So the window is internal to it, and what comes out only ever grows.
"""

from __future__ import annotations

from enum import IntEnum
from typing import assert_never

from weft.plan.nodes import Aggregate, Filter, Plan, Project, Scan, Top, Window


class Pattern(IntEnum):
    """From the simplest to the hardest to keep state for."""

    MONOTONIC = 0  # rows come and stay
    WEAKEST = 1  # rows leave in the order they came
    WEAK = 2  # when a row leaves is known when it comes
    STRICT = 3  # rows leave when another row says so

    def __str__(self) -> str:
        return self.name.lower()


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
        case _:
            assert_never(plan)
