"""Aggregates over a window: SELECT items, HAVING and ORDER BY in terms of group keys and aggregates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.errors import QueryError
from weft.lang.expressions import expr
from weft.lang.statements import CreateQuery, Expr, OrderKey, WindowSpec
from weft.plan.calls import call_problems
from weft.plan.coercion import is_supported
from weft.plan.grouping import Grouping
from weft.plan.groupsets import GROUPING_ID, check_keys, grouping_sets, has_sets
from weft.plan.items import Meant, aliases, at_position
from weft.plan.mismatch import not_boolean, type_problems
from weft.plan.nodes import Aggregate, Filter, Named, Plan, Project, Scan, Top, Window
from weft.plan.opens import above_types, stand_in
from weft.plan.problems import Problems, raise_all
from weft.plan.rows import Rows, refuse_aggregates, refuse_window_columns
from weft.plan.scope import WINDOW_COLUMNS, column, resolve
from weft.plan.shownparts import show_aggregation
from weft.plan.types import infer

_WINDOW_ITEMS = tuple(Named(name, expr(column(name)), "timestamp") for name in WINDOW_COLUMNS)


def bind_aggregate(statement: CreateQuery, rows: Rows, items: Sequence[Meant], where: Expr | None) -> Plan:
    """The plan of a query with aggregates or GROUP BY; raises all that is wrong with it."""
    select, problems = statement.select, Problems()
    window = problems.attempt(_window, statement)
    grouped = _bind_group_by(select.group_by, items, rows, problems)
    problems.attempt(_check_emit_empty, statement, grouped)
    if not grouped.is_whole and problems.found:
        problems.raise_any()  # what depends on a wrong key is not worth reporting
    grouping = Grouping(grouped.keys, rows, bool(grouped.sets))
    lifted = [problems.attempt(grouping.above, item.expr) for item in items]
    having = problems.attempt(_lift, select.having, items, rows, grouping) if select.having else None
    order = [problems.attempt(_lift_order_key, key, items, rows, grouping) for key in select.order_by]
    problems.raise_any()
    assert window is not None
    plan: Plan = Window(
        Scan(rows.scope.stream, rows.scope.columns, select.source.place), window, window.place
    )
    if where is not None:
        plan = Filter(plan, where, where.place)
    aggregate = Aggregate(plan, grouped.keys, grouping.aggregations, grouped.sets, select.place)
    above = _Above(aggregate, rows)
    return _bind_above(
        statement, above, [item.name for item in items], [one for one in lifted if one], having,
        tuple(key for key in order if key),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Above:
    """What is known of types above an Aggregate."""

    aggregate: Aggregate
    rows: Rows

    def type(self, source: Expr) -> str | None:
        found = infer(source.tree, above_types(self.aggregate))
        if found is None:
            row = stand_in(source, self.aggregate)
            found = self.rows.told_of(row) if row is not None else None
        return found

    def check(self, source: Expr) -> None:
        problems = [*call_problems(source), *type_problems(source, above_types(self.aggregate))]
        raise_all(self._in_words(problem) for problem in problems)

    def check_condition(self, source: Expr, clause: str) -> None:
        self.check(source)
        problem = not_boolean(source, self.type(source), clause)
        if problem is not None:
            raise self._in_words(problem)

    def _in_words(self, error: QueryError) -> QueryError:
        """The error with keys and aggregates as their author knows them: `SUM(qty)`, not `_a0`."""
        words = {key.name: key.expr.sql for key in self.aggregate.keys}
        words |= {made.name: show_aggregation(made) for made in self.aggregate.aggregations}
        words |= {f"_g{at}": f"GROUPING({key.expr.sql})" for at, key in enumerate(self.aggregate.keys)}
        words[GROUPING_ID] = "GROUPING_ID()"

        def told(text: str) -> str:
            return re.sub(r"\b_(?:[agk]\d+|gid)\b", lambda name: words.get(name[0], name[0]), text)

        return QueryError(
            error.code, told(error.what), at=error.at, because=error.because, help=told(error.help)
        )


def _bind_above(
    statement: CreateQuery, above: _Above, names: Sequence[str], items: Sequence[Expr], having: Expr | None,
    order: tuple[OrderKey, ...],
) -> Plan:  # fmt: skip
    select, problems = statement.select, Problems()
    for source in (*items, *(key.expr for key in order)):
        problems.attempt(above.check, source)
    plan: Plan = above.aggregate
    if having is not None:
        problems.attempt(above.check_condition, having, "HAVING")
        plan = Filter(plan, having, having.place)
    problems.raise_any()
    if order or select.limit is not None:
        plan = Top(plan, order, select.limit, select.place)
    named = [Named(name, source, above.type(source)) for name, source in zip(names, items)]
    return Project(plan, _with_window(named), select.place)


def _with_window(items: Sequence[Named]) -> tuple[Named, ...]:
    """The items, after those of window_start and window_end that are not among them."""
    names = {item.name.lower() for item in items}
    return (*(item for item in _WINDOW_ITEMS if item.name not in names), *items)


def _window(statement: CreateQuery) -> WindowSpec:
    source = statement.select.source
    if source.window is None:
        raise QueryError(
            "aggregate-without-window",
            f"query `{statement.name}` aggregates a stream that never ends",
            at=source.place,
            because="over which rows?",
            help=f"add a window: FROM {source.stream} [RANGE 5 MINUTES SLIDE 10 SECONDS]",
        )
    return source.window


def _check_emit_empty(statement: CreateQuery, grouped: _Grouped) -> None:
    group_by = statement.select.group_by
    if not statement.emit_empty or not group_by or () in grouped.sets:
        return
    known = "of an empty window no groups are known"
    raise QueryError(
        "empty-groups",
        "EMIT EMPTY and GROUP BY do not go together",
        at=group_by[0].place or statement.place,
        because=f"{known}, and no set is ()" if grouped.sets else known,
        help="remove one of them" + (", or add the set ()" if grouped.sets else ""),
    )


@dataclass(frozen=True, slots=True)
class _Grouped:
    """What a GROUP BY says; it is not whole if some of its keys are wrong."""

    keys: tuple[Named, ...]
    sets: tuple[tuple[int, ...], ...]
    is_whole: bool


def _bind_group_by(
    sources: Sequence[Expr], items: Sequence[Meant], rows: Rows, problems: Problems
) -> _Grouped:
    if not has_sets(sources):
        places, keys = _bind_keys(sources, items, rows, problems)
        return _Grouped(keys, (), len(places) == len(set(sources)))
    sets = problems.attempt(grouping_sets, sources)
    if sets is None:
        return _Grouped((), (), False)
    written = list(dict.fromkeys(key for each in sets for key in each))
    places, keys = _bind_keys(written, items, rows, problems)
    problems.attempt(check_keys, len(keys), sources)
    found = tuple(tuple(sorted({places[key] for key in each if key in places})) for each in sets)
    return _Grouped(keys, found, len(places) == len(written))


def _bind_keys(
    sources: Sequence[Expr], items: Sequence[Meant], rows: Rows, problems: Problems
) -> tuple[dict[Expr, int], tuple[Named, ...]]:
    """For each key as it is written its place among the distinct keys, and these."""
    places: dict[Expr, int] = {}
    keys: dict[str, Named] = {}
    for source in sources:
        key = problems.attempt(_bind_key, source, items, rows)
        if key is not None:
            places[source] = list(keys).index(key.sql) if key.sql in keys else len(keys)
            keys.setdefault(key.sql, Named(f"_k{len(keys)}", key, rows.type(key)))
    return places, tuple(keys.values())


def _bind_key(source: Expr, items: Sequence[Meant], rows: Rows) -> Expr:
    key = at_position(source, items, "GROUP BY") or resolve(source, rows.scope, aliases(items))
    refuse_aggregates(
        key, "misplaced-aggregate", "GROUP BY cannot hold an aggregate",
        help="group by what the aggregates are computed for",
    )  # fmt: skip
    refuse_window_columns(key, "GROUP BY", help="leave it out: every window is answered by itself")
    rows.check(key)
    type = rows.type(key)
    if not is_supported(type):
        raise QueryError(
            "unsupported-type",
            f"cannot group by `{key.sql}`, which is of type {type}",
            at=source.place,
            help="group by numbers, strings, booleans, dates or timestamps",
        )
    return key


def _lift(source: Expr, items: Sequence[Meant], rows: Rows, grouping: Grouping) -> Expr:
    return grouping.above(resolve(source, rows.scope, aliases(items), alias_first=True))


def _lift_order_key(key: OrderKey, items: Sequence[Meant], rows: Rows, grouping: Grouping) -> OrderKey:
    item = at_position(key.expr, items, "ORDER BY")
    return replace(key, expr=grouping.above(item) if item else _lift(key.expr, items, rows, grouping))
