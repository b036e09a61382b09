"""CREATE QUERY over several sources -> Query: what is told of the relation that its body is."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from sqlglot import exp

from weft.errors import QueryError
from weft.lang.bodies import Body, Combining, Emission, FromName, Output, Picking, SetKind, Span
from weft.lang.expressions import expr
from weft.lang.statements import CreateQuery, CreateRelation, CreateView, Expr, Select
from weft.plan.bind_from import Around
from weft.plan.bind_picking import bind_picking, check_comparable
from weft.plan.coercion import wider
from weft.plan.declared import Declared
from weft.plan.nodes import Column, Named, Query, Related
from weft.plan.relationrules import check_internal, check_tables, depends_on_others
from weft.plan.relations import Emitted, Lasting, Made, Merged, Relation
from weft.plan.relationtree import columns
from weft.plan.scope import column
from weft.plan.slides import Slide, slide_of


def bind_relation(statement: CreateRelation | CreateQuery, body: Body, declared: Declared) -> Query:
    """The query that tells of the relation that `body` is; raises all that is wrong with it."""
    slide = slide_of(body, declared.views)
    relation = bind_body(body, Around(declared, slide))
    check_internal(relation)
    check_tables(relation)
    output = body.output if isinstance(body, Picking) else None
    changes = isinstance(statement, CreateRelation) and statement.emit_changes
    emitted = _emitted(statement, relation, _emission(output, changes, slide, statement), output)
    return Query(
        statement.name, Related(emitted), statement.sink, False, statement.fail_on_error, statement.retain,
        statement,
    )  # fmt: skip


def check_view(view: CreateView, declared: Declared) -> None:
    """Raise what is wrong with a view, whoever reads it."""
    bind_body(view.body, Around(declared, slide_of(view.body, declared.views)))


def as_body(select: Select) -> Picking:
    """A SELECT from one name as a query over a relation; over a window it aggregates, so that it slides."""
    source, window = select.source, select.source.window
    span = None if window is None else Span(window.range, window.slide, window.offset, place=window.place)
    return Picking(
        select.items, FromName(source.stream, span, source.alias, place=source.place), select.where,
        group_by=select.group_by, having=select.having, order_by=select.order_by, limit=select.limit,
        place=select.place,
    )  # fmt: skip


def bind_body(body: Body, around: Around) -> Relation:
    """The relation that the query is."""
    match body:
        case Picking():
            return bind_picking(body, around, bind_body)
        case Combining():
            return _merged(body, around)
        case _:
            assert_never(body)


def _merged(body: Combining, around: Around) -> Relation:
    keeps = body.kind is not SetKind.UNION or not body.all
    inner = replace(around, held=around.held or keeps)
    left, right = bind_body(body.left, inner), bind_body(body.right, inner)
    types = _common_types(body, columns(left), columns(right))
    made = Merged(body.kind, body.all, _cast(left, types), _cast(right, types), body.place)
    if keeps:
        check_comparable(made, f"{body.kind.upper()}{' ALL' if body.all else ''}")
    return made


def _common_types(
    body: Combining, left: tuple[Column, ...], right: tuple[Column, ...]
) -> tuple[str | None, ...]:
    """The type of each column, which must fit on both sides; None where one is not known yet."""
    if len(left) != len(right):
        raise QueryError(
            "wrong-columns", f"{body.kind.upper()} of {len(left)} columns and {len(right)}", at=body.place,
            because="columns are matched by position", help="select as many columns on both sides",
        )  # fmt: skip
    found: list[str | None] = []
    for number, (one, other) in enumerate(zip(left, right, strict=True), 1):
        common = wider(one.type, other.type)
        if common is None and one.type is not None and other.type is not None:
            raise QueryError(
                "wrong-type",
                f"column {number} of {body.kind.upper()}, `{one.name}`, is of type {one.type} on the left "
                f"and of type {other.type} on the right",
                at=body.place,
                help="convert one of them with CAST",
            )
        found.append(common)
    return tuple(found)


def _cast(relation: Relation, types: tuple[str | None, ...]) -> Relation:
    """The relation with columns of these types."""
    found = columns(relation)
    if all(type is None or one.type == type for one, type in zip(found, types, strict=True)):
        return relation
    items = tuple(Named(one.name, _as(one, type), type) for one, type in zip(found, types, strict=True))
    return Made(relation, items, relation.place)


def _as(one: Column, type: str | None) -> Expr:
    own = column(one.name)
    return expr(own if type in (None, one.type) else exp.cast(own, str(type), dialect="spark"))


def _emission(
    output: Output | None, changes: bool, slide: Slide | None, statement: CreateRelation | CreateQuery
) -> Emission:
    if output is not None and changes:
        raise QueryError(
            "misplaced-output", f"{output.emission.upper()} and EMIT CHANGES do not go together",
            at=output.place, help="remove one of them",
        )  # fmt: skip
    if changes and slide is not None:
        raise QueryError(
            "misplaced-output", "EMIT CHANGES tells changes as they come, and does not go with SLIDE",
            at=statement.place, because="each window is answered once, when it is complete",
            help="remove SLIDE from the windows, or EMIT CHANGES",
        )  # fmt: skip
    if changes:
        return Emission.CHANGES
    if output is None:
        return Emission.LIVES if slide is None else Emission.RSTREAM
    if output.emission is Emission.RSTREAM and slide is None:
        raise QueryError(
            "order-without-slide", "RSTREAM needs windows with SLIDE", at=output.place,
            because="all rows, as of when?",
            help="write the same SLIDE in all windows: [RANGE 1 MINUTE SLIDE 10 SECONDS]",
        )  # fmt: skip
    if output.emission is Emission.WSTREAM and slide is not None:
        raise QueryError(
            "misplaced-output", "WSTREAM tells rows as they are made, and does not go with SLIDE",
            at=output.place, help="remove SLIDE, or write RSTREAM",
        )  # fmt: skip
    return output.emission


def _emitted(
    statement: CreateRelation | CreateQuery, relation: Relation, emission: Emission, output: Output | None
) -> Emitted:
    if output is not None and output.span is not None:
        wrong = depends_on_others(relation)
        if wrong is not None:
            raise QueryError(
                "misplaced-output", f"WSTREAM does not go with {wrong[0]}", at=output.place,
                because="rows would be told after they have become wrong", help="write ISTREAM or DSTREAM",
            )  # fmt: skip
        relation = Lasting(relation, output.span.range, output.span.place)
    made = Emitted(relation, emission, statement.place)
    own = {one.name.lower() for one in columns(relation)}
    for told in columns(made)[: len(columns(made)) - len(columns(relation))]:
        if told.name in own:
            raise QueryError(
                "reserved-name", f"the answer has a column `{told.name}` of its own", at=relation.place,
                because="it says when a row begins to hold, and ends", help="give yours another name with AS",
            )  # fmt: skip
    return made
