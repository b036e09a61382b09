"""The newest answers of some queries, read from the result store as they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from weft.engine.status import Status
from weft.lang.statements import CreateQuery
from weft.log.paths import AnyPath
from weft.plan.nodes import Program, Project, Query, Related
from weft.plan.relationtree import columns
from weft.results import Dataset, last, store, version
from weft.terminal.board import Tick
from weft.times import Instant

READS = 6  # queries looked up at a time: reading must not slow down what it reports on
ROWS = 200  # rows looked at: the groups of the last window, or some of them
_TIMES = ("valid_from", "valid_to", "changed_at")


@dataclass(frozen=True, slots=True)
class Watched:
    """A query on the board: the columns that name a group, and whether the rows of a window are in order.

    `times`: of a relation, the columns that say when a row begins to hold, or ends.
    """

    name: str
    keys: tuple[str, ...]
    ranked: bool
    times: tuple[str, ...] = ()


def spread(program: Program, first: Sequence[str], most: int) -> tuple[Watched, ...]:
    """The queries to watch: those named `first`, then others, evenly spread over the program.

    Queries whose answers go elsewhere come last: there is nothing to read of them.
    """
    by_name = {query.name: query for query in sorted(program.queries, key=lambda one: one.sink is not None)}
    names = [name for name in first if name in by_name][:most]
    others = [name for name in by_name if name not in names]
    room = min(most - len(names), len(others))
    names += [others[at * len(others) // room] for at in range(room)]
    return tuple(_watched(by_name[name]) for name in names)


def _watched(query: Query) -> Watched:
    items = query.plan.items if isinstance(query.plan, Project) else ()
    keys = tuple(
        item.name for item in items if item.expr.sql.startswith("_k") and item.expr.sql[2:].isdigit()
    )
    ordered = isinstance(query.statement, CreateQuery) and bool(query.statement.select.order_by)
    return Watched(query.name, keys, ordered, _times(query))


def _times(query: Query) -> tuple[str, ...]:
    match query.plan:
        case Related(relation):
            return tuple(column.name for column in columns(relation) if column.name in _TIMES)
        case _:
            return ()


@dataclass(slots=True)
class Ticker:
    """Keeps a tick for each watched query, and reads a few whose files have changed whenever it is asked."""

    home: AnyPath
    watched: tuple[Watched, ...]
    _ticks: dict[str, Tick] = field(default_factory=dict)
    _read: dict[str, tuple[str, int]] = field(
        default_factory=dict
    )  # the newest file and its version, as read
    _next: int = 0

    def ticks(self, status: Status) -> tuple[Tick, ...]:
        versions = {query.name: query.version for query in status.queries}
        reads = 0
        for _ in self.watched:
            one = self.watched[self._next]
            self._next = (self._next + 1) % len(self.watched)
            if one.name in versions:
                reads += self._look(one, store(self.home, one.name, versions[one.name]))
            if reads == READS:
                break
        return tuple(self._ticks.get(one.name, Tick(one.name)) for one in self.watched)

    def _look(self, one: Watched, dataset: Dataset) -> bool:
        """Read the newest answers unless they are the ones read before; says whether it did."""
        files = dataset.files()
        if not files:
            return False
        newest_file = files[-1].name, version(files[-1])
        if self._read.get(one.name) == newest_file:
            return False
        found = last(dataset, ROWS)
        if found is not None and found.num_rows:
            self._ticks[one.name] = newest(one, found, self._ticks.get(one.name))
            self._read[one.name] = newest_file
        return True


def newest(one: Watched, answers: pa.Table, before: Tick | None) -> Tick:
    """One row of the last window: the group shown before if it is there, else (or of a ranking) the first.

    Without windows it is the last row.
    """
    at: Instant | None
    if "window_end" in answers.column_names:
        ends = answers.column("window_end")
        answers = answers.filter(pc.equal(ends, ends[-1]))
        at = ends[-1].cast(pa.timestamp("us", "UTC")).value
    else:
        answers = answers.slice(answers.num_rows - 1)
        at = answers.column(one.times[0])[0].cast(pa.timestamp("us", "UTC")).value if one.times else None
    rows = answers.to_pylist()
    row = next((r for r in rows if before and not one.ranked and _group(one, r) == before.group), rows[0])
    hidden = {"window_start", "window_end", *one.keys, *one.times}
    values = tuple((name, _value(value)) for name, value in row.items() if name not in hidden)
    return Tick(one.name, at, _group(one, row), values, _trend(before, _group(one, row), values))


def _group(one: Watched, row: dict[str, Any]) -> str:
    return " ".join(_value(row[key]) for key in one.keys if key in row)


def _trend(before: Tick | None, group: str, values: tuple[tuple[str, str], ...]) -> int:
    if before is None or before.group != group or not before.values or not values:
        return 0
    try:
        was, now = (float(one[0][1].replace(",", "")) for one in (before.values, values))
    except ValueError:
        return 0
    return (now > was) - (now < was)


def _value(value: Any) -> str:
    """Short, for the board: six significant digits of a fraction."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int():
            return f"{value:,}"
        case float() | Decimal():
            number = float(value)
            return f"{number:,.2f}" if abs(number) >= 1000 else f"{number:.6g}"
        case datetime():
            return value.strftime("%H:%M:%S")
        case list():
            return "[" + " ".join(map(_value, value)) + "]"
        case _:
            return str(value)
