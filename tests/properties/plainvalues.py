"""What expressions are on single rows, without SQL; None is null."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from weft.lang.statements import Expr

Row = dict[str, Any]

_COMPARED: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}


def is_true(predicate: Expr, row: Row) -> bool:
    return value(predicate.tree, row) is True


def value(tree: exp.Expr, row: Row) -> Any:
    """What an expression is on a row; None is null."""
    match tree:
        case exp.Column():
            return row[tree.name]
        case exp.Literal():
            return tree.name if tree.is_string else int(tree.name)
        case exp.Paren() | exp.Cast():
            return value(tree.this, row)
        case exp.Not():
            inner = value(tree.this, row)
            return None if inner is None else not inner
        case exp.Neg():
            inner = value(tree.this, row)
            return None if inner is None else -inner
        case exp.Is():
            return value(tree.this, row) is None
        case exp.And() | exp.Or():
            decides = isinstance(tree, exp.Or)
            sides = [value(tree.left, row), value(tree.right, row)]
            return decides if decides in sides else None if None in sides else not decides
        case exp.NullSafeEQ():
            return value(tree.left, row) == value(tree.right, row)
        case _:
            left, right = value(tree.left, row), value(tree.right, row)
            return None if left is None or right is None else _COMPARED[type(tree)](left, right)
