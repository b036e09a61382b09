"""Expressions in canonical form.

The canonical text of an expression is Spark SQL with names and calls as they were written, function names in
upper case, and parentheses exactly where precedence needs them: two expressions that Spark would read as the
same tree have the same text.
"""

from __future__ import annotations

from sqlglot import exp

from weft.errors import Place
from weft.lang.dialect import Weft, spelled
from weft.lang.sourceparser import SPAN
from weft.lang.statements import Expr
from weft.lang.text import Text

PLACE = "place"  # where a node keeps its Place, in `meta`

_OR, _AND, _NOT, _PREDICATE, _COMPARISON = range(1, 6)
_BIT_OR, _BIT_XOR, _BIT_AND, _SUM, _PRODUCT, _UNARY, _PRIMARY = range(6, 13)

LEVELS: dict[type[exp.Expr], int] = {
    exp.Or: _OR, exp.And: _AND, exp.Not: _NOT,
    exp.Is: _PREDICATE, exp.In: _PREDICATE, exp.Between: _PREDICATE, exp.Like: _PREDICATE,
    exp.ILike: _PREDICATE, exp.RegexpLike: _PREDICATE, exp.NullSafeNEQ: _PREDICATE,
    exp.EQ: _COMPARISON, exp.NEQ: _COMPARISON, exp.NullSafeEQ: _COMPARISON,
    exp.GT: _COMPARISON, exp.GTE: _COMPARISON, exp.LT: _COMPARISON, exp.LTE: _COMPARISON,
    exp.BitwiseOr: _BIT_OR, exp.BitwiseXor: _BIT_XOR, exp.BitwiseAnd: _BIT_AND,
    exp.Add: _SUM, exp.Sub: _SUM, exp.DPipe: _SUM,
    exp.Mul: _PRODUCT, exp.Div: _PRODUCT, exp.Mod: _PRODUCT, exp.IntDiv: _PRODUCT,
    exp.Neg: _UNARY, exp.BitwiseNot: _UNARY, exp.Collate: _UNARY,
}  # fmt: skip
_LEFT_ASSOCIATIVE = (_OR, _AND, _COMPARISON, _BIT_OR, _BIT_XOR, _BIT_AND, _SUM, _PRODUCT)
_PRIMARIES = (
    exp.Func, exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Star, exp.Identifier, exp.Case,
    exp.Bracket, exp.Dot, exp.Filter, exp.HexString, exp.Paren, exp.IgnoreNulls,
)  # fmt: skip
_OPEN = (exp.Func, exp.Case, exp.If, exp.Where, exp.Ordered, exp.Alias, exp.Distinct, exp.Lambda, exp.Tuple)


def expr(tree: exp.Expr, place: Place | None = None) -> Expr:
    """The expression of this tree, which is copied; its place is the tree's own unless one is given."""
    return settled(tree.copy(), place or place_of(tree))


def settled(tree: exp.Expr, place: Place | None) -> Expr:
    """The expression of this tree, which nobody else has."""
    made = parenthesised(tree)
    assert isinstance(made, exp.Expression)
    return Expr(text_of(made), made, place)


def text_of(tree: exp.Expr) -> str:
    """The text of a tree; that of a column, as most are, without a generator."""
    if type(tree) is exp.Column and len(tree.parts) == 1 and isinstance(tree.this, exp.Identifier):
        return spelled(tree.this)
    return tree.sql(dialect=Weft, comments=False)


def place_of(tree: exp.Expr) -> Place | None:
    """Where the text of this tree stands: its own place, else that of its first part that has one."""
    for node in tree.walk(bfs=False):
        place = node.meta.get(PLACE)
        if isinstance(place, Place):
            return place
    return None


def with_places(tree: exp.Expr, text: Text) -> exp.Expr:
    """The same tree, its nodes told their places in the text."""
    for node in tree.walk():
        meta = node.meta
        span = meta.pop(SPAN, None)
        start, end = meta.pop("start", None), meta.pop("end", None)
        meta.pop("line", None)
        meta.pop("col", None)
        if span is None and start is not None and end is not None:
            span = (start, end + 1)
        if span is not None:
            meta[PLACE] = text.place(*span)
    return tree


def parenthesised(tree: exp.Expr) -> exp.Expr:
    """The tree with parentheses exactly where precedence needs them; it is changed in place."""
    while isinstance(tree, exp.Paren) and _level(tree.this) is not None:
        tree = tree.this.pop()
    for node in list(tree.walk()):
        parent = node.parent
        if parent is None or node is tree:
            continue
        need = _needed(parent, node)
        if need is None:
            continue
        if isinstance(node, exp.Paren):
            _unwrap(node, need)
        elif (_level(node) or _PRIMARY) < need:
            paren = exp.Paren()
            node.replace(paren)
            paren.set("this", node)
    return tree


def _unwrap(paren: exp.Paren, need: int) -> None:
    inner = paren.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    level = _level(inner)
    if level is not None and level >= need:
        paren.replace(inner)
    elif inner is not paren.this:
        paren.set("this", inner)


def _level(node: exp.Expr) -> int | None:
    """How tightly the outermost operator binds; None for nodes whose parentheses are left alone."""
    if type(node) in LEVELS:
        return LEVELS[type(node)]
    return _PRIMARY if isinstance(node, _PRIMARIES) else None


def _needed(parent: exp.Expr, node: exp.Expr) -> int | None:
    """How tightly an operand in this slot must bind to stand without parentheses; None: leave it alone."""
    level = LEVELS.get(type(parent))
    key = node.arg_key
    if level is None:
        if isinstance(parent, exp.Bracket | exp.Dot):
            return _PRIMARY if key == "this" else 0
        return 0 if isinstance(parent, _OPEN) else None
    if level in _LEFT_ASSOCIATIVE:
        return level if key == "this" else level + 1
    if level == _PREDICATE:
        return 0 if key == "expressions" else _COMPARISON if key == "this" else _BIT_OR
    return level
