"""A query taken apart into the clauses it was made of, whatever order the optimiser left them in."""

from __future__ import annotations

from dataclasses import dataclass

from weft.errors import Bug
from weft.lang.statements import Expr, OrderKey, WindowSpec
from weft.plan.nodes import (
    Aggregate,
    Aggregation,
    Filter,
    Named,
    Plan,
    Project,
    Query,
    Related,
    Scan,
    Top,
    Window,
)


@dataclass(frozen=True, slots=True)
class Shape:
    """`aggregate` and `window` are both there or both None (a standing filter)."""

    items: tuple[Named, ...]
    order: tuple[OrderKey, ...]
    limit: int | None
    having: tuple[Expr, ...]
    keys: tuple[Named, ...]
    sets: tuple[tuple[int, ...], ...]
    aggregations: tuple[Aggregation, ...]
    window: WindowSpec | None
    where: tuple[Expr, ...]
    emit_empty: bool


def shape(query: Query) -> Shape:
    """The clauses of a bound query."""
    items: tuple[Named, ...] = ()
    order: tuple[OrderKey, ...] = ()
    limit: int | None = None
    above: list[Expr] = []
    below: list[Expr] = []
    aggregate: Aggregate | None = None
    window: WindowSpec | None = None
    node: Plan = query.plan
    while not isinstance(node, Scan):
        match node:
            case Related():
                raise Bug("odd-plan", f"`{query.name}` is about several sources")
            case Project():
                items = node.items
            case Top():
                order, limit = node.order, node.limit
            case Filter():
                (above if aggregate is None else below).append(node.predicate)
            case Aggregate():
                aggregate = node
            case Window():
                window = node.window
        node = node.source
    if aggregate is None:
        above, below = [], above
    if (aggregate is None) != (window is None):
        raise Bug("odd-plan", f"`{query.name}` has a window or an aggregate without the other")
    return Shape(
        items=items,
        order=order,
        limit=limit,
        having=tuple(reversed(above)),
        keys=aggregate.keys if aggregate else (),
        sets=aggregate.sets if aggregate else (),
        aggregations=aggregate.aggregations if aggregate else (),
        window=window,
        where=tuple(reversed(below)),
        emit_empty=query.emit_empty,
    )
