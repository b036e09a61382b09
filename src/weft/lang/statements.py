"""The statements of a weft program, as frozen values.

Places and original text do not take part in equality: two statements that say the same are equal,
wherever they were written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from weft.errors import Place, QueryError
from weft.times import DAY, Duration

if TYPE_CHECKING:
    from weft.lang.bodies import Body


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """A scalar expression: its canonical Spark SQL, and the tree it was printed from.

    The tree is never changed in place; work on `tree.copy()`.
    """

    sql: str
    tree: exp.Expression = field(repr=False)
    place: Place | None = field(default=None, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self.sql == other.sql

    def __hash__(self) -> int:
        return hash(self.sql)


class LaterExpr(Expr):
    """An expression of which it is known what it says; tree and place are found when they are asked for."""

    __slots__ = ("_find",)
    _find: Callable[[], Expr | None]

    def __init__(self, sql: str, find: Callable[[], Expr | None]) -> None:
        object.__setattr__(self, "sql", sql)
        object.__setattr__(self, "_find", find)

    @property
    def _found(self) -> Expr:
        found = self._find()
        assert found is not None
        return found

    @property
    def tree(self) -> exp.Expression:
        return self._found.tree

    @property
    def place(self) -> Place | None:
        return self._found.place

    def __reduce__(self) -> tuple[type[Expr], tuple[object, ...]]:
        return Expr, (self.sql, self.tree, self.place)


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """For every end `e` with `e = offset (mod slide)`: the rows with `e - range <= ts < e`."""

    range: Duration
    slide: Duration
    offset: Duration = 0
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ColumnDef:
    """A declared column: read from the source with `type`, or computed from others by `expr`."""

    name: str
    type: (
        str | None
    )  # Spark's simple name in lower case: `bigint`, `decimal(10,2)`; None for a computed column
    expr: Expr | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CreateStream:
    name: str
    columns: tuple[ColumnDef, ...]
    time_column: str
    delay: Duration
    format: str
    options: tuple[tuple[str, str], ...] = ()
    idle_after: Duration | None = None
    max_ahead: Duration | None = DAY  # None: off
    keep_late: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)
    time_place: Place | None = field(default=None, compare=False, repr=False)  # of the name in TIMESTAMP BY
    source_place: Place | None = field(default=None, compare=False, repr=False)  # of the format and OPTIONS


@dataclass(frozen=True, slots=True)
class Sink:
    """Where answers go: INTO format OPTIONS (...)."""

    format: str
    options: tuple[tuple[str, str], ...] = ()
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Item:
    """One column of a SELECT list; without an alias the name is derived when it is bound."""

    expr: Expr
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class OrderKey:
    expr: Expr
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class Source:
    """`FROM stream [window] alias`."""

    stream: str
    window: WindowSpec | None = None
    alias: str | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Select:
    items: tuple[Item, ...]
    source: Source
    where: Expr | None = None
    group_by: tuple[Expr, ...] = ()
    having: Expr | None = None
    order_by: tuple[OrderKey, ...] = ()
    limit: int | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CreateQuery:
    name: str
    select: Select
    sink: Sink | None = None  # None: the result store
    emit_empty: bool = False
    fail_on_error: bool = False
    retain: Duration | None = None  # how long answers stay in the result store; None: for ever
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CreateRelation:
    """CREATE QUERY over several sources, or over the rows of a window as they are."""

    name: str
    body: Body
    sink: Sink | None = None  # None: the result store
    emit_changes: bool = False
    fail_on_error: bool = False
    retain: Duration | None = None
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CreateView:
    """A name for a query that others can read from."""

    name: str
    body: Body
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Reference data: read by Spark from a batch source, again every `refresh` (None: at start alone).

    With `stream` it is made of the rows of a stream: the last of each key, unless `delete` holds for it.
    """

    name: str
    columns: tuple[ColumnDef, ...]
    format: str = ""
    options: tuple[tuple[str, str], ...] = ()
    key: tuple[str, ...] = ()
    refresh: Duration | None = None
    retroactive: bool = False
    stream: str | None = None
    delete: Expr | None = None
    place: Place | None = field(default=None, compare=False, repr=False)
    key_place: Place | None = field(default=None, compare=False, repr=False)  # of the whole clause
    stream_place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DropQuery:
    name: str
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DropView:
    name: str
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DropTable:
    name: str
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ShowStreams:
    pass


@dataclass(frozen=True, slots=True)
class ShowQueries:
    pass


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN name, or EXPLAIN ALL (`name` is None); ANALYZE: beside what is predicted, what was measured."""

    name: str | None = None
    analyze: bool = False
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unread:
    """A statement that cannot be read: why, and what it may have declared or dropped.

    Without names it may have been anything.
    """

    error: QueryError
    names: frozenset[str] = frozenset()  # in lower case


Statement = (
    CreateStream | CreateQuery | CreateRelation | CreateView | CreateTable
    | DropQuery | DropView | DropTable | ShowStreams | ShowQueries | Explain
)  # fmt: skip
