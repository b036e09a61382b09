"""Columns are made once, and where rows are read if they are about one source, so that Spark makes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from weft.lang.bodies import JoinKind
from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.optimize.relationfilters import substituted
from weft.plan.failures import failing
from weft.plan.nodes import Aggregation, Named
from weft.plan.relations import (
    AsOf,
    Entries,
    Grouped,
    Kept,
    Leading,
    Made,
    Paired,
    Relation,
    Rows,
    Whether,
)
from weft.plan.relationtree import below, columns, onto, rewrite_up
from weft.plan.scope import column
from weft.plan.types import infer

Leaf = Rows | Entries

_PLAIN = (exp.Column, exp.Literal, exp.Paren, exp.Lambda, exp.Identifier, exp.DataType)


def merge_made(relation: Relation) -> Relation:
    """Columns made of columns that are made are made at once, of the rows of a leaf in that leaf.

    Made b = a + 1  <-  Made a = x * 2  <-  Rows (x)    becomes    Rows (b = x * 2 + 1)
    """
    match relation:
        case Made(source=Made(source=source, items=inner), items=items):
            return replace(relation, source=source, items=_over(items, inner))
        case Made(source=Rows(items=inner) | Entries(items=inner) as leaf, items=items):
            return replace(leaf, items=_over(items, inner))
        case _:
            return relation


def _over(items: tuple[Named, ...], inner: tuple[Named, ...]) -> tuple[Named, ...]:
    return tuple(Named(item.name, substituted(item.expr, inner), item.type) for item in items)


def make_at_leaves(relation: Relation) -> Relation:
    """Expressions over one source become columns of that source.

    Not those that can fail, which would meet rows without a partner, and not those over the side of an outer
    join that may be all nulls, of which they may make something else.
    """
    return rewrite_up(relation, _with_leaves)


def _with_leaves(relation: Relation) -> Relation:
    maker = _Maker(below(relation))
    changed = _changed(relation, maker)
    if not maker.found:
        return relation
    return onto(changed, tuple(maker.apply(source) for source in below(relation)))


def _changed(relation: Relation, maker: _Maker) -> Relation:
    """The node with expressions replaced by columns that leaves make."""
    match relation:
        case Made(items=items):
            return replace(relation, items=tuple(maker.named(item) for item in items))
        case Kept(predicate=predicate):
            return replace(relation, predicate=maker.made(predicate))
        case Paired(on=Expr() as on):
            return replace(relation, on=maker.made(on))
        case Whether(on=Expr() as on):
            return replace(relation, on=maker.made(on))
        case Grouped(keys=keys, aggregations=calls):
            made = tuple(maker.call(call) for call in calls)
            return replace(relation, keys=tuple(maker.named(key) for key in keys), aggregations=made)
        case Leading(order=order):
            return replace(relation, order=tuple(replace(key, expr=maker.made(key.expr)) for key in order))
        case _:
            return relation


@dataclass(slots=True)
class _Maker:
    """Notes which columns leaves are to make, by the leaf and what it is."""

    sources: tuple[Relation, ...]
    found: dict[str, tuple[Leaf, Expr, str]] = field(default_factory=dict)  # by name: where, what, type
    _leaves: dict[str, Leaf] = field(init=False)
    _types: dict[str, str | None] = field(init=False)

    def __post_init__(self) -> None:
        self._leaves = {name: leaf for source in self.sources for name, leaf in _reachable(source)}
        self._types = {one.name: one.type for source in self.sources for one in columns(source)}

    def named(self, item: Named) -> Named:
        return replace(item, expr=self.made(item.expr, item.type))

    def call(self, call: Aggregation) -> Aggregation:
        args = (self.made(arg, type_) for arg, type_ in zip(call.args, call.arg_types, strict=True))
        return replace(call, args=tuple(args), filter=call.filter and self.made(call.filter))

    def made(self, source: Expr, type_: str | None = None) -> Expr:
        """The expression with columns for the largest parts of it that a leaf can make."""

        def visit(node: exp.Expr) -> exp.Expr:
            name = self._name(node, type_ if node.parent is None else None)
            return node if name is None else column(name)

        tree = source.tree.transform(visit)
        return source if tree == source.tree else expr(tree, source.place)

    def _name(self, tree: exp.Expr, type_: str | None) -> str | None:
        """The column of a leaf that the expression becomes; None: it does not."""
        names = {node.name for node in tree.find_all(exp.Column)}
        leaves = {id(self._leaves[name]): self._leaves[name] for name in names if name in self._leaves}
        if _is_plain(tree) or len(leaves) != 1 or not names <= self._leaves.keys():
            return None
        type_ = type_ or infer(tree, self._types)
        if type_ is None or failing(expr(tree), self._types) is not None:
            return None
        (leaf,) = leaves.values()
        return self._made_by(leaf, substituted(expr(tree), leaf.items), type_)

    def _made_by(self, leaf: Leaf, what: Expr, type_: str) -> str:
        for name, (where, other, _) in self.found.items():
            if where is leaf and other == what:
                return name
        known = next((item.name for item in leaf.items if item.expr == what), None)
        name = known or _free(leaf, self.found)
        self.found[name] = (leaf, what, type_)
        return name

    def apply(self, relation: Relation) -> Relation:
        """The relation with the leaves making what is asked of them."""

        def change(node: Relation) -> Relation:
            if not isinstance(node, Rows | Entries):
                return node
            own = {item.name for item in node.items}
            more = [
                Named(name, what, type_)
                for name, (leaf, what, type_) in self.found.items()
                if leaf is node and name not in own
            ]
            return replace(node, items=(*node.items, *more)) if more else node

        return rewrite_up(relation, change)


def _free(leaf: Leaf, taken: Mapping[str, object]) -> str:
    """A name for a new column of the leaf: `_s0__0`, `_s0__1`, ..."""
    prefix = "_".join(leaf.items[0].name.split("_")[:2])
    used = {item.name for item in leaf.items} | taken.keys()
    return next(name for number in range(len(used) + 1) if (name := f"{prefix}__{number}") not in used)


def _reachable(relation: Relation) -> Iterator[tuple[str, Leaf]]:
    """The columns that come from a leaf just as it makes them, and that leaf."""
    match relation:
        case Rows(items=items) | Entries(items=items):
            yield from ((item.name, relation) for item in items)
        case Kept(source=source) | AsOf(source=source) | Whether(source=source):
            yield from _reachable(source)
        case Paired(kind=kind, left=left, right=right):
            if kind in (JoinKind.INNER, JoinKind.LEFT):
                yield from _reachable(left)
            if kind in (JoinKind.INNER, JoinKind.RIGHT):
                yield from _reachable(right)
        case _:
            pass


def _is_plain(tree: exp.Expr) -> bool:
    """Is there nothing to make, or would it be torn out of a function of its own?"""
    if isinstance(tree, exp.Is) and isinstance(tree.this, exp.Column):
        return True
    return isinstance(tree, _PLAIN) or tree.find_ancestor(exp.Lambda) is not None
