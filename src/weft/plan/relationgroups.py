"""GROUP BY over a relation: keys and aggregates, HAVING, the first rows, and the columns asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from weft.errors import QueryError
from weft.lang.bodies import Picking
from weft.lang.statements import Expr, OrderKey
from weft.plan.coercion import is_supported
from weft.plan.grouping import Grouping
from weft.plan.groupsets import has_sets
from weft.plan.inwords import in_words
from weft.plan.items import Meant, aliases, at_position
from weft.plan.nodes import Named
from weft.plan.origins import RelationRows
from weft.plan.problems import Problems
from weft.plan.relations import Grouped, Kept, Leading, Relation
from weft.plan.relationtree import columns
from weft.plan.rows import refuse_aggregates, refuse_window_columns
from weft.plan.scope import Scope
from weft.plan.shownparts import show_aggregation
from weft.plan.sources import Names, resolve_names

_BY_TIME = ("first", "last")


@dataclass(slots=True)
class Grouper:
    """Binds the groups of one SELECT."""

    body: Picking
    names: Names
    items: Sequence[Meant]
    rows: RelationRows

    def bind(self, relation: Relation, told: Mapping[str, str]) -> tuple[Relation, list[Named]]:
        """What is above the groups, and the columns asked for in terms of it."""
        body, problems = self.body, Problems()
        keys = self._keys(problems)
        problems.raise_any()
        grouping = Grouping(keys, self.rows, example="MAX")
        lifted = [problems.attempt(grouping.above, item.expr) for item in self.items]
        having = problems.attempt(self._lift, body.having, grouping) if body.having is not None else None
        order = [problems.attempt(self._lift_key, key, grouping) for key in body.order_by]
        problems.raise_any()
        grouped = Grouped(relation, keys, grouping.aggregations, body.place)
        _refuse_by_time(grouped)
        with in_words(_words(grouped)):
            rows = RelationRows(Scope("", columns(grouped), ""), told, grouped)
            above = self._above(grouped, having, [key for key in order if key is not None], rows)
            return above, self._named([one for one in lifted if one is not None], rows)

    def _keys(self, problems: Problems) -> tuple[Named, ...]:
        body = self.body
        if has_sets(body.group_by):
            raise QueryError(
                "not-supported", "ROLLUP, CUBE and GROUPING SETS are for aggregates over one stream",
                at=body.group_by[0].place, help="write a SELECT for each set, and UNION ALL between them",
            )  # fmt: skip
        found: dict[str, Named] = {}
        for source in body.group_by:
            key = problems.attempt(self._key, source)
            if key is not None:
                found.setdefault(key.sql, Named(f"_k{len(found)}", key, self.rows.type(key)))
        return tuple(found.values())

    def _key(self, source: Expr) -> Expr:
        key = at_position(source, self.items, "GROUP BY")
        key = key or resolve_names(source, self.names, aliases(self.items))
        refuse_aggregates(
            key, "misplaced-aggregate", "GROUP BY cannot hold an aggregate",
            help="group by what the aggregates are computed for",
        )  # fmt: skip
        refuse_window_columns(key, "GROUP BY", help="leave it out: every window is answered by itself")
        self.rows.check(key)
        if not is_supported(self.rows.type(key)):
            raise QueryError(
                "unsupported-type", f"cannot group by `{key.sql}`, which is of type {self.rows.type(key)}",
                at=source.place, help="group by numbers, strings, booleans, dates or timestamps",
            )  # fmt: skip
        return key

    def _lift(self, source: Expr, grouping: Grouping) -> Expr:
        return grouping.above(resolve_names(source, self.names, aliases(self.items), alias_first=True))

    def _lift_key(self, key: OrderKey, grouping: Grouping) -> OrderKey:
        item = at_position(key.expr, self.items, "ORDER BY")
        found = grouping.above(item) if item is not None else self._lift(key.expr, grouping)
        return replace(key, expr=found)

    def _above(
        self, grouped: Relation, having: Expr | None, order: list[OrderKey], rows: RelationRows
    ) -> Relation:
        body = self.body
        if having is not None:
            rows.check_condition(having, "HAVING")
            grouped = Kept(grouped, having, having.place)
        for key in order:
            rows.check(key.expr)
        if body.limit is not None and not body.distinct:
            grouped = Leading(grouped, tuple(order), body.limit, body.place)
        return grouped

    def _named(self, lifted: list[Expr], rows: RelationRows) -> list[Named]:
        problems = Problems()
        for source in lifted:
            problems.attempt(rows.check, source)
        problems.raise_any()
        return [Named(item.name, one, rows.type(one)) for item, one in zip(self.items, lifted, strict=True)]


def _refuse_by_time(grouped: Grouped) -> None:
    for call in grouped.aggregations:
        if call.function in _BY_TIME:
            by = "min_by" if call.function == "first" else "max_by"
            raise QueryError(
                "by-time", f"`{call.function}` goes by the event time of a stream, and there is none here",
                at=call.place, help=f"say by what: {by}({call.args[0].sql}, ...)",
            )  # fmt: skip


def _words(grouped: Grouped) -> dict[str, str]:
    words = {key.name: key.expr.sql for key in grouped.keys}
    return words | {call.name: show_aggregation(call) for call in grouped.aggregations}
