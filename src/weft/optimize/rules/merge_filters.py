"""The rule `merge_filters`."""

from __future__ import annotations

from dataclasses import replace

from weft.optimize.conditions import bare_conjuncts, conjoin
from weft.plan.nodes import Filter, Plan


def merge_filters(plan: Plan) -> Plan:
    """Two filters in a row are one.

        Filter q <- Filter p <- trades    becomes    Filter p AND q <- trades

    The lower one stays in front, so that it still keeps rows from the upper one that would make it fail.
    """
    match plan:
        case Filter(source=Filter(source=source, predicate=first), predicate=second):
            both = conjoin([*bare_conjuncts(first), *bare_conjuncts(second)], first)
            return replace(plan, source=source, predicate=both)
        case _:
            return plan
