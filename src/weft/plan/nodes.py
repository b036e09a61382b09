"""The logical plan of one query: frozen nodes in a closed union.

    Top <- Project <- Filter (HAVING) <- Aggregate <- Window <- Filter (WHERE) <- Scan
    Project <- Filter <- Scan                                            a standing filter

Below an Aggregate expressions speak of the stream's columns by their declared names. Above it they speak of
the group keys as `_k0, _k1, ...`, of the aggregates as `_a0, _a1, ...` and of `window_start`, `window_end`;
with grouping sets also of GROUPING of each key, `_g0, _g1, ...`, and of GROUPING_ID, `_gid`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weft.errors import Place
from weft.lang.statements import (
    CreateQuery,
    CreateRelation,
    CreateStream,
    CreateTable,
    CreateView,
    Expr,
    OrderKey,
    Sink,
    WindowSpec,
)
from weft.times import Duration

if TYPE_CHECKING:
    from weft.plan.relations import Relation


@dataclass(frozen=True, slots=True)
class Column:
    """A typed column; `type` is Spark's simple name in lower case, or None where only Spark can tell."""

    name: str
    type: str | None


@dataclass(frozen=True, slots=True)
class Named:
    """An expression and the name and type of the column it makes."""

    name: str
    expr: Expr
    type: str | None


@dataclass(frozen=True, slots=True)
class Aggregation:
    """One aggregate call, normalised.

    `function` is one of FUNCTIONS. FIRST and LAST carry no second argument: they order by event time.
    `params` holds the constant arguments: the percentage (or a tuple of them) and the accuracy of
    approx_percentile, the relative standard deviation of approx_count_distinct.
    """

    name: str  # `_a0`
    function: str
    args: tuple[Expr, ...] = ()
    filter: Expr | None = None
    params: tuple[float | int | tuple[float, ...], ...] = ()
    ignore_nulls: bool = False
    arg_types: tuple[str | None, ...] = ()
    type: str | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


FUNCTIONS = (
    "count_star", "count", "sum", "avg", "min", "max",
    "var_pop", "var_samp", "stddev_pop", "stddev_samp",
    "bool_and", "bool_or", "min_by", "max_by", "first", "last",
    "count_distinct", "approx_count_distinct", "approx_percentile",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows of a stream as they come."""

    stream: str
    columns: tuple[Column, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which `predicate` is true."""

    source: Plan
    predicate: Expr
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Window:
    """The rows of the window as of each of its ends."""

    source: Plan
    window: WindowSpec
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One row per window and group; columns `window_start, window_end, _k0.., _a0..`.

    With `sets` rows are grouped by each of them, told by the places of its keys; other keys are null there.
    """

    source: Plan
    keys: tuple[Named, ...]  # named `_k0, _k1, ...`
    aggregations: tuple[Aggregation, ...]
    sets: tuple[tuple[int, ...], ...] = ()  # none: all keys, and nothing to tell sets by
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Project:
    """The columns the query asked for; above an Aggregate `window_start, window_end` come first."""

    source: Plan
    items: tuple[Named, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Top:
    """Per window the first `limit` rows in `order` (all rows when None); ties go by the group keys.

    It stands between the Filter (or Aggregate) and the Project, so that it may order by what is not shown.
    """

    source: Plan
    order: tuple[OrderKey, ...]
    limit: int | None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Related:
    """What a query over several sources asks for: a relation that changes over time (`plan.relations`)."""

    relation: Relation


Plan = Scan | Filter | Window | Aggregate | Project | Top | Related


@dataclass(frozen=True, slots=True)
class Query:
    """A bound query: its plan and what was asked beside it."""

    name: str
    plan: Plan
    sink: Sink | None
    emit_empty: bool
    fail_on_error: bool
    retain: Duration | None
    statement: CreateQuery | CreateRelation = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Stream:
    """A bound stream: every column typed (computed ones where it can be told without Spark)."""

    name: str
    columns: tuple[Column, ...]
    statement: CreateStream


@dataclass(frozen=True, slots=True)
class Flow:
    """What a table is made of whose rows are changes: as of `t` the last row of each key with `ts <= t`.

    Of several with equal times the one that came last counts. Where `delete` is true of it, its key has none.
    """

    stream: str
    key: tuple[str, ...]
    delete: Expr | None


@dataclass(frozen=True, slots=True)
class Table:
    """A bound table; without `flow` it is read from a batch source."""

    name: str
    columns: tuple[Column, ...]
    statement: CreateTable
    flow: Flow | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """All that a program declares, bound; queries in the order they were written."""

    streams: tuple[Stream, ...]
    queries: tuple[Query, ...]
    tables: tuple[Table, ...] = ()
    views: tuple[CreateView, ...] = ()

    def stream(self, name: str) -> Stream:
        return next(stream for stream in self.streams if stream.name == name)
