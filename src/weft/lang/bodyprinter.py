"""Bodies -> canonical text, which reads as the same body."""

from __future__ import annotations

from typing import assert_never

from weft.lang.bodies import (
    Body,
    Combining,
    Exists,
    From,
    FromBody,
    FromJoin,
    FromName,
    JoinKind,
    Output,
    Picking,
    SetKind,
    Span,
)
from weft.lang.clauseprinter import print_duration, print_item, print_order_key
from weft.lang.names import shown

_JOINS = {
    JoinKind.INNER: "JOIN",
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
    JoinKind.SEMI: "LEFT SEMI JOIN",
    JoinKind.ANTI: "LEFT ANTI JOIN",
}


def print_body(body: Body) -> str:
    """The query as text, a line for each clause of a SELECT."""
    match body:
        case Picking():
            return _picking(body)
        case Combining(kind, all, left, right):
            word = f"{kind.upper()}{' ALL' if all else ''}"
            return f"{_operand(left, kind, first=True)}\n{word}\n{_operand(right, kind, first=False)}"
        case _:
            assert_never(body)


def _operand(body: Body, kind: SetKind, *, first: bool) -> str:
    """In parentheses unless it would be read as this operand without: INTERSECT binds tightest."""
    match body:
        case Picking():
            bare = not body.order_by and body.limit is None
        case Combining(inner):
            tighter = inner is SetKind.INTERSECT
            bare = tighter if kind is not SetKind.INTERSECT else tighter and first
            bare = bare or (first and kind is not SetKind.INTERSECT)
        case _:
            assert_never(body)
    return print_body(body) if bare else f"({print_body(body)})"


def _picking(body: Picking) -> str:
    lines = [_select(body), f"FROM {_from(body.source)}"]
    conditions = [_exists(one) for one in body.exists]
    if body.where is not None:
        conditions.insert(0, f"({body.where.sql})" if conditions else body.where.sql)
    if conditions:
        lines.append(f"WHERE {' AND '.join(conditions)}")
    if body.group_by:
        lines.append("GROUP BY " + ", ".join(key.sql for key in body.group_by))
    if body.having is not None:
        lines.append(f"HAVING {body.having.sql}")
    if body.order_by:
        lines.append("ORDER BY " + ", ".join(map(print_order_key, body.order_by)))
    if body.limit is not None:
        lines.append(f"LIMIT {body.limit}")
    return "\n".join(lines)


def _select(body: Picking) -> str:
    items = ("DISTINCT " if body.distinct else "") + ", ".join(map(print_item, body.items))
    return f"SELECT {items if body.output is None else _output(body.output, items)}"


def _output(output: Output, items: str) -> str:
    return f"{output.emission.upper()}({items}){_behind(output.span)}"


def _exists(exists: Exists) -> str:
    word = "NOT " if exists.negated else ""
    if exists.operand is None:
        return f"{word}EXISTS ({print_body(exists.body)})"
    return f"({exists.operand.sql}) {word}IN ({print_body(exists.body)})"


def _from(source: From) -> str:
    match source:
        case FromName(name, span, alias, nonretroactive):
            seen = {None: "", True: " NONRETROACTIVE", False: " RETROACTIVE"}[nonretroactive]
            return f"{shown(name)}{_behind(span)}{seen}{_alias(alias)}"
        case FromBody(body, span, alias):
            return f"({print_body(body)}){_behind(span)}{_alias(alias)}"
        case FromJoin():
            return _join(source)
        case _:
            assert_never(source)


def _join(join: FromJoin) -> str:
    left, right = _from(join.left), _from(join.right)
    word = _JOINS[join.kind]
    how = f" ON {join.on.sql}" if join.on is not None else ""
    how = f" USING ({', '.join(map(shown, join.using))})" if join.using else how
    if not how:
        word = "CROSS JOIN"
    return f"{left} {word} {f'({right})' if isinstance(join.right, FromJoin) else right}{how}"


def print_span(span: Span) -> str:
    """`[RANGE 5 MINUTES SLIDE 10 SECONDS INTERNAL]`."""
    text = f"RANGE {'UNBOUNDED' if span.range is None else print_duration(span.range)}"
    if span.slide is not None:
        text += f" SLIDE {print_duration(span.slide)}"
    if span.offset:
        text += f" OFFSET {print_duration(span.offset)}"
    return f"[{text}{' INTERNAL' if span.internal else ''}]"


def _behind(span: Span | None) -> str:
    return "" if span is None else f" {print_span(span)}"


def _alias(name: str | None) -> str:
    return "" if name is None else f" AS {shown(name)}"
