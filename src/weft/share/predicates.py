"""Predicates -> keys: what many queries differ in becomes a key of their feed, and each picks its groups.

    q1  WHERE customer = 'a' AND price > 10          feed by customer, of the rows WHERE price > 10
    q2  WHERE customer = 'b' AND price > 10          q1 picks the group 'a', q2 'b', q3 'c' and 'd'
    q3  WHERE customer IN ('c', 'd') AND price > 10

Row by row a thousand such conditions cost a thousand comparisons, and their partials a thousand columns. As a
key they cost a cell for each customer in a slice, and there are never more cells than rows.

What is decided for a query holds as long as it runs: its partials are kept under these keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.share.parts import conjunction

MANY = 8  # different conditions on one column, from which on a cell for each value costs less than they do

Value = str | int | bool
Types = Mapping[str, str | None]
Hidden = Mapping[str, tuple[str, ...]]  # by query: the columns it picks groups by, as SQL

_WHOLE = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}  # bits


@dataclass(frozen=True, slots=True)
class Equals:
    """A condition that a column has one of some values."""

    column: Expr
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Apart:
    """A predicate taken apart: conditions that are met by picking groups, and what rows are asked."""

    picked: tuple[Equals, ...]
    rest: Expr | None


def conditions(where: Expr | None, types: Types) -> list[Equals]:
    """The parts of a predicate that groups could be picked by."""
    if where is None:
        return []
    found = (_equals(part, types) for part in _conjuncts(where))
    return [each for each in found if each is not None]


def take_apart(where: Expr | None, columns: Iterable[str], types: Types) -> Apart:
    """A predicate with its conditions on these columns told apart."""
    wanted, picked, rest = set(columns), [], []
    for part in [] if where is None else _conjuncts(where):
        found = _equals(part, types)
        if found is not None and found.column.sql in wanted:
            picked.append(found)
        else:
            rest.append(expr(part))
    return Apart(tuple(picked), conjunction(rest))


def decide(wheres: Mapping[str, Expr | None], types: Types, fixed: Hidden) -> dict[str, tuple[str, ...]]:
    """For each query the columns it is to pick groups by; what is `fixed` stays as it is."""
    found = {name: conditions(where, types) for name, where in wheres.items()}
    distinct = {condition for each in found.values() for condition in each}
    counts = Counter(condition.column.sql for condition in distinct)
    return {name: fixed[name] if name in fixed else _best(each, counts) for name, each in found.items()}


def _best(conditions: list[Equals], counts: Counter[str]) -> tuple[str, ...]:
    """The column with the most conditions, if they are many."""
    columns = {condition.column.sql for condition in conditions}
    ordered = sorted(columns, key=lambda name: (-counts[name], name))
    return tuple(name for name in ordered[:1] if counts[name] >= MANY)


def _conjuncts(where: Expr) -> list[exp.Expr]:
    return list(where.tree.flatten()) if isinstance(where.tree, exp.And) else [where.tree]


def _equals(tree: exp.Expr, types: Types) -> Equals | None:
    match tree.unnest():
        case exp.EQ(this=left, expression=right):
            column, value = (left, right) if isinstance(left.unnest(), exp.Column) else (right, left)
            return _condition(column, [value], types)
        case exp.In() as inside if inside.expressions:
            return _condition(inside.this, inside.expressions, types)
    return None


def _condition(column: exp.Expr, values: list[exp.Expr], types: Types) -> Equals | None:
    column = column.unnest()
    if not isinstance(column, exp.Column) or column.table:
        return None
    found = [_value(value.unnest(), types.get(column.name)) for value in values]
    if any(value is None for value in found):
        return None
    return Equals(expr(column), tuple(dict.fromkeys(value for value in found if value is not None)))


def _value(tree: exp.Expr, type_: str | None) -> Value | None:
    """What a literal says, where it is of the column's own type: nothing is converted to compare them."""
    match tree:
        case exp.Boolean(this=value) if type_ == "boolean":
            return bool(value)
        case exp.Literal(is_string=True, this=text) if type_ == "string":
            return str(text)
        case exp.Neg(this=exp.Literal() as literal):
            value = _value(literal, type_)
            return -value if isinstance(value, int) and type_ in _WHOLE else None
        case exp.Literal(is_string=False, this=text) if type_ in _WHOLE and text.isdecimal():
            return int(text) if int(text) < 1 << (_WHOLE[type_] - 1) else None
    return None
