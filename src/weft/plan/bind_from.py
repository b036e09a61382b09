"""FROM -> a relation and the names of its columns: leaves, subqueries, views and joins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from sqlglot import exp

from weft.errors import Place, QueryError
from weft.lang.bodies import Body, From, FromBody, FromJoin, FromName, JoinKind, Span
from weft.lang.expressions import expr
from weft.lang.statements import CreateView, Expr
from weft.plan.declared import Declared
from weft.plan.nodes import Column, Named, Stream, Table
from weft.plan.relationrules import check_join, check_lasting
from weft.plan.relations import Entries, Lasting, Made, Paired, Relation, Rows, Whether
from weft.plan.relationtree import columns
from weft.plan.scope import column
from weft.plan.slides import Slide, slide_of
from weft.plan.sources import Names, joined, named, resolve_names, source_name, using_field

Conditions = Callable[[Expr, Relation, Names, str], None]  # raises unless it is a condition over the relation
Bodies = Callable[[Body, "Around"], Relation]


@dataclass(frozen=True, slots=True)
class Around:
    """What is known around a SELECT.

    `slide`: it is answered as of these instants, and its rows say so. `held`: what it reads is kept, so that
    a stream needs a window. `first` is the number of its first source, `outer` the names it may speak of.
    """

    declared: Declared
    slide: Slide | None = None
    held: bool = False
    first: int = 0
    outer: Names | None = None


@dataclass(slots=True)
class Sources:
    """Binds the sources of one SELECT, numbered as they turn up."""

    around: Around
    bind_body: Bodies
    check: Conditions
    count: int = field(init=False)

    def __post_init__(self) -> None:
        self.count = self.around.first

    def bind(self, source: From, held: bool) -> tuple[Relation, Names]:
        """The relation and its names; `held`: its rows are kept to be met by others."""
        match source:
            case FromName():
                return self._name(source, held)
            case FromBody(body=body, span=span, alias=alias, place=place):
                return self._body(body, span, alias or "", place, held)
            case FromJoin():
                return self._join(source, held)
            case _:
                assert_never(source)

    def _number(self) -> int:
        self.count += 1
        return self.count - 1

    def _name(self, source: FromName, held: bool) -> tuple[Relation, Names]:
        found = self.around.declared.find(source)
        if source.nonretroactive is not None and not isinstance(found, Table):
            word = "NONRETROACTIVE" if source.nonretroactive else "RETROACTIVE"
            raise QueryError(
                "not-a-table", f"{word} is said of tables, and `{source.name}` is none", at=source.place,
                help="remove it",
            )  # fmt: skip
        match found:
            case Stream():
                return self._stream(found, source, held)
            case Table():
                return self._table(found, source)
            case CreateView(name=name, body=body):
                return self._body(body, source.span, source.alias or name, source.place, held)
            case _:
                assert_never(found)

    def _stream(self, stream: Stream, source: FromName, held: bool) -> tuple[Relation, Names]:
        span, number = source.span, self._number()
        if span is None and (held or self.around.held):
            raise _needs_window(source)
        leaf = Rows(
            stream.name, _items(number, stream.columns), None, None if span is None else span.range,
            span is not None and span.internal, source.place,
        )  # fmt: skip
        return leaf, named(number, stream.columns, source.alias or stream.name)

    def _table(self, table: Table, source: FromName) -> tuple[Relation, Names]:
        if source.span is not None:
            raise QueryError(
                "bad-window", f"`{source.name}` is a table, which has no window", at=source.span.place,
                because="its rows do not come one after the other", help="remove the window",
            )  # fmt: skip
        number = self._number()
        items = _items(number, table.columns)
        stream = None if table.flow is None else table.flow.stream
        leaf = Entries(table.name, items, None, _retroactive(table, source), stream, source.place)
        return leaf, named(number, table.columns, source.alias or table.name)

    def _body(
        self, body: Body, span: Span | None, qualifier: str, place: Place | None, held: bool
    ) -> tuple[Relation, Names]:
        """A query as a source; with a window behind it, it is answered by itself."""
        declared, number = self.around.declared, self._number()
        slide = slide_of(body, declared.views) if span is not None else None
        kept = (held or self.around.held) if span is None else False
        found = self.bind_body(body, Around(declared, slide, kept))
        names = columns(found)
        items = tuple(Named(source_name(number, one.name), expr(column(one.name)), one.type) for one in names)
        if span is not None:
            check_lasting(found, span)
            found = Lasting(found, span.range, span.place)
        return Made(found, items, place), named(number, names, qualifier)

    def _join(self, source: FromJoin, held: bool) -> tuple[Relation, Names]:
        held = held or not (self._is_looked_up(source.left) or self._is_looked_up(source.right))
        left, left_names = self.bind(source.left, held)
        right, right_names = self.bind(source.right, held)
        both = joined(left_names, right_names, JoinKind.INNER, (), source.right.place or source.place)
        on = self._on(source, left, right, left_names, right_names, both)
        check_join(source.kind, left, right, source.place)
        names = joined(left_names, right_names, source.kind, source.using, source.place)
        match source.kind:
            case JoinKind.SEMI | JoinKind.ANTI:
                negated = source.kind is JoinKind.ANTI
                return Whether(left, right, on, negated, source.place), names
            case _:
                return Paired(source.kind, left, right, on, source.place), names

    def _is_looked_up(self, source: From) -> bool:
        """Is it a table in which rows look up what they need as they come, so that they are not kept?"""
        found = self.around.declared.find(source) if isinstance(source, FromName) else None
        return isinstance(found, Table) and not _retroactive(found, source)

    def _on(
        self,
        source: FromJoin,
        left: Relation,
        right: Relation,
        left_names: Names,
        right_names: Names,
        both: Names,
    ) -> Expr | None:
        pairs = [
            exp.EQ(
                this=using_field(name, left_names, source.place).expr.tree.copy(),
                expression=using_field(name, right_names, source.place).expr.tree.copy(),
            )
            for name in source.using
        ]
        on = expr(exp.and_(*pairs, copy=False), source.place) if pairs else None
        if source.on is not None:
            on = resolve_names(source.on, both)
        if on is not None:
            self.check(on, Paired(JoinKind.INNER, left, right, None), both, "ON")
        return on


def _retroactive(table: Table, source: From) -> bool:
    said = source.nonretroactive if isinstance(source, FromName) else None
    return table.statement.retroactive if said is None else not said


def _items(number: int, found: tuple[Column, ...]) -> tuple[Named, ...]:
    return tuple(Named(source_name(number, one.name), expr(column(one.name)), one.type) for one in found)


def _needs_window(source: FromName) -> QueryError:
    return QueryError(
        "missing-window",
        f"stream `{source.name}` needs a window here",
        at=source.place,
        because="for how long are its rows kept?",
        help=f"write {source.name} [RANGE 5 MINUTES]; [RANGE UNBOUNDED] keeps them for ever",
    )
