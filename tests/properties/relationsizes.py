"""What random queries over several windows are made of, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class Sizes:
    """What part of the queries has what; what is 0 here is in no query that is not asked for it."""

    sources: tuple[int, ...] = (1, 2, 2, 2, 3)
    slide: float = 0.2
    set_operation: float = 0.3
    absence: float = 0.35
    grouped: float = 0.25
    distinct: float = 0.2
    subquery: float = 0.15
    unbounded: float = 0.04
    outer: float = 1.0  # of the joins that may be
    table: float = 0.0  # of the sources that may be one
    view: float = 0.0  # of the subqueries
    bare: float = 0.0  # subqueries without a window, where the query slides
    values: float = 0.0  # subqueries that aggregate, with a window over their values
    internal: float = 0.0
    wstream: float = 0.0  # of those without SLIDE
    changes: float = 0.0  # of those without SLIDE
    output: float = 0.0  # ISTREAM and DSTREAM of what slides or is DISTINCT
    first: float = 0.0  # ORDER BY and LIMIT, of those with SLIDE


EVERYTHING = Sizes(
    subquery=0.25, table=0.2, view=0.4, bare=0.4, values=0.3, internal=0.12, wstream=0.08, changes=0.12,
    output=0.4, first=0.3,
)  # fmt: skip


class Inside(Enum):
    """Which windows of a query are INTERNAL."""

    NONE = 0
    ALL = 1
    BELOW = 2  # those of subqueries that have a window over them
    SOME = 3
