"""The shared plan: what is computed once for all queries of a stream, and each query's tap into it.

    rows ─► slices (edges) ─► root feeds ─► derived feeds ─► taps, one per query
             level 1, Spark     level 1       level 2          level 3, windows

A *feed* is the table of partial aggregates by slice and group keys. Partials are named by their text, which
is the same in every plan that contains them: the durable state is keyed by it, so a plan may change under it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from weft.kernels.picks import Choice, Pick
from weft.lang.statements import Expr, WindowSpec
from weft.plan.nodes import Named, Project, Query, Stream
from weft.plan.relations import Relation
from weft.times import BEGINNING, Duration, Instant

if TYPE_CHECKING:
    from weft.share.relations.placing import Placing


class Op(StrEnum):
    """What a partial aggregates, and so how two of them combine."""

    COUNT = "count"  # rows whose argument is not null; without argument all rows
    SUM_INT = "sum_int"  # tinyint, smallint, int: the sum of any window fits 64 bits
    SUM_LONG = "sum_long"  # bigint: high and low halves summed apart, exact
    SUM_DECIMAL = "sum_decimal"  # up to 28 digits: exact, the sum of a slice has at most 38
    SUM_WIDE = "sum_wide"  # more digits: above and below 2^64 summed apart, exact
    SUM_FLOAT = "sum_float"  # float, double: never subtracted
    MIN = "min"
    MAX = "max"
    MOMENTS = "moments"  # count, mean, sum of squared distances from it
    FIRST = "first"  # the value at the least event time; the least of several
    LAST = "last"  # the value at the greatest event time; the greatest of several
    MIN_BY = "min_by"  # the value at the least `by`; the least of several
    MAX_BY = "max_by"


@dataclass(frozen=True, slots=True)
class Partial:
    """A partial aggregate: `op` of `arg` over the rows for which `where` is true (None: all)."""

    op: Op
    arg: Expr | None = None
    by: Expr | None = None
    where: Expr | None = None
    type: str | None = None  # of the argument
    by_type: str | None = None
    text: str = field(init=False, compare=False, repr=False)  # its name in the durable state

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self._text())

    def _text(self) -> str:
        args = ", ".join(part.sql for part in (self.arg, self.by) if part is not None) or "*"
        where = f" where {self.where.sql}" if self.where is not None else ""
        types = ", ".join(t for t in (self.type, self.by_type) if t)
        return f"{self.op}({args}){where}" + (f" : {types}" if types else "")


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happens, a second."""

    value: float
    exact: bool = True  # else estimated, from a sample


@dataclass(frozen=True, slots=True)
class Edges:
    """Where the time line is cut. A slice is named by its start.

    Uniform: every multiple of `grain`. Explicit: every `t` with `t = phase (mod slide)` for one of the pairs.
    Combined: batches are cut uniformly, and what is kept of them explicitly.
    """

    grain: Duration | None
    pairs: tuple[tuple[Duration, Duration], ...]  # (slide, phase), sorted, distinct
    reason: str
    combined: bool = False
    known: Rate | None = None  # of the slices that are kept, where it does not follow from the pairs

    @property
    def is_uniform(self) -> bool:
        """Are slices kept of every multiple of the grain?"""
        return self.grain is not None and not self.combined


@dataclass(frozen=True, slots=True)
class Feed:
    """Partials by slice and `keys`, combined from the finer feed `parent` (an index; None: a root).

    A feed with `extra` has one key more than its queries group by, the last: the value that is counted
    distinct, the register of a sketch, the bucket of a histogram. Queries that pick groups by several values
    of a key that they do not group by have that key among the last, `inner` ones: groups that differ only
    there are one for them, and stay together.
    """

    keys: tuple[Expr, ...]
    partials: tuple[Partial, ...]
    key_types: tuple[str | None, ...] = ()
    parent: int | None = None
    extra: bool = False
    inner: int = 0
    strand: int = 0
    edges: Edges | None = None  # where its slices are cut, if its strand is not the only one
    common: bool = False


@dataclass(frozen=True, slots=True)
class Final:
    """How one aggregate of a query comes out of a feed: `function` over `partials` (indexes into the feed).

    `feed` is the tap's own feed, or a feed with an extra key for distinct counts, sketches and percentiles;
    the first partial of such a feed counts the rows of each extra key.
    """

    name: str  # `_a0`
    function: str
    feed: int
    partials: tuple[int, ...]
    method: str  # prefix | dyadic | ranked | distinct: shown by explain
    type: str | None
    params: tuple[float | int | tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Tap:
    """One query: which windows of which feed, and what is made of them.

    A query with grouping sets has a tap for each; the first has the `others`, and stands for the query. One
    whose treatment was changed while it ran has the tap of the `earlier` one until its last window is
    answered.
    """

    query: Query
    window: WindowSpec
    feed: int
    present: int  # the partial that counts the rows passing WHERE
    keys: tuple[int | None, ...]  # for each group key of the query its place in the feed; None: left out
    finals: tuple[Final, ...]
    picks: tuple[Pick, ...] = ()  # which groups of the feed are the query's
    others: tuple[Tap, ...] = ()
    after: Instant = BEGINNING  # its windows start after that,
    until: Instant | None = None  # and not after this
    earlier: Tap | None = None

    @property
    def halves(self) -> tuple[Tap, ...]:
        """Those that answer windows of the query: this one, and the earlier as long as it does."""
        return (self,) if self.earlier is None else (self.earlier, self)

    @property
    def sets(self) -> tuple[Tap, ...]:
        """The taps of all grouping sets of the query; this one alone if it has none."""
        return (self, *self.others)

    @property
    def places(self) -> Iterator[tuple[int, int]]:
        """Feeds and places in them of the partials that it reads itself, without its other sets."""
        yield self.feed, self.present
        yield from ((final.feed, at) for final in self.finals for at in final.partials)

    @property
    def reads(self) -> set[int]:
        """The feeds that the query reads."""
        sets = [each for half in self.halves for each in half.sets]
        return {at for each in sets for at in (each.feed, *(final.feed for final in each.finals))}

    @property
    def grouped_by(self) -> tuple[int, ...]:
        """The places of the group keys in the feed, as far as the set has them."""
        return tuple(place for place in self.keys if place is not None)

    @property
    def fills(self) -> bool:
        """Does it answer for windows without rows as well? Only where no key is asked for."""
        return self.query.emit_empty and not self.grouped_by

    @property
    def choice(self) -> Choice | None:
        """The groups that the query picks, as the kernels know it; None: all, each by itself."""
        return Choice(self.picks, tuple(dict.fromkeys(self.grouped_by))) if self.picks else None


@dataclass(frozen=True, slots=True)
class Standing:
    """A standing filter: the rows for which `where` holds, projected, with the batch that brings them."""

    query: Query
    where: Expr | None

    @property
    def name(self) -> str:
        return self.query.name

    @property
    def items(self) -> tuple[Named, ...]:
        assert isinstance(self.query.plan, Project)
        return self.query.plan.items


@dataclass(frozen=True, slots=True)
class Intake:
    """The rows that relations are made of, those for which `where` holds, with the batch that brings them.

    Its columns are named by what they are computed from, so that a later plan finds them in older batches.
    """

    where: Expr | None
    items: tuple[Named, ...]
    name: str = ""  # no query has this name
    parted: tuple[tuple[str, ...], ...] = ()  # by what rows are kept apart for relations in buckets
    whole: bool = True  # they are wanted together as well


@dataclass(frozen=True, slots=True)
class Guard:
    """For one query: when true of a row, some expression of the query fails on it.

    Such a row is excluded from all partials of the query (their `where` says so), counted, and kept in the
    query's dead letters with `reason`.
    """

    query: str
    fails: Expr
    reason: str


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """All queries of one stream, woven together."""

    stream: Stream
    edges: Edges
    feeds: tuple[Feed, ...]
    taps: tuple[Tap, ...]
    standing: tuple[Standing, ...]
    guards: tuple[Guard, ...]
    wanted: Expr | None  # rows some aggregate query wants; None: all
    columns: tuple[str, ...]  # the source columns that any query needs, in declared order
    longest: Duration  # how far back the state must reach
    intake: Intake | None = None  # None: no relation is made of its rows
    asked: tuple[str, ...] = ()  # columns of which several queries ask for values, and that are no key

    @property
    def passing(self) -> tuple[Standing | Intake, ...]:
        """Whatever asks for single rows."""
        return (*self.standing, *([self.intake] if self.intake is not None else []))

    @property
    def halves(self) -> tuple[Tap, ...]:
        """All taps that answer windows."""
        return tuple(half for tap in self.taps for half in tap.halves)

    def root_of(self, feed: int) -> int:
        """The feed that it is combined from; itself, if it is made of rows."""
        parent = self.feeds[feed].parent
        return feed if parent is None else parent

    @property
    def roots(self) -> tuple[int, ...]:
        return tuple(i for i, feed in enumerate(self.feeds) if feed.parent is None)

    def derived(self, root: int) -> tuple[int, ...]:
        """The feeds that are combined from this one."""
        return tuple(i for i, feed in enumerate(self.feeds) if feed.parent == root)


@dataclass(frozen=True, slots=True)
class Woven:
    """A query over several sources: its relation, none of whose expressions over single rows can fail."""

    query: Query
    relation: Relation
    placing: Placing | None = field(default=None, compare=False)  # None: absence has but one place in it


@dataclass(frozen=True, slots=True)
class Saving:
    """What sharing saves, counted: the same work done once, against each query by itself."""

    queries: int
    partials_apart: int
    partials_shared: int
    row_updates_apart: float  # row updates per input row if each query ran by itself with `window()`
    row_updates_shared: float


@dataclass(frozen=True, slots=True)
class SharedPlan:
    streams: tuple[StreamPlan, ...]
    saving: Saving = field(default=Saving(0, 0, 0, 0.0, 0.0))
    related: tuple[Woven, ...] = ()

    def stream(self, name: str) -> StreamPlan:
        return next(plan for plan in self.streams if plan.stream.name == name)
