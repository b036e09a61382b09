"""The rule `drop_true_filter`."""

from __future__ import annotations

from weft.plan.nodes import Filter, Plan


def drop_true_filter(plan: Plan) -> Plan:
    """A filter that keeps every row is none.

        Filter TRUE <- trades    becomes    trades

    FALSE stays: the query is answered, with nothing.
    """
    match plan:
        case Filter(source=source, predicate=predicate) if predicate.sql == "TRUE":
            return source
        case _:
            return plan
