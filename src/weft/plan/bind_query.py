"""CREATE QUERY -> Query: a standing filter, or aggregates over a window.

    Project <- Filter <- Scan                                                              a standing filter
    Project <- Top <- Filter (HAVING) <- Aggregate <- Filter (WHERE) <- Window <- Scan     aggregates

The second is what the text says; the optimizer moves the filter below the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from weft.errors import QueryError
from weft.lang.expressions import place_of
from weft.lang.patterns import Filled, Pattern, literals
from weft.lang.statements import CreateQuery, Expr, Select
from weft.plan.bind_aggregate import bind_aggregate
from weft.plan.functions import is_aggregate
from weft.plan.items import Meant, bind_items
from weft.plan.nodes import Filter, Named, Plan, Project, Query, Scan, Stream
from weft.plan.problems import Problems, raise_all
from weft.plan.rows import Rows, refuse_aggregates
from weft.plan.scope import Scope, resolve
from weft.plan.tree import over, rewrite_up, walk
from weft.plan.windowcalls import refuse_window_calls


@dataclass(slots=True)
class Before:
    """The plan of a query, and the pattern of its WHERE once another has other constants there."""

    plan: Plan
    where: Pattern | None = None


Known = dict[tuple[Select, bool, bool], Before]  # what is selected, from a window or not, EMIT EMPTY


def bind_query(statement: CreateQuery, stream: Stream, told: Mapping[str, str], known: Known) -> Query:
    """The query over its stream; raises all that is wrong with it.

    `known` are plans of queries over the same stream: of many queries most differ in their windows and
    constants alone.
    """
    return Query(
        statement.name, _plan(statement, stream, told, known), statement.sink, statement.emit_empty,
        statement.fail_on_error, statement.retain, statement,
    )  # fmt: skip


def _plan(statement: CreateQuery, stream: Stream, told: Mapping[str, str], known: Known) -> Plan:
    select, window = statement.select, statement.select.source.window
    filled = _filled(select.where, stream)
    where = select.where if filled is None else filled.pattern.like
    without = replace(select, source=replace(select.source, window=None), where=where)
    what = (without, window is not None, statement.emit_empty)
    before = known.get(what)
    plan = None if before is None else before.plan if filled is None else _fill(before, filled)
    if plan is None:
        plan = _bind_plan(statement, stream, told)
        known.setdefault(what, Before(plan))
        return plan
    return plan if window is None else over(plan, window)


def _filled(where: Expr | None, stream: Stream) -> Filled | None:
    """The condition, if it is of a pattern, and sound whatever its constants are.

    A string that is compared with anything but a string is converted, or not, by what it says.
    """
    if not isinstance(where, Filled):
        return None
    types = {column.name.lower(): column.type for column in stream.columns}
    operands = zip(where.pattern.operands(), where.constants, strict=True)
    is_sound = all(not one.is_string or types.get(other.name.lower()) == "string" for other, one in operands)
    return where if is_sound else None


def _fill(before: Before, where: Filled) -> Plan | None:
    """The plan of one before with other constants in WHERE; None: it does not have them as they stand."""
    bound = next((node for node in walk(before.plan) if isinstance(node, Filter)), None)
    if bound is None:
        return None
    if before.where is None:
        if _texts(bound.predicate) != _texts(where.pattern.like):
            return None
        before.where = Pattern(bound.predicate, where.pattern.places)
    predicate = before.where.fill(where.constants, lambda: where.place)
    return rewrite_up(before.plan, lambda node: replace(node, predicate=predicate) if node is bound else node)


def _texts(source: Expr) -> list[str]:
    return [one.this for one in literals(source.tree)]


def _bind_plan(statement: CreateQuery, stream: Stream, told: Mapping[str, str]) -> Plan:
    select, problems = statement.select, Problems()
    refuse_window_calls(select)  # by itself: no window, and what is not grouped, follow from it
    source = select.source
    scope = Scope(stream.name, stream.columns, source.alias or stream.name, source.window is not None)
    rows = Rows(scope, told)
    items = bind_items(select, scope, problems)
    where = problems.attempt(_bind_where, select, rows, items)
    problems.raise_any()
    bind = bind_aggregate if _aggregates(select, items) else _bind_standing
    return bind(statement, rows, items, where)


def _bind_where(select: Select, rows: Rows, items: Sequence[Meant]) -> Expr | None:
    if select.where is None:
        return None
    _refuse_aliases(select.where, rows.scope, items)
    where = resolve(select.where, replace(rows.scope, windowed=False))
    refuse_aggregates(
        where, "misplaced-aggregate", "WHERE is about single rows and cannot hold an aggregate",
        help="put conditions on aggregates in HAVING",
    )  # fmt: skip
    rows.check_condition(where, "WHERE")
    return where


def _refuse_aliases(where: Expr, scope: Scope, items: Sequence[Meant]) -> None:
    """Raise where WHERE uses a name that SELECT gives."""
    meant = {item.alias.lower(): item.expr for item in items if item.alias is not None}
    for node in where.tree.find_all(exp.Column):
        item = meant.get(node.name.lower()) if not node.table and scope.find(node.name) is None else None
        if item is not None:
            aggregates = any(is_aggregate(part) for part in item.tree.walk())
            raise QueryError(
                "alias-in-where",
                f"WHERE cannot use `{node.name}`, a name that SELECT gives",
                at=place_of(node) or where.place,
                because="WHERE comes before SELECT",
                help="put conditions on aggregates in HAVING" if aggregates else f"repeat it: {item.sql}",
            )


def _aggregates(select: Select, items: Sequence[Meant]) -> bool:
    sources = [*(item.expr for item in items), *(key.expr for key in select.order_by)]
    sources += [select.having] if select.having is not None else []
    return bool(select.group_by) or any(is_aggregate(node) for one in sources for node in one.tree.walk())


def _bind_standing(statement: CreateQuery, rows: Rows, items: Sequence[Meant], where: Expr | None) -> Plan:
    select, problems = statement.select, Problems()
    for item in items:
        problems.attempt(rows.check, item.expr)
    problems.raise_any()  # a misspelt aggregate is why there seems to be none
    raise_all(_wrong_without_aggregate(statement))
    plan: Plan = Scan(rows.scope.stream, rows.scope.columns, select.source.place)
    if where is not None:
        plan = Filter(plan, where, where.place)
    named = tuple(Named(item.name, item.expr, rows.type(item.expr)) for item in items)
    return Project(plan, named, select.place)


def _wrong_without_aggregate(statement: CreateQuery) -> Iterator[QueryError]:
    """What a query may not have that passes rows on as they come."""
    select = statement.select
    window = select.source.window
    if window is not None:
        yield QueryError(
            "window-without-aggregate",
            f"query `{statement.name}` has a window but nothing to compute over it",
            at=window.place or select.source.place,
            help="add an aggregate such as COUNT(*), or remove the window to get every row as it comes",
        )
    if select.having is not None:
        yield QueryError(
            "needs-aggregate", "HAVING needs an aggregate", at=select.having.place, help="use WHERE"
        )
    endless = "a query without a window passes rows on as they come, without end"
    if select.order_by:
        at = select.order_by[0].expr.place
        yield QueryError("needs-aggregate", "ORDER BY needs a window and an aggregate", at=at, help=endless)
    if select.limit is not None:
        yield QueryError(
            "needs-aggregate", "LIMIT needs a window and an aggregate", at=select.place, help=endless
        )
    if statement.emit_empty:
        yield QueryError(
            "needs-aggregate", "EMIT EMPTY needs a window and an aggregate", at=statement.place, help=endless
        )
