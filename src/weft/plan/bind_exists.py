"""[NOT] EXISTS and [NOT] IN -> Whether: rows while there are others, or while there are none.

Sources of the inner SELECT are numbered on from those of the outer one: a condition can speak of both.

    WHERE NOT EXISTS (SELECT 1 FROM acks [RANGE 1 MINUTE] a WHERE a.id = s.id AND a.ok)
    Whether on _s1_id = _s0_id, negated  <-  source   rows of s
                                         <-  other    Kept _s1_ok  <-  rows of acks
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from weft.errors import QueryError
from weft.lang.bodies import Exists, JoinKind, Picking
from weft.lang.expressions import expr, place_of
from weft.lang.statements import Expr
from weft.plan.bind_from import Around, Bodies, Conditions, Sources
from weft.plan.functions import is_aggregate
from weft.plan.nodes import Named
from weft.plan.relationrules import check_join
from weft.plan.relations import Entries, Kept, Made, Paired, Relation, Whether
from weft.plan.relationtree import columns
from weft.plan.rows import refuse_aggregates
from weft.plan.scope import column, names_in
from weft.plan.sources import Names, named, resolve_names, source_name


@dataclass(frozen=True, slots=True)
class _Other:
    """The rows that are asked for, what their one column is, and what ties them to the outer rows."""

    relation: Relation
    names: Names
    values: tuple[Expr, ...]
    ties: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Absence:
    """Binds what a WHERE asks of other rows."""

    around: Around
    bind_body: Bodies
    check: Conditions

    def bind(self, exists: Exists, relation: Relation, names: Names, first: int) -> Whether:
        """The rows of `relation` for which it holds; sources inside are numbered from `first`."""
        other = self._other(exists, names, first)
        ties = list(other.ties)
        if exists.operand is not None:
            ties.append(self._equal(exists, exists.operand, other, names))
        on = _all(ties)
        if on is not None:
            self.check(on, Paired(JoinKind.INNER, relation, other.relation, None), other.names, "WHERE")
        kind = JoinKind.ANTI if exists.negated else JoinKind.SEMI
        check_join(kind, relation, other.relation, exists.place)
        return Whether(relation, other.relation, on, exists.negated, exists.place)

    def _equal(self, exists: Exists, operand: Expr, other: _Other, names: Names) -> Expr:
        """SQL's rule for nulls: NOT IN holds only where it is certain that there is no equal value."""
        if len(other.values) != 1:
            raise QueryError(
                "wrong-columns", f"IN compares one value, but the subquery has {len(other.values)} columns",
                at=exists.place, help="select one column",
            )  # fmt: skip
        left, right = resolve_names(operand, names).tree, other.values[0].tree
        refuse_aggregates(
            resolve_names(operand, names), "misplaced-aggregate", "WHERE cannot hold an aggregate",
            help="put conditions on aggregates in HAVING",
        )  # fmt: skip
        equal: exp.Expr = exp.EQ(this=left.copy(), expression=right.copy())
        if exists.negated:
            equal = exp.or_(equal, _is_null(left), _is_null(right), copy=False)
        return expr(equal, exists.place)

    def _other(self, exists: Exists, names: Names, first: int) -> _Other:
        match exists.body:
            case Picking() as body if _is_simple(body):
                return self._tied(body, names, first)
            case body:
                return self._apart(exists, names, first)

    def _apart(self, exists: Exists, names: Names, first: int) -> _Other:
        """A query that does not speak of the rows around it."""
        found = self.bind_body(exists.body, Around(self.around.declared, held=True))
        made = columns(found)
        items = tuple(Named(source_name(first, one.name), expr(column(one.name)), one.type) for one in made)
        own = replace(named(first, made, ""), outer=names)
        return _Other(Made(found, items, exists.place), own, tuple(field.expr for field in own.fields))

    def _tied(self, body: Picking, names: Names, first: int) -> _Other:
        around = replace(self.around, slide=None, held=True, first=first, outer=names)
        sources = Sources(around, self.bind_body, self.check)
        relation, found = sources.bind(body.source, True)
        own = replace(found, outer=names)
        ties: list[Expr] = []
        for part in _conjuncts(body.where):
            condition = resolve_names(part, own)
            refuse_aggregates(
                condition, "misplaced-aggregate", "WHERE is about single rows and cannot hold an aggregate",
                help="put conditions on aggregates in HAVING",
            )  # fmt: skip
            _refuse_far(condition, own)
            if names_in(condition) & names.inner_names or isinstance(relation, Entries):
                ties.append(condition)  # a table is looked up as it is: all conditions are of the pair
            else:
                self.check(condition, relation, own, "WHERE")
                relation = Kept(relation, condition, condition.place)
        for each in body.exists:
            relation = self.bind(each, relation, own, sources.count)
        return _Other(relation, own, tuple(_values(body, own)), tuple(ties))


def _values(body: Picking, names: Names) -> list[Expr]:
    """What the inner SELECT selects: only IN looks at it, but names must be right."""
    items = [item.expr for item in body.items]
    if any(isinstance(item.tree, exp.Star) for item in items):
        return [field.expr for field in names.fields if field.shown]
    return [resolve_names(item, names) for item in items]


def _is_simple(body: Picking) -> bool:
    """Does it pick rows, so that the conditions of its WHERE can be asked of pairs?"""
    groups = body.group_by or body.having or body.order_by or body.limit is not None
    return not groups and not any(is_aggregate(node) for item in body.items for node in item.expr.tree.walk())


def _refuse_far(condition: Expr, names: Names) -> None:
    """Raise where a condition reaches past the SELECT around its own."""
    far = names.outer.outer if names.outer is not None else None
    if far is None:
        return
    for node in condition.tree.find_all(exp.Column):
        if node.name in far.inner_names:
            raise QueryError(
                "not-supported", "a condition reaches over two levels of subqueries", at=place_of(node),
                help="speak of the SELECT right around it",
            )  # fmt: skip


def _conjuncts(where: Expr | None) -> list[Expr]:
    if where is None:
        return []
    parts: list[exp.Expr] = [where.tree]
    while isinstance(parts[0], exp.And):
        parts[:1] = [parts[0].left, parts[0].right]
    return [expr(part) for part in parts]


def _all(parts: Sequence[Expr]) -> Expr | None:
    if not parts:
        return None
    return expr(exp.and_(*(part.tree.copy() for part in parts), copy=False), parts[0].place)


def _is_null(tree: exp.Expr) -> exp.Expr:
    return exp.Is(this=tree.copy(), expression=exp.Null())
