"""What holds of every plan, whatever rules have been at it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import assert_never

from weft.errors import Bug
from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.plan.coercion import VOID
from weft.plan.nodes import (
    FUNCTIONS,
    Aggregate,
    Aggregation,
    Filter,
    Plan,
    Project,
    Related,
    Scan,
    Top,
    Window,
)
from weft.plan.scope import names_in
from weft.plan.show import show_node
from weft.plan.tree import children, schema, walk
from weft.plan.types import infer

_NO_ARGUMENT = ("count_star",)
_TWO_ARGUMENTS = ("min_by", "max_by")


def check(plan: Plan, before: Plan | None = None) -> None:
    """Raise a Bug that names the first node of which something does not hold.

    Expressions that stood in `before`, a plan found sound, are not printed again to compare their texts.
    """
    seen = (
        {id(source) for node in walk(before) for source in expressions(node)} if before is not None else set()
    )
    for node in walk(plan):
        texts = (_not_its_text(source) for source in expressions(node) if id(source) not in seen)
        for wrong in (*_wrong(node), *filter(None, texts)):
            raise Bug("unsound-plan", f"{wrong}: {show_node(node)}")
    for wrong in _wrong_shape(plan):
        raise Bug("unsound-plan", f"{wrong}: {show_node(plan)}")


def expressions(node: Plan) -> tuple[Expr, ...]:
    """The expressions that stand in the node itself."""
    match node:
        case Scan() | Window() | Related():
            return ()
        case Filter(predicate=predicate):
            return (predicate,)
        case Aggregate(keys=keys, aggregations=aggregations):
            parts = [part for made in aggregations for part in (*made.args, made.filter) if part is not None]
            return (*(key.expr for key in keys), *parts)
        case Project(items=items):
            return tuple(item.expr for item in items)
        case Top(order=order):
            return tuple(key.expr for key in order)
        case _:
            assert_never(node)


def _wrong(node: Plan) -> Iterator[str]:
    below = [column for child in children(node) for column in schema(child)]
    known = {column.name for column in below}
    for source in expressions(node):
        if not names_in(source) <= known:
            yield f"`{source.sql}` speaks of columns that are not below it"
    yield from _doubled(column.name for column in schema(node))
    match node:
        case Filter(predicate=predicate):
            types = {column.name: column.type for column in below}
            if infer(predicate.tree, types) not in (None, VOID, "boolean"):
                yield f"`{predicate.sql}` is no condition"
        case Window(window=window):
            if window.range <= 0 or window.slide <= 0:
                yield "a window has a range and a slide above zero"
        case Aggregate(keys=keys, aggregations=aggregations, sets=sets):
            if sets and {at for each in sets for at in each} != set(range(len(keys))):
                yield "every key is in a grouping set, and nothing else is"
            if [key.name for key in keys] != [f"_k{i}" for i in range(len(keys))]:
                yield "keys are numbered in order"
            if [made.name for made in aggregations] != [f"_a{i}" for i in range(len(aggregations))]:
                yield "aggregates are numbered in order"
            for made in aggregations:
                yield from _wrong_aggregation(made)
        case _:
            pass


def _not_its_text(source: Expr) -> str:
    return "" if expr(source.tree).sql == source.sql else f"`{source.sql}` is not the text of its tree"


def _wrong_aggregation(made: Aggregation) -> Iterator[str]:
    wanted = 0 if made.function in _NO_ARGUMENT else 2 if made.function in _TWO_ARGUMENTS else 1
    if made.function not in FUNCTIONS:
        yield f"there is no aggregate {made.function}"
    if len(made.args) != wanted or len(made.arg_types) != wanted:
        yield f"{made.function} has {wanted} arguments"


def _doubled(names: Iterable[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"column `{name}` is there twice"


def _wrong_shape(plan: Plan) -> Iterator[str]:
    """A Project on top; windows only under an aggregate, one each; tops only above one."""
    kinds = [type(node) for node in walk(plan)]
    if kinds == [Related]:
        return
    if kinds[0] is not Project or kinds.count(Project) != 1:
        yield "the one Project stands on top"
    if kinds.count(Aggregate) > 1 or kinds.count(Window) != kinds.count(Aggregate):
        yield "an aggregate has one window, and a window one aggregate"
    elif Aggregate in kinds and kinds.index(Window) < kinds.index(Aggregate):
        yield "the window stands below the aggregate"
    if Top in kinds and (Aggregate not in kinds or kinds.index(Top) != 1):
        yield "Top stands right below the Project of an aggregate"
