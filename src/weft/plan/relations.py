"""Relations that change over time: what a query over several sources means, as frozen nodes.

As of every instant `t` a relation is a bag of rows. A row of a stream is there for as long as it is in its
window, `ts <= t < ts + range`; what is made of rows is there as of `t` if SQL over what is there as of `t`
gives it. So every row has a *life*, `[valid_from, valid_to)`.

    Emitted <- Made <- Paired <- Rows      pairs of rows of two streams, each told once, with its life
                              <- Rows
    Emitted <- Made <- Grouped <- AsOf <- Whether <- Rows      counts of rows without a match, every 10 s
                                                  <- Rows

The columns of source 0 are named `_s0_price`, those of source 1 `_s1_price`, whatever alias they have: equal
relations are equal values, and are kept once. A subquery's columns become those of its source number.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.errors import Place
from weft.lang.bodies import Emission, JoinKind, SetKind
from weft.lang.statements import Expr, OrderKey
from weft.plan.nodes import Aggregation, Named
from weft.times import Duration


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a stream for which `where` is true, each from its event time on for `range`.

    `items` and `where` speak of the stream's own columns. `range` None: for ever. `by`: where relations lie
    in buckets, the expressions by whose hash a row does; a node has the same name wherever it lies.
    """

    stream: str
    items: tuple[Named, ...]
    where: Expr | None
    range: Duration | None
    internal: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)
    by: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Entries:
    """The rows of a table for which `where` is true; `items` and `where` speak of its own columns.

    Retroactive: as of `t` those of the version in force at `t`. Otherwise it can only be paired with rows of
    a stream, each of which sees the version in force at its own time, for as long as it lives. A table that
    is made of the changes of a `stream` has no versions: as of `t` it is the last row of each key.
    """

    table: str
    items: tuple[Named, ...]
    where: Expr | None
    retroactive: bool
    stream: str | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Lasting:
    """The rows that `source` gives, each for `range` from when it begins to hold: a window over a result."""

    source: Relation
    range: Duration | None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Kept:
    """The rows for which `predicate` is true."""

    source: Relation
    predicate: Expr
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Made:
    """The columns `items`, over those of the source."""

    source: Relation
    items: tuple[Named, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Paired:
    """Pairs of rows that are there at the same time and for which `on` holds (None: all pairs).

    `kind` is inner, left, right or full; a row without a partner is paired with nulls for as long as it has
    none. SEMI and ANTI joins are `Whether`.
    """

    kind: JoinKind
    left: Relation
    right: Relation
    on: Expr | None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Whether:
    """The rows of `source` while `other` has a row for which `on` holds; `negated`: while it has none.

    `on` speaks of the columns of both; None: any row will do.
    """

    source: Relation
    other: Relation
    on: Expr | None
    negated: bool
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Distinct:
    """Each different row once, while there is any."""

    source: Relation
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Merged:
    """Two relations put together, by SQL's rules for bags (`all`) or sets; named as on the left."""

    kind: SetKind
    all: bool
    left: Relation
    right: Relation
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AsOf:
    """The rows that are there as of `e - 1 us`, for every `e = offset (mod slide)`.

    Their columns have `window_start, window_end` before them: `e - range` and `e`.
    """

    source: Relation
    slide: Duration
    offset: Duration
    range: Duration  # the longest of the windows below
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Grouped:
    """One row for each group: of each window where the source is AsOf, else for as long as its values hold.

    Columns `_k0.., _a0..`, after `window_start, window_end` above AsOf. Without keys there is one group, and
    no row while the source has none.
    """

    source: Relation
    keys: tuple[Named, ...]
    aggregations: tuple[Aggregation, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Leading:
    """Of each window the first `limit` rows in `order`; ties go by all columns of the source, in order."""

    source: Relation
    order: tuple[OrderKey, ...]
    limit: int
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ending:
    """The column of a relation that has the time of a row in an external window, and how long this is."""

    name: str
    range: Duration


@dataclass(frozen=True, slots=True)
class Emitted:
    """What is told of the relation, and so the columns of time that the answers begin with.

    LIVES        valid_from, valid_to    every row once; where other rows decide, valid_to is null
    ISTREAM      valid_from              DSTREAM   valid_to         at most one answer for each change
    RSTREAM      nothing                 what is below has window_start and window_end already
    CHANGES      change ('+' or '-'), changed_at

    Where some windows are internal and others are not, `ends` says when a row ends: the first of them; these
    columns are not told.
    """

    source: Relation
    emission: Emission
    place: Place | None = field(default=None, compare=False, repr=False)
    ends: tuple[Ending, ...] = ()


Relation = (
    Rows | Entries | Lasting | Kept | Made | Paired | Whether | Distinct | Merged | AsOf | Grouped | Leading
    | Emitted
)  # fmt: skip
