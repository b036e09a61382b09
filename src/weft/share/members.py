"""A query on its way into the shared plan: taken apart, made safe, its predicate split, its partials known.

Nothing here looks at other queries, so it is worked out once for as long as a query runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from weft.errors import Bug
from weft.lang.statements import Expr, WindowSpec
from weft.plan.coercion import decimal_parts, is_decimal
from weft.plan.known import is_known
from weft.plan.nodes import Project, Query
from weft.share.guards import Guarded, guarded
from weft.share.nodes import Op, Partial, Standing
from weft.share.partials import Recipe, has_extra_key, recipe
from weft.share.parts import Parts, conjunction
from weft.share.predicates import Apart, Condition, Split, Types, split

_RANKED = ("string", "binary", "varchar", "char")
_LONGEST_CODED = 18  # digits of a decimal that fit a 64-bit code


@dataclass(frozen=True, slots=True)
class Taken:
    """A query taken apart, its expressions safe, its predicate split."""

    query: Query
    parts: Parts
    safe: Guarded
    where: Split
    may_pick: bool

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """That groups could be picked by."""
        return self.where.conditions if self.may_pick else ()

    @property
    def said(self) -> dict[str, Expr]:
        """How a signature says what keeps failing rows out: of rows that pass the rest, in common words."""
        if not self.where.parts or self.safe.inside is None:
            return {}
        return {self.where.parts[-1][0].sql: self.safe.inside}


def take(query: Query, found: Parts, types: Types) -> Taken:
    """The query of these parts taken apart, over columns of these types."""
    safe = guarded(query.name, found, types)
    may_pick = found.aggregate is not None and _may_pick(query, safe, types)
    return Taken(query, found, safe, split(safe.where, types), may_pick)


def _may_pick(query: Query, safe: Guarded, types: Types) -> bool:
    """Windows without rows have no group to pick, sets of values are kept by group, and a condition that is
    picked by keeps no row from what else is evaluated.
    """
    if query.emit_empty or any(map(has_extra_key, safe.calls)):
        return False
    below = (part for call in safe.calls for part in (*call.args, call.filter))
    return all(is_known(part, types) for part in (safe.where, *safe.keys, *below) if part is not None)


@dataclass(frozen=True, slots=True)
class Member:
    """An aggregate query, or one of its grouping sets, with the keys of that."""

    query: Query
    window: WindowSpec
    guarded: Guarded
    recipes: tuple[Recipe, ...]
    key_types: tuple[str | None, ...]
    apart: Apart  # its predicate
    seen: tuple[Expr | None, ...]  # all group keys of the query; None: the set leaves it out

    @property
    def present(self) -> Partial:
        return Partial(Op.COUNT, where=self.apart.rest)

    @property
    def inner(self) -> frozenset[Expr]:
        """The keys by which it picks several groups that are one for it."""
        several = {picked.key for picked in self.apart.picked if picked.several}
        return frozenset(several - set(self.guarded.keys))

    def sources(self) -> Iterator[Expr | None]:
        """All its expressions over rows."""
        yield from (self.guarded.where, *self.guarded.keys, *(each.key for each in self.apart.picked))
        for made in self.recipes:
            yield made.extra
            yield from (part for p in made.partials for part in (p.arg, p.by, p.where))


def members(taken: Taken, keys: tuple[str, ...], types: Types) -> Iterator[Member]:
    """A member for each grouping set of a query, or one if it has none; `keys` are those it picks by."""
    query, aggregate, safe = taken.query, taken.parts.aggregate, taken.safe
    if taken.parts.window is None or aggregate is None:
        raise Bug("plan-shape", f"`{query.name}` aggregates without a window")
    apart = taken.where.apart(keys, types, taken.said)
    recipes = tuple(recipe(call, _both(apart.rest, call.filter)) for call in safe.calls)
    for each in aggregate.sets or (tuple(range(len(safe.keys))),):
        of_set = replace(safe, keys=tuple(safe.keys[at] for at in each))
        key_types = tuple(aggregate.keys[at].type for at in each)
        seen = tuple(key if at in each else None for at, key in enumerate(safe.keys))
        yield Member(query, taken.parts.window, of_set, recipes, key_types, apart, seen)


def _both(where: Expr | None, filter_: Expr | None) -> Expr | None:
    return conjunction([part for part in (where, filter_) if part is not None])


def standing(taken: Taken) -> Standing:
    """A query without windows, with items that cannot fail."""
    query, safe = taken.query, taken.safe
    assert isinstance(query.plan, Project)
    items = tuple(replace(item, expr=made) for item, made in zip(query.plan.items, safe.keys, strict=True))
    return Standing(replace(query, plan=replace(query.plan, items=items)), safe.where)


def columns_in(*expressions: Expr | None) -> Iterator[str]:
    """The columns that expressions speak of."""
    for one in expressions:
        if one is not None:
            yield from (column.name for column in one.tree.find_all(exp.Column))


def method(made: Recipe) -> str:
    """How windows come out of slices: by difference where that is exact, else by combining."""
    if made.extra is not None:
        return "distinct"
    partial = made.partials[0]
    if partial.op in (Op.COUNT, Op.SUM_INT, Op.SUM_LONG, Op.SUM_DECIMAL, Op.SUM_WIDE):
        return "prefix"
    return "ranked" if is_ranked(partial.type) or is_ranked(partial.by_type) else "dyadic"


def is_ranked(type_: str | None) -> bool:
    """Whether values of the type are too long for a code of their own, so that they are ranked."""
    if type_ is not None and is_decimal(type_):
        return decimal_parts(type_)[0] > _LONGEST_CODED
    return type_ is not None and type_.startswith(_RANKED)
