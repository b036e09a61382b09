"""The rule `list_equalities`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from sqlglot import exp

from weft.lang.expressions import text_of
from weft.lang.statements import Expr
from weft.optimize.conditions import Types, cannot_fail, on_conditions, on_nodes
from weft.plan.nodes import Plan


def list_equalities(plan: Plan) -> Plan:
    """Equalities of one column that OR joins are a list, so that it can be a key that groups are picked by.

        Filter venue = 'X' OR live OR 'Y' = venue    becomes    Filter venue IN ('X', 'Y') OR live

    Only of constants of one kind: beside others a value might be converted another way.
    """
    return on_conditions(plan, _list)


def _list(condition: Expr, types: Types) -> Expr:
    return on_nodes(condition, exp.Or, lambda node: _listed(node, types))


def _listed(node: exp.Or, types: Types) -> exp.Expr:
    """The node itself where there is nothing to do."""
    if not cannot_fail(node, types):
        return node
    operands, joined = list(_operands(node)), list[exp.Expr]()
    lists: dict[tuple[str, bool | None], exp.In] = {}
    for operand in operands:
        if (found := _values(operand)) is None:
            joined.append(operand.copy())
            continue
        column, values = found
        about = text_of(column), _kind(values[0])
        if about not in lists:
            lists[about] = exp.In(this=column.copy(), expressions=[])
            joined.append(lists[about])
        for value in values:
            lists[about].append("expressions", value.copy())
    if len(joined) == len(operands):
        return node
    return exp.paren(reduce(lambda one, other: exp.Or(this=one, expression=other), joined), copy=False)


def _operands(tree: exp.Expr) -> Iterator[exp.Expr]:
    """What OR joins, in order."""
    bare = tree.unnest()
    if isinstance(bare, exp.Or):
        yield from _operands(bare.left)
        yield from _operands(bare.right)
    else:
        yield tree


def _values(tree: exp.Expr) -> tuple[exp.Column, Sequence[exp.Expr]] | None:
    """A column, and the constants of one kind that it is to be equal to one of."""
    match tree.unnest():
        case exp.EQ(this=exp.Column() as column, expression=exp.Literal() as value):
            found: tuple[exp.Column, Sequence[exp.Expr]] = column, [value]
        case exp.EQ(this=exp.Literal() as value, expression=exp.Column() as column):
            found = column, [value]
        case exp.In(this=exp.Column() as column, expressions=[*values]) if values:
            found = column, values
        case _:
            return None
    kinds = {_kind(value) for value in found[1]}
    return found if len(kinds) == 1 and None not in kinds else None


def _kind(value: exp.Expr) -> bool | None:
    """Whether it is a text, or a whole number; None: neither."""
    if not isinstance(value, exp.Literal) or not (value.is_string or value.is_int):
        return None
    return bool(value.is_string)
