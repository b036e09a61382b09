"""What stands above an Aggregate: expressions over group keys `_k0..`, aggregates `_a0..` and the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from weft.errors import Errors, Place, QueryError, WeftError
from weft.lang.expressions import expr, place_of, settled, text_of
from weft.lang.statements import Expr
from weft.plan.aggregates import bind_aggregation
from weft.plan.calls import unknown_function
from weft.plan.functions import call_of, is_aggregate, kind_of
from weft.plan.groupingcalls import GROUPING_CALLS, grouping_column
from weft.plan.nodes import Aggregation, Named
from weft.plan.rows import Rows
from weft.plan.scope import WINDOW_COLUMNS, column


class Grouping:
    """The keys of a query and, as they turn up, its aggregates: equal ones are bound once."""

    def __init__(
        self, keys: Sequence[Named], rows: Rows, has_sets: bool = False, example: str = "LAST"
    ) -> None:
        self.keys = tuple(keys)
        self.rows = rows
        self._has_sets = has_sets
        self._example = example  # an aggregate that goes with any value
        self._key_names = {key.expr.sql: key.name for key in keys}
        self._key_classes = {exp.Paren, *(type(key.expr.tree) for key in keys)}  # look only where one may be
        self._aggregations: dict[Aggregation, str] = {}

    @property
    def aggregations(self) -> tuple[Aggregation, ...]:
        return tuple(replace(made, name=name) for made, name in self._aggregations.items())

    def above(self, source: Expr) -> Expr:
        """The expression over the stream's columns, in terms of keys and aggregates; raises what is wrong."""
        problems: list[WeftError] = []

        def visit(node: exp.Expr) -> exp.Expr:
            try:
                return self._replace(node, source.place)
            except Errors as errors:
                problems.extend(errors.errors)
            except QueryError as error:
                problems.append(error)
            return exp.Null()  # not looked into any further

        lifted = source.tree.transform(visit)
        if problems:
            raise problems[0] if len(problems) == 1 else Errors(problems)
        return settled(lifted, source.place or place_of(lifted))

    def _replace(self, node: exp.Expr, place: Place | None) -> exp.Expr:
        key = self._key(node)
        if key is not None:
            return column(key, place_of(node))
        call = call_of(node)
        if call is not None and call.name in GROUPING_CALLS:
            made = grouping_column(call, self._key_names, self._has_sets, place_of(node) or place)
            return column(made, place_of(node))
        if is_aggregate(node):
            return column(self._bind(node, place), place_of(node))
        if call is not None and kind_of(call.name) is None:  # what it is called with is not the trouble
            raise unknown_function(call.name, place_of(node) or place)
        if isinstance(node, exp.Column) and node.name not in WINDOW_COLUMNS:
            raise _not_grouped(node, bool(self.keys), self._example, place)
        return node

    def _key(self, node: exp.Expr) -> str | None:
        if type(node) not in self._key_classes:
            return None
        return self._key_names.get(text_of(node) if isinstance(node, exp.Column) else expr(node).sql)

    def _bind(self, node: exp.Expr, place: Place | None) -> str:
        made = bind_aggregation(node, "", self.rows, place)
        return self._aggregations.setdefault(made, f"_a{len(self._aggregations)}")


def _not_grouped(node: exp.Column, grouped: bool, example: str, place: Place | None) -> QueryError:
    add = "add it to GROUP BY" if grouped else f"add GROUP BY {node.name}"
    return QueryError(
        "not-grouped",
        f"`{node.name}` is neither in GROUP BY nor inside an aggregate",
        at=place_of(node) or place,
        because="a group has many rows, and they may differ in it",
        help=f"{add}, or aggregate it: {example}({node.name})",
    )
