"""By which columns rows can be parted so that whatever meets lies in one part.

    a.k = b.k                     rows of a by k, rows of b by k: every pair lies in one part
    DISTINCT k, v of these        equal rows have the same k
    GROUP BY k                    a group has one k
    a.k = b.k AND b.j = c.j       neither k nor j: rows of c would be needed in all parts

Rows are parted where they are read, each stream in one way. What is parted by several columns together is
parted by each of them, so each is found by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import assert_never

from sqlglot import exp

from weft.lang.bodies import Emission, SetKind
from weft.lang.statements import Expr
from weft.plan.nodes import Named
from weft.plan.relationpatterns import Pattern, has_lives, relation_pattern
from weft.plan.relations import (
    AsOf,
    Distinct,
    Emitted,
    Entries,
    Grouped,
    Kept,
    Lasting,
    Leading,
    Made,
    Merged,
    Paired,
    Relation,
    Rows,
    Whether,
)
from weft.plan.relationshow import show_relation_node
from weft.plan.relationtree import columns
from weft.plan.scope import names_in
from weft.share.parts import conjuncts
from weft.share.relations.equalities import equal
from weft.share.relations.many import joined


class NoKey(Exception):
    """Rows cannot be parted; its text says why."""


@dataclass(frozen=True, slots=True)
class Parting:
    """One way to part rows: those of each stream `by` an expression; `columns` hold its value."""

    by: tuple[tuple[str, str], ...]  # stream and canonical expression, sorted
    columns: frozenset[str]

    def of(self, names: Mapping[str, str]) -> Parting:
        """The same where columns have other names; those that are not among them are lost."""
        return Parting(self.by, frozenset(names[each] for each in self.columns if each in names))

    def meet(self, other: Parting) -> Parting | None:
        """Both, if they part every stream that both read alike."""
        mine, others = dict(self.by), dict(other.by)
        if any(mine[stream] != others[stream] for stream in mine.keys() & others.keys()):
            return None
        return Parting(tuple(sorted((mine | others).items())), self.columns | other.columns)


Partings = tuple[Parting, ...]


def partings(relation: Relation) -> Partings:
    """All ways to part the rows of a lowered relation, at least one; raises `NoKey`."""
    found = tuple(dict.fromkeys(_partings(relation)))
    if not found:
        raise NoKey(f"no column is common to all that {show_relation_node(relation)} brings together")
    return found


def _partings(relation: Relation) -> Iterable[Parting]:
    match relation:
        case Rows(stream=stream, items=items):
            return _of_items(stream, items)
        case Entries(table=table):
            raise NoKey(f"it reads table `{table}`, whose versions are held in the driver")
        case Kept(source=source) | AsOf(source=source):
            return partings(source)
        case Made(source=source, items=items):
            return [_through(each, items) for each in partings(source)]
        case Lasting(source=source):
            return partings(source) if has_lives(source) else _telling(relation, partings(source))
        case Distinct(source=source):
            return _telling(relation, partings(source))
        case Paired() | Whether():
            return _matched(relation)
        case Merged():
            return _merged(relation)
        case Grouped(source=source, keys=keys):
            return _telling(relation, (_through(each, keys) for each in partings(source)))
        case Leading(limit=limit):
            raise NoKey(f"the first {limit} rows of a window are those of all buckets")
        case Emitted(source=source):
            return partings(source) if _adds_up(relation) else _telling(relation, partings(source))
        case _:
            assert_never(relation)


def _of_items(stream: str, items: Iterable[Named]) -> list[Parting]:
    """What is the same in all rows of a stream would part nothing; what is nested cannot."""
    found: dict[str, list[str]] = {}
    for item in items:
        if names_in(item.expr) and item.type is not None and "<" not in item.type:
            found.setdefault(item.expr.sql, []).append(item.name)
    if not found:
        raise NoKey(f"no column is read of the rows of `{stream}` that could part them")
    return [Parting(((stream, sql),), frozenset(names)) for sql, names in found.items()]


def _through(parting: Parting, items: Iterable[Named]) -> Parting:
    """The parting of rows of which only these columns are left, some under several names."""
    names = [item.name for item in items if _column(item.expr) in parting.columns]
    return Parting(parting.by, frozenset(names))


def _column(source: Expr) -> str | None:
    tree = source.tree.unnest()
    return tree.name if isinstance(tree, exp.Column) else None


def _telling(relation: Relation, found: Iterable[Parting]) -> Partings:
    """Those in which equal rows of the relation lie together: the rows say in which part they are."""
    told = tuple(each for each in found if each.columns)
    if not told:
        raise NoKey(f"what belongs together in {show_relation_node(relation)} may lie in different buckets")
    return told


def _adds_up(relation: Emitted) -> bool:
    """Is what is told of all parts what is told of the whole, even if equal rows lie apart?"""
    whole = (Emission.LIVES, Emission.WSTREAM, Emission.RSTREAM)
    return relation.emission in whole and relation_pattern(relation.source) is not Pattern.STRICT


def _matched(relation: Paired | Whether) -> list[Parting]:
    """Rows that match are equal in the column that parts them."""
    many = joined(relation)
    sources: Sequence[Relation]
    conditions: Sequence[Expr]
    match relation:
        case _ if many is not None:
            sources, conditions = many.sources, many.conditions
        case Paired(left=left, right=right, on=on):
            sources, conditions = (left, right), () if on is None else conjuncts(on)
        case Whether(source=source, other=other, on=on):
            sources, conditions = (source, other), () if on is None else conjuncts(on)
    each = [partings(source) for source in sources]
    sets = equal(conditions, sources).sets
    if not sets:
        raise NoKey(f"{show_relation_node(relation)} has no columns equal")
    kept = {column.name for column in columns(relation)}
    made = [_met(some) for names in sets for some in product(*(_about(names, of) for of in each))]
    return [Parting(one.by, one.columns & kept) for one in made if one is not None]


def _about(names: frozenset[str], found: Partings) -> list[Parting]:
    return [each for each in found if each.columns & names]


def _met(some: Iterable[Parting]) -> Parting | None:
    first, *others = some
    for other in others:
        if (both := first.meet(other)) is None:
            return None
        first = both
    return first


def _merged(relation: Merged) -> list[Parting]:
    """Columns are merged by place; equal rows must lie together unless all of them are kept."""
    left, right = columns(relation.left), columns(relation.right)
    same = {b.name: a.name for a, b in zip(left, right, strict=True) if a.type == b.type}
    pairs = product(partings(relation.left), (each.of(same) for each in partings(relation.right)))
    made = []
    for one, other in pairs:
        if (both := one.meet(other)) is not None:
            made.append(Parting(both.by, one.columns & other.columns))
    apart = relation.kind is SetKind.UNION and relation.all
    return [each for each in made if each.columns] or (made if apart else [])
