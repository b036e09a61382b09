"""What level 1 evaluates for each row: the distinct keys, predicates and arguments of the root feeds."""

from __future__ import annotations

from dataclasses import dataclass

from weft.lang.statements import Expr
from weft.share.nodes import Partial, StreamPlan


@dataclass(frozen=True, slots=True)
class Value:
    """An argument of partials; `wheres` are the predicates it is needed under, None: it is always needed."""

    sql: str
    type: str | None
    wheres: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class RowColumns:
    """Texts of expressions, each once; a column is named by its position: `g0`, `w0`, `v0`."""

    keys: tuple[str, ...]
    key_types: tuple[str | None, ...]
    wheres: tuple[str, ...]
    values: tuple[Value, ...]

    def key(self, expr: Expr) -> int:
        return self.keys.index(expr.sql)

    def where(self, expr: Expr) -> int:
        return self.wheres.index(expr.sql)

    def value(self, expr: Expr) -> int:
        return next(at for at, value in enumerate(self.values) if value.sql == expr.sql)


def row_columns(plan: StreamPlan) -> RowColumns:
    """In order of first appearance among the root feeds."""
    roots = [plan.feeds[root] for root in plan.roots]
    keys = {key.sql: type_ for feed in roots for key, type_ in zip(feed.keys, feed.key_types)}
    keys |= {key.sql: keys.get(key.sql) for feed in roots for key in feed.keys}
    partials = [partial for feed in roots for partial in feed.partials]
    wheres = dict.fromkeys(partial.where.sql for partial in partials if partial.where is not None)
    return RowColumns(tuple(keys), tuple(keys.values()), tuple(wheres), _values(partials))


def _values(partials: list[Partial]) -> tuple[Value, ...]:
    found: dict[str, Value] = {}
    for partial in partials:
        for expr, type_ in ((partial.arg, partial.type), (partial.by, partial.by_type)):
            if expr is None:
                continue
            known = found.get(expr.sql, Value(expr.sql, type_, ()))
            wheres = None
            if known.wheres is not None and partial.where is not None:
                wheres = tuple(dict.fromkeys((*known.wheres, partial.where.sql)))
            found[expr.sql] = Value(expr.sql, known.type or type_, wheres)
    return tuple(found.values())


def key_layout(plan: StreamPlan) -> dict[int, list[int]]:
    """Per root feed the positions of its keys among `g0, g1, ...`."""
    columns = row_columns(plan)
    return {root: [columns.key(key) for key in plan.feeds[root].keys] for root in plan.roots}
