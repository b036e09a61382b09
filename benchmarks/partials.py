"""Slices, panes and windows as SQL that Spark and DuckDB both read: what an expert would write by hand.

    rows -> slices of one second by key -> panes, as long as the slide -> windows, each a run of panes

A row is added to one slice, a slice to one pane for each distinct slide, a pane to range/slide windows. To
expand panes and not slices is what makes this fast: of a window of 600 s every 60 s it copies 10 rows a key
and minute, not 600. What a query's condition reads must be a column of the slices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.programs import WindowQuery

COMBINE = {"COUNT": "SUM", "SUM": "SUM", "MIN": "MIN", "MAX": "MAX"}


@dataclass(frozen=True, slots=True)
class Family:
    """Queries that share panes: the same slide, condition and grouping."""

    slide: int
    where: str
    keyed: bool
    queries: tuple[WindowQuery, ...]

    @property
    def ranges(self) -> tuple[int, ...]:
        return tuple(sorted({query.range for query in self.queries}))


def families(queries: Sequence[WindowQuery]) -> list[Family]:
    """The queries by what they share, in the order in which they come."""
    found: dict[tuple[int, str, bool], list[WindowQuery]] = {}
    for query in queries:
        found.setdefault((query.slide, query.where, query.keyed), []).append(query)
    return [Family(*shared, tuple(members)) for shared, members in found.items()]


def partials(queries: Sequence[WindowQuery]) -> list[tuple[str, str]]:
    """Function and column of each partial that some query needs, none twice."""
    needed = {("COUNT", "*"): None}
    for query in queries:
        if query.function != "COUNT":
            needed[("SUM" if query.function == "AVG" else query.function), query.column] = None
    return list(needed)


def lift(queries: Sequence[WindowQuery]) -> str:
    """The partials of rows."""
    return ", ".join(f"{f}({column}) AS {name(f, column)}" for f, column in partials(queries))


def combine(queries: Sequence[WindowQuery]) -> str:
    """The partials of partials."""
    return ", ".join(f"{COMBINE[f]}({name(f, c)}) AS {name(f, c)}" for f, c in partials(queries))


def final(query: WindowQuery) -> str:
    """The answer from partials."""
    if query.function == "AVG":
        return f"CAST({name('SUM', query.column)} AS DOUBLE) / n"
    return f"CAST({name(query.function, query.column)} AS DOUBLE)"


def name(function: str, column: str) -> str:
    return "n" if function == "COUNT" else f"{function.lower()}_{column}"


def panes(family: Family, slices: str, since: int | None = None) -> str:
    """The panes of a family; `since` is the least second that matters."""
    key = "key" if family.keyed else "CAST(0 AS BIGINT) AS key"
    conditions = [family.where] if family.where else []
    conditions += [f"second >= {since}"] if since is not None else []
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return (
        f"SELECT {key}, second - second % {family.slide} AS pane, {combine(family.queries)} "
        f"FROM {slices}{where} GROUP BY 1, 2"
    )


def in_values(spans: Sequence[tuple[int, int]]) -> str:
    """The spans as a table joined to every pane."""
    return f"CROSS JOIN (VALUES {', '.join(map(str, spans))}) AS spans(width, shift)"


def in_array(spans: Sequence[tuple[int, int]]) -> str:
    """The spans as an array unfolded beside every pane: in Spark a quarter cheaper than the join."""
    return f"LATERAL VIEW inline(array({', '.join(map(str, spans))})) AS width, shift"


def answers(
    family: Family,
    slices: str,
    *,
    after: int | None = None,
    until: int | None = None,
    unfold: Callable[[Sequence[tuple[int, int]]], str] = in_values,
) -> str:
    """`query, window_end, key, value` of the windows that end past `after` and not past `until`.

    A span is the width of a window and how far behind the start of a pane it ends.
    """
    spans = [(width, shift) for width in family.ranges for shift in _steps(family.slide, width)]
    bounds = [f"pane + shift > {after}"] if after is not None else []
    bounds += [f"pane + shift <= {until}"] if until is not None else []
    where = f" WHERE {' AND '.join(bounds)}" if bounds else ""
    finals = sorted({final(query) for query in family.queries})
    asked = [f"('{query.name}', {query.range}, {finals.index(final(query))})" for query in family.queries]
    value = " ".join(f"WHEN {number} THEN {text}" for number, text in enumerate(finals))
    since = None if after is None else after - family.ranges[-1]
    return (
        f"SELECT query, window_end, key, CASE final {value} END AS value FROM ("
        f"SELECT width, pane + shift AS window_end, key, {combine(family.queries)} "
        f"FROM ({panes(family, slices, since)}) AS panes {unfold(spans)}{where} GROUP BY 1, 2, 3"
        f") AS windows JOIN (VALUES {', '.join(asked)}) AS asked(query, range, final) ON width = range"
    )


def _steps(slide: int, width: int) -> range:
    """Where the windows end that a pane belongs to, from its start."""
    return range(slide, width + 1, slide)
