"""Queries that ask the same, in whatever words: they are answered once, and each is given the answer.

    q1  SELECT venue, SUM(qty) AS total ... WHERE qty BETWEEN 1 AND 5 GROUP BY venue
    q2  SELECT venue, SUM(qty) AS q     ... WHERE 5 >= qty AND qty >= 1 GROUP BY venue

The rules of the optimizer bring conditions, keys and aggregates into one form; what is left to look at here
is whether plans that are equal up to the names of their columns read the same of their feed.
"""

from __future__ import annotations

from collections.abc import Hashable

from weft.share.nodes import StreamPlan, Tap
from weft.share.parts import parts

Asked = tuple[Hashable, ...]


def asked(tap: Tap) -> Asked:
    """What a query asks, whichever groups it picks and whatever it calls its columns."""
    taken = parts(tap.query)
    top = None if taken.top is None else (taken.top.order, taken.top.limit)
    items = tuple((item.expr, item.type) for item in taken.items)
    read = tuple((each.feed, each.present, each.keys, each.finals) for each in tap.sets)
    return (tap.window, read, tap.query.emit_empty, taken.having, top, items)


def among(tap: Tap) -> Hashable:
    """The same for all that are answered together, of those who ask the same.

    They may pick any groups; but where the first rows are wanted, or there are grouping sets, the same ones.
    """
    choice = tap.choice
    if choice is None:
        return None
    taken = parts(tap.query)
    has_first = taken.top is not None and taken.top.limit is not None
    has_sets = taken.aggregate is not None and bool(taken.aggregate.sets)
    return choice if has_first or has_sets else "any"


def same_as(plan: StreamPlan) -> dict[str, str]:
    """By query the first one that asks the same of the same groups, where that is another."""
    first: dict[Asked, str] = {}
    found = {}
    for tap in plan.taps:
        name = first.setdefault((*asked(tap), frozenset(tap.picks)), tap.query.name)
        if name != tap.query.name:
            found[tap.query.name] = name
    return found
