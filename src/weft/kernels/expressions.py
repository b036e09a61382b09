"""Expressions above the aggregates, on whole columns: a closed set, with Spark's values to the bit.

`compile` gives None for what lies outside the set, or where it is not sure of Spark's types; Spark evaluates
that. A branch that is not taken does not fail: `CASE WHEN n > 0 THEN s / n END` is safe where n is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from weft.kernels import arithmetic, logic
from weft.kernels.arithmetic import Operation, binary, divided
from weft.kernels.intervals import numbered, numbered_texts
from weft.kernels.picks import INTERVAL
from weft.kernels.values import (
    KNOWN,
    NUMBERS,
    Bools,
    Value,
    constant,
    convert,
    from_arrow,
    to_arrow,
    widest,
)

Columns = Mapping[str, pa.Array]
Run = Callable[[Columns, int], Value]


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression ready to run. `column` names it where it is nothing but a column."""

    type: str
    evaluate: Run
    column: str | None = None

    def run(self, columns: Columns) -> tuple[pa.Array, Bools | None]:
        """Its value in every row, and the rows on which it fails (None: none)."""
        if self.column is not None:
            return columns[self.column], None
        value = self.evaluate(columns, len(next(iter(columns.values()))))
        fails = value.fails if value.fails is not None and value.fails.any() else None
        return to_arrow(value, self.type), fails


@dataclass(frozen=True, slots=True)
class Node:
    """An expression of a type; besides SQL's own, `null` and `decimal` (a literal with a point)."""

    type: str
    run: Run


class Outside(Exception):
    """Not in the closed set."""


def compile(tree: exp.Expr, types: Mapping[str, str]) -> Compiled | None:
    """`tree` over columns of these types; None when only Spark can do it."""
    if isinstance(tree, exp.Column):
        type_ = types.get(tree.name)
        return None if type_ is None else Compiled(type_, _never, tree.name)
    try:
        node = _node(tree, types)
    except Outside:
        return None
    return Compiled(node.type, node.run) if node.type in KNOWN else None


def _never(_: Columns, __: int) -> Value:
    raise AssertionError("a bare column is passed on as it is")


def _node(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    maker = _MAKERS.get(type(tree))
    if maker is None:
        raise Outside
    return maker(tree, types)


def _column(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    name, type_ = tree.name, types.get(tree.name)
    if type_ not in KNOWN:
        raise Outside
    return Node(type_, lambda columns, _: from_arrow(columns[name], type_))


def _literal(tree: exp.Expr, _: Mapping[str, str]) -> Node:
    text = tree.name
    if tree.args.get("is_string"):
        return _constant(text, "string")
    if text.isdigit():
        whole = int(text)
        if whole > 2**63 - 1:
            raise Outside
        return _constant(whole, "int" if whole < 2**31 else "bigint")
    try:
        number = float(text)
    except ValueError:
        raise Outside from None
    if "e" in text.lower():
        return _constant(number, "double")
    return Node("decimal", lambda _, count: constant(number, "double", count))


def _constant(value: Any, type_: str) -> Node:
    return Node(type_, lambda _, count: constant(value, type_, count))


def _null(_: exp.Expr, __: Mapping[str, str]) -> Node:
    return Node("null", lambda _, count: constant(None, "boolean", count))


def _boolean(tree: exp.Expr, _: Mapping[str, str]) -> Node:
    return _constant(bool(tree.this), "boolean")


def _paren(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    return _node(tree.this, types)


def _as(node: Node, type_: str) -> Run:
    """The node widened to a type."""
    if node.type == "null":
        return lambda _, count: constant(None, type_, count)
    source = "double" if node.type == "decimal" else node.type
    if source == type_:
        return node.run
    return lambda columns, count: convert(node.run(columns, count), source, type_)


def _operands(tree: exp.Expr, types: Mapping[str, str]) -> tuple[Run, Run, str]:
    """Both sides of an operator, as the type they meet at."""
    left, right = _node(tree.this, types), _node(tree.expression, types)
    type_ = widest([left.type, right.type])
    if type_ is None:
        raise Outside
    return _as(left, type_), _as(right, type_), type_


def _arithmetic(operation: Operation) -> Callable[[exp.Expr, Mapping[str, str]], Node]:
    def make(tree: exp.Expr, types: Mapping[str, str]) -> Node:
        left, right, type_ = _operands(tree, types)
        if type_ not in NUMBERS:
            raise Outside
        return Node(type_, lambda c, n: binary(operation, left(c, n), right(c, n), type_))

    return make


def _division(operation: Operation, result: str | None) -> Callable[[exp.Expr, Mapping[str, str]], Node]:
    def make(tree: exp.Expr, types: Mapping[str, str]) -> Node:
        left, right, type_ = _operands(tree, types)
        if type_ not in NUMBERS or (operation is arithmetic.whole_quotient and type_ == "double"):
            raise Outside
        return Node(result or type_, lambda c, n: divided(operation, left(c, n), right(c, n), type_))

    return make


def _same(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    left, right, _ = _operands(tree, types)
    return Node("boolean", lambda c, n: logic.same(left(c, n), right(c, n)))


def _comparison(compare: logic.Comparison) -> Callable[[exp.Expr, Mapping[str, str]], Node]:
    def make(tree: exp.Expr, types: Mapping[str, str]) -> Node:
        if _is_text(tree.this, types) and _is_string(tree.expression):
            by_arrow, text = _TEXT_COMPARISONS[compare], tree.expression.name
            return _text_test(tree.this.name, lambda column: by_arrow(column, text))
        left, right, type_ = _operands(tree, types)
        return Node("boolean", lambda c, n: logic.compared(compare, left(c, n), right(c, n), type_))

    return make


def _is_text(tree: exp.Expr, types: Mapping[str, str]) -> bool:
    return isinstance(tree, exp.Column) and types.get(tree.name) == "string"


def _is_string(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Literal) and bool(tree.is_string)


def _text_test(name: str, test: Callable[[pa.Array], pa.Array]) -> Node:
    """A test of a column of strings, done by Arrow: there are no Python strings then."""

    def run(columns: Columns, _: int) -> Value:
        column = columns[name]
        null = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        return Value(test(column).fill_null(False).to_numpy(zero_copy_only=False), null)

    return Node("boolean", run)


_TEXT_COMPARISONS: dict[logic.Comparison, Callable[..., pa.Array]] = {
    logic.equal: pc.equal,
    logic.unequal: pc.not_equal,
    logic.less: pc.less,
    logic.at_most: pc.less_equal,
    logic.more: pc.greater,
    logic.at_least: pc.greater_equal,
}


def _truth(tree: exp.Expr, types: Mapping[str, str]) -> Run:
    node = _node(tree, types)
    if node.type not in ("boolean", "null"):
        raise Outside
    return _as(node, "boolean")


def _and(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    left, right = _truth(tree.this, types), _truth(tree.expression, types)
    return Node("boolean", lambda c, n: logic.conjunction(left(c, n), right(c, n)))


def _or(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    left, right = _truth(tree.this, types), _truth(tree.expression, types)
    return Node("boolean", lambda c, n: logic.disjunction(left(c, n), right(c, n)))


def _not(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    inner = _truth(tree.this, types)
    return Node("boolean", lambda c, n: logic.negation(inner(c, n)))


def _is(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    if not isinstance(tree.expression, exp.Null):
        raise Outside
    inner = _node(tree.this, types)
    run = _as(inner, "boolean") if inner.type == "null" else inner.run
    return Node("boolean", lambda c, n: logic.is_null(run(c, n)))


def _between(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    if tree.args.get("symmetric"):
        raise Outside
    low = exp.GTE(this=tree.this.copy(), expression=tree.args["low"].copy())
    high = exp.LTE(this=tree.this.copy(), expression=tree.args["high"].copy())
    return _and(exp.And(this=low, expression=high), types)


def _in(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    if tree.args.get("query") or tree.args.get("unnest") or not tree.expressions:
        raise Outside
    if _is_text(tree.this, types) and all(map(_is_string, tree.expressions)):
        among = pa.array([each.name for each in tree.expressions], pa.string())
        return _text_test(tree.this.name, partial(pc.is_in, value_set=among))
    nodes = [_node(part, types) for part in (tree.this, *tree.expressions)]
    type_ = widest([node.type for node in nodes])
    if type_ is None:
        raise Outside
    value, *listed = [_as(node, type_) for node in nodes]

    def run(columns: Columns, count: int) -> Value:
        needle = value(columns, count)
        found = [logic.compared(logic.equal, needle, one(columns, count), type_) for one in listed]
        result = found[0]
        for other in found[1:]:
            result = logic.disjunction(result, other)
        return result

    return Node("boolean", run)


def _interval(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    """The number of the interval that a column falls into, cut at literals."""
    if tree.name != INTERVAL:
        raise Outside
    name, cuts = tree.expressions[0].this.name, tree.expressions
    literals = [_node(cut.expression, types) for cut in cuts]
    type_ = widest([_column(cuts[0].this, types).type, *(literal.type for literal in literals)])
    if type_ is None:
        raise Outside
    at = np.array([_as(literal, type_)({}, 1).data[0] for literal in literals])
    past = np.array([isinstance(cut, exp.GT) for cut in cuts])

    def run(columns: Columns, _: int) -> Value:
        value = from_arrow(columns[name], types[name])
        return Value(numbered(value.data, at[~past], at[past]), value.null)

    def run_texts(columns: Columns, _: int) -> Value:
        column, texts = columns[name], (pa.array(at[which], pa.string()) for which in (~past, past))
        null = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        return Value(numbered_texts(column, *texts), null)

    return Node("int", run_texts if type_ == "string" else run)


def _case(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    subject = tree.args.get("this")
    tests, values = [], []
    for branch in tree.args["ifs"]:
        test = branch.this if subject is None else exp.EQ(this=subject.copy(), expression=branch.this.copy())
        tests.append(_truth(test, types))
        values.append(_node(branch.args["true"], types))
    default = tree.args.get("default")
    values.append(_null(tree, types) if default is None else _node(default, types))
    return _chosen(tests, values)


def _if(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    default = tree.args.get("false")
    values = [
        _node(tree.args["true"], types),
        _null(tree, types) if default is None else _node(default, types),
    ]
    return _chosen([_truth(tree.this, types)], values)


def _chosen(tests: Sequence[Run], values: Sequence[Node]) -> Node:
    type_ = widest([value.type for value in values])
    if type_ is None:
        raise Outside
    runs = [_as(value, type_) for value in values]
    return Node(type_, lambda c, n: logic.chosen([test(c, n) for test in tests], [run(c, n) for run in runs]))


def _coalesce(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    values = [_node(part, types) for part in (tree.this, *tree.expressions)]
    type_ = widest([value.type for value in values])
    if type_ is None:
        raise Outside
    runs = [_as(value, type_) for value in values]
    return Node(type_, lambda c, n: logic.coalesced([run(c, n) for run in runs]))


def _nullif(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    equal = exp.EQ(this=tree.this.copy(), expression=tree.expression.copy())
    return _chosen([_truth(equal, types)], [_null(tree, types), _node(tree.this, types)])


def _extreme(greatest: bool) -> Callable[[exp.Expr, Mapping[str, str]], Node]:
    def make(tree: exp.Expr, types: Mapping[str, str]) -> Node:
        values = [_node(part, types) for part in (tree.this, *tree.expressions)]
        type_ = widest([value.type for value in values])
        if type_ not in NUMBERS:
            raise Outside
        runs = [_as(value, type_) for value in values]
        return Node(type_, lambda c, n: logic.extreme([run(c, n) for run in runs], type_, greatest))

    return make


def _number(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    node = _node(tree, types)
    if node.type not in NUMBERS:
        raise Outside
    return node


def _negate(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    if isinstance(tree.this, exp.Literal):
        return _negative_literal(tree.this, types)
    node = _number(tree.this, types)
    return Node(node.type, lambda c, n: arithmetic.negate(node.run(c, n), node.type))


def _negative_literal(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    node = _node(tree, types)
    if node.type == "string":
        raise Outside
    if tree.name.isdigit() and int(tree.name) == 2**31:  # -2147483648 is an int, its digits alone are not
        raise Outside

    def run(columns: Columns, count: int) -> Value:
        value = node.run(columns, count)
        return Value(-value.data, value.null, value.fails)

    return Node(node.type, run)


def _absolute(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    node = _number(tree.this, types)
    return Node(node.type, lambda c, n: arithmetic.absolute(node.run(c, n), node.type))


def _floor_or_ceil(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    if tree.args.get("decimals") is not None:
        raise Outside
    node, up = _number(tree.this, types), isinstance(tree, exp.Ceil)
    return Node("bigint", lambda c, n: arithmetic.to_whole(node.run(c, n), up))


def _square_root(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    node = _number(tree.this, types)
    return Node("double", lambda c, n: arithmetic.square_root(node.run(c, n)))


def _round(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    node, places = _node(tree.this, types), tree.args.get("decimals")
    digits = int(places.name) if isinstance(places, exp.Literal) and places.name.isdigit() else None
    if node.type != "double" or tree.args.get("truncate") or (places is not None and digits is None):
        raise Outside
    if (digits or 0) > 15:
        raise Outside
    return Node("double", lambda c, n: arithmetic.round_half_up(node.run(c, n), digits or 0))


def _cast(tree: exp.Expr, types: Mapping[str, str]) -> Node:
    node, to = _node(tree.this, types), _CASTS.get(tree.args["to"].this)
    if to is None or tree.args.get("format"):
        raise Outside
    if node.type == "decimal" and to == "double":
        return Node("double", node.run)
    if node.type not in NUMBERS:
        raise Outside
    return Node(to, lambda c, n: arithmetic.cast_number(node.run(c, n), node.type, to))


_CASTS = {
    exp.DataType.Type.TINYINT: "tinyint",
    exp.DataType.Type.SMALLINT: "smallint",
    exp.DataType.Type.INT: "int",
    exp.DataType.Type.BIGINT: "bigint",
    exp.DataType.Type.DOUBLE: "double",
}

_MAKERS: dict[type[Any], Callable[[exp.Expr, Mapping[str, str]], Node]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Null: _null,
    exp.Boolean: _boolean,
    exp.Paren: _paren,
    exp.Add: _arithmetic(arithmetic.add),
    exp.Sub: _arithmetic(arithmetic.subtract),
    exp.Mul: _arithmetic(arithmetic.multiply),
    exp.Div: _division(arithmetic.divide, "double"),
    exp.Mod: _division(arithmetic.remainder, None),
    exp.IntDiv: _division(arithmetic.whole_quotient, "bigint"),
    exp.EQ: _comparison(logic.equal),
    exp.NEQ: _comparison(logic.unequal),
    exp.NullSafeEQ: _same,
    exp.LT: _comparison(logic.less),
    exp.LTE: _comparison(logic.at_most),
    exp.GT: _comparison(logic.more),
    exp.GTE: _comparison(logic.at_least),
    exp.And: _and,
    exp.Or: _or,
    exp.Not: _not,
    exp.Is: _is,
    exp.Between: _between,
    exp.In: _in,
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Least: _extreme(False),
    exp.Greatest: _extreme(True),
    exp.Neg: _negate,
    exp.Abs: _absolute,
    exp.Floor: _floor_or_ceil,
    exp.Ceil: _floor_or_ceil,
    exp.Sqrt: _square_root,
    exp.Round: _round,
    exp.Cast: _cast,
    exp.Anonymous: _interval,
}
