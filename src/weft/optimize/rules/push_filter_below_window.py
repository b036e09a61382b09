"""The rule `push_filter_below_window`."""

from __future__ import annotations

from dataclasses import replace

from weft.plan.nodes import Filter, Plan, Window


def push_filter_below_window(plan: Plan) -> Plan:
    """Filter before the window, so that no row is kept only to be dropped.

        Filter p <- Window 5 min <- trades    becomes    Window 5 min <- Filter p <- trades

    A filter above an aggregate is HAVING and stays: it speaks of answers.
    """
    match plan:
        case Filter(source=Window(source=source) as window):
            return replace(window, source=replace(plan, source=source))
        case _:
            return plan
