"""What a query over several sources says, as frozen values: joins, set operations, EXISTS, subqueries.

    SELECT x.id FROM sent [RANGE 1 MINUTE] x JOIN acks [RANGE 1 MINUTE] y ON x.id = y.id     a Picking
    SELECT id FROM sent [RANGE 1 MINUTE] EXCEPT SELECT id FROM acks [RANGE 1 MINUTE]         a Combining

A query over one stream that groups its windows, or passes rows on as they come, is a `Select`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from weft.errors import Place
from weft.lang.statements import Expr, Item, OrderKey
from weft.times import Duration


class JoinKind(StrEnum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"


class SetKind(StrEnum):
    UNION = "union"
    EXCEPT = "except"
    INTERSECT = "intersect"


class Emission(StrEnum):
    """What of a relation that changes is told."""

    LIVES = "lives"  # every row once, with when it begins to hold and when it ends
    ISTREAM = "istream"  # rows that are there and were not the instant before
    DSTREAM = "dstream"  # rows that were there the instant before and are not
    RSTREAM = "rstream"  # all rows that are there
    WSTREAM = "wstream"  # rows as they are made, each for a given time
    CHANGES = "changes"  # inserts and retractions, early


@dataclass(frozen=True, slots=True)
class Span:
    """A window over a source: as of `t` the rows of `(t - range, t]`; all up to `t` where `range` is None.

    With `slide` the query is answered as of each `e = offset (mod slide)`, without it as of every instant.
    `internal`: it bounds what is held, but what came out of it stays.
    """

    range: Duration | None
    slide: Duration | None = None
    offset: Duration = 0
    internal: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FromName:
    """A stream, a table or a view; `nonretroactive` is written behind a table, True, False or not at all."""

    name: str
    span: Span | None = None
    alias: str | None = None
    nonretroactive: bool | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FromBody:
    """A subquery in FROM; with a `span` it is a window over the rows it gives."""

    body: Body
    span: Span | None = None
    alias: str | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FromJoin:
    """Two sources side by side; without `on` and `using` every pair. A comma is an inner join."""

    kind: JoinKind
    left: From
    right: From
    on: Expr | None = None
    using: tuple[str, ...] = ()
    place: Place | None = field(default=None, compare=False, repr=False)


From = FromName | FromBody | FromJoin


@dataclass(frozen=True, slots=True)
class Exists:
    """`[NOT] EXISTS (body)`; with `operand` it is `operand [NOT] IN (body)`: one conjunct of WHERE."""

    body: Body
    negated: bool = False
    operand: Expr | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Output:
    """`SELECT ISTREAM(...)`; WSTREAM has a window behind it."""

    emission: Emission
    span: Span | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Picking:
    """A SELECT over a relation."""

    items: tuple[Item, ...]
    source: From
    where: Expr | None = None  # without the conjuncts that are in `exists`
    exists: tuple[Exists, ...] = ()
    group_by: tuple[Expr, ...] = ()
    having: Expr | None = None
    order_by: tuple[OrderKey, ...] = ()
    limit: int | None = None
    distinct: bool = False
    output: Output | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Combining:
    """`left UNION [ALL] right` and the like; columns are matched by position and named as on the left."""

    kind: SetKind
    all: bool
    left: Body
    right: Body
    place: Place | None = field(default=None, compare=False, repr=False)


Body = Picking | Combining
