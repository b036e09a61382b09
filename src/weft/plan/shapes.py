"""Expressions that differ only in the values which columns are compared with are of one shape.

    key = 17 AND UPPER(city) = 'OSLO'        key = <int> AND UPPER(city) = 'OSLO'
    key = 4 AND UPPER(city) = 'OSLO'         the same

What Spark's analyzer says of one it says of all of that shape. A value that a function is given is part of
the shape: some are looked at by the analyzer.
"""

from __future__ import annotations

from collections.abc import Hashable

from sqlglot import exp

from weft.lang.expressions import text_of
from weft.lang.statements import Expr

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ)
_INT_DIGITS = 9  # that always fit one; a number of more may be of another type
_ESCAPING = frozenset("\\'\n")


def shape_of(source: Expr) -> Hashable:
    """The same for expressions of one shape."""
    found = _shape(source.tree)
    return source.sql if found is None else found


def _shape(tree: exp.Expr) -> Hashable | None:
    """None: the text itself."""
    match tree:
        case exp.And() | exp.Or():
            sides = [_shape(side) or text_of(side) for side in (tree.left, tree.right)]
            return (type(tree), *sides)
        case exp.Paren():
            return _shape(tree.this)
        case exp.Binary() if type(tree) in _COMPARISONS and isinstance(tree.left, exp.Column):
            value = _kind(tree.right)
            return None if value is None else (type(tree), text_of(tree.left), value)
        case exp.In() if isinstance(tree.this, exp.Column) and tree.expressions:
            values = frozenset(_kind(each) for each in tree.expressions)
            return None if None in values else (exp.In, text_of(tree.this), values)
    return None


def _kind(tree: exp.Expr) -> str | None:
    """Of what kind a value is that a column is compared with; None: it may be of a kind of its own."""
    match tree:
        case exp.Literal(is_string=True, this=text):
            return None if _ESCAPING & set(text) else "string"
        case exp.Neg(this=exp.Literal(is_string=False) as number):
            found = _kind(number)
            return None if found is None else f"-{found}"
        case exp.Literal(this=text):
            whole, _, fraction = text.partition(".")
            if whole.isdecimal() and len(whole) <= _INT_DIGITS and (fraction.isdecimal() or whole == text):
                return f"decimal({len(whole)}, {len(fraction)})" if fraction else "int"
    return None
