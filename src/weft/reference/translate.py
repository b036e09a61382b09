"""A Spark expression in DuckDB's SQL, with Spark's meaning in ANSI mode.

sqlglot transpiles what the two only spell differently. Here stands what they judge differently: types of
literals and results, division, casts, what a failure is, the evaluation of AND and OR from left to right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlglot
from sqlglot import exp

from weft.lang.statements import Expr
from weft.plan.coercion import (
    FRACTIONAL,
    decimal_parts,
    is_decimal,
    is_integral,
    literal_type,
    number_text,
    simple_name,
)
from weft.plan.types import infer
from weft.reference.dialect import Types

_OPERATORS: dict[type[exp.Binary], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Abs)
_MAY_FAIL = (*_ARITHMETIC, exp.Cast, exp.Anonymous)
_FIXED = (exp.DataType, exp.Identifier, exp.Var)
_NAMES = {"string": "VARCHAR", "float": "REAL", "timestamp_ntz": "TIMESTAMP", "binary": "BLOB"}


def duckdb_expression(expr: Expr, types: Types) -> str:
    """The expression in DuckDB's SQL."""
    return _sql(expr.tree, types)


def duckdb_type(type: str) -> str:
    return _NAMES.get(type, type.upper())


def unscaled(x: str) -> str:
    """The digits of a decimal as an integer."""
    return f"CAST(REPLACE(CAST({x} AS VARCHAR), '.', '') AS HUGEINT)"


def scaled(digits: str, type: str, scale: int) -> str:
    """The decimal of `type` with these digits, `scale` of them behind the point."""
    text = f"CAST(ABS({digits}) AS VARCHAR)"
    padded = f"LPAD({text}, CAST(GREATEST(LENGTH({text}), {scale + 1}) AS INTEGER), '0')"
    sign = f"CASE WHEN {digits} < 0 THEN '-' ELSE '' END"
    point = f"LEFT({padded}, LENGTH({padded}) - {scale}) || '.' || RIGHT({padded}, {scale})"
    return f"CAST({sign} || {point} AS {duckdb_type(type)})"


def rounded_quotient(dividend: str, divisor: str, type: str, scale: int) -> str:
    """The decimal whose digits are the quotient of two integers, rounded half up; null by zero."""
    twice = f"(2 * ABS({dividend}) + ABS({divisor})) // NULLIF(2 * ABS({divisor}), 0)"
    digits = f"(SIGN({dividend}) * SIGN({divisor}) * ({twice}))"
    return scaled(digits, type, scale)


def _sql(tree: exp.Expr, types: Types) -> str:
    rule = _RULES.get(type(tree), _plain)
    return rule(tree, types)


def _plain(tree: exp.Expr, types: Types) -> str:
    """The node as sqlglot transpiles it, around children that are translated already."""
    copy = tree.copy()
    for name, value in list(copy.args.items()):
        if isinstance(value, exp.Expression) and not isinstance(value, _FIXED):
            copy.set(name, exp.Var(this=_sql(tree.args[name], types)))
        elif isinstance(value, list):
            translated = [
                exp.Var(this=_sql(child, types)) if isinstance(child, exp.Expression) else child
                for child in tree.args[name]
            ]
            copy.set(name, translated)
    return f"({copy.sql('duckdb', identify=True)})"


def _column(tree: exp.Expr, types: Types) -> str:
    return '"' + tree.name.replace('"', '""') + '"'


def _literal(tree: exp.Expr, types: Types) -> str:
    if tree.is_string:
        return str(tree.sql("duckdb"))
    return f"CAST({tree.name} AS {duckdb_type(literal_type(tree.name) or 'double')})"


def _negative(tree: exp.Expr, types: Types) -> str:
    text = number_text(tree)
    if text is not None:
        return f"CAST({text} AS {duckdb_type(literal_type(text) or 'double')})"
    return f"(- {_sql(tree.this, types)})"


def _arithmetic(tree: exp.Binary, types: Types) -> str:
    result = infer(tree, types)
    operator = _OPERATORS[type(tree)]
    left, right = _sql(tree.left, types), _sql(tree.right, types)
    if is_integral(result) or result in FRACTIONAL:
        name = duckdb_type(result or "")
        return f"(CAST({left} AS {name}) {operator} CAST({right} AS {name}))"
    if is_decimal(result):
        return f"CAST({left} {operator} {right} AS {duckdb_type(result or '')})"
    return _plain(tree, types)


def _divide(tree: exp.Binary, types: Types) -> str:
    left, right = _sql(tree.left, types), _sql(tree.right, types)
    result = infer(tree, types)
    if is_decimal(result):
        quotient = _decimal_quotient(tree, result or "", types)
    else:
        quotient = f"CAST({left} AS DOUBLE) / CAST({right} AS DOUBLE)"
    return _unless_zero(left, right, quotient)


def _decimal_quotient(tree: exp.Binary, result: str, types: Types) -> str:
    """The digits of `left * 10^k` over those of `right`, k such that the scale is that of the result."""
    _, scale = decimal_parts(result)
    sides, scales = [], []
    for side in (tree.left, tree.right):
        kind = infer(side, types)
        sides.append(unscaled(_sql(side, types)))
        scales.append(decimal_parts(kind)[1] if kind else 0)
    power = scale + scales[1] - scales[0]
    return rounded_quotient(f"({sides[0]} * 1{'0' * power}::HUGEINT)", sides[1], result, scale)


def _int_divide(tree: exp.Binary, types: Types) -> str:
    left, right = (f"CAST({_sql(side, types)} AS BIGINT)" for side in (tree.left, tree.right))
    return f"({left} // {right})"


def _remainder(tree: exp.Binary, types: Types) -> str:
    left, right = _sql(tree.left, types), _sql(tree.right, types)
    result = infer(tree, types)
    remainder = f"{left} % {right}"
    if result is not None:
        remainder = f"CAST({remainder} AS {duckdb_type(result)})"
    return _unless_zero(left, right, remainder)


def _unless_zero(left: str, right: str, value: str) -> str:
    """`value`, failing where the divisor is zero and the dividend is not null."""
    fails = f"CAST({right} AS INTEGER) % CAST({right} AS INTEGER)"
    return f"(CASE WHEN {left} IS NOT NULL AND {right} = 0 THEN {fails} ELSE {value} END)"


def _and(tree: exp.Binary, types: Types) -> str:
    return _short_circuit(tree, types, "AND", "NOT {left}", "FALSE")


def _or(tree: exp.Binary, types: Types) -> str:
    return _short_circuit(tree, types, "OR", "{left}", "TRUE")


def _short_circuit(tree: exp.Binary, types: Types, operator: str, decided: str, value: str) -> str:
    """The right side is not evaluated where the left one decides; spelled out only where it could fail."""
    left, right = _sql(tree.left, types), _sql(tree.right, types)
    both = f"({left} {operator} {right})"
    if tree.right.find(*_MAY_FAIL) is None:
        return both
    return f"(CASE WHEN {decided.format(left=left)} THEN {value} ELSE {both} END)"


def _cast(tree: exp.Cast, types: Types) -> str:
    source, target = infer(tree.this, types), simple_name(tree.to)
    x = _sql(tree.this, types)
    if target is None:
        return _plain(tree, types)
    if is_integral(target) and (source in FRACTIONAL or is_decimal(source)):
        x = f"TRUNC({x})"
    elif is_integral(target) and source == "string":
        whole = f"REGEXP_FULL_MATCH({x}, '\\s*[+-]?\\d+\\s*')"
        x = f"CASE WHEN {whole} OR {x} IS NULL THEN {x} ELSE 'not a whole number' END"
    elif is_integral(target) and source == "timestamp":
        x = f"FLOOR(EPOCH({x}))"
    cast = "TRY_CAST" if tree.args.get("safe") else "CAST"
    return f"{cast}({x} AS {duckdb_type(target)})"


def _whole(tree: exp.Expr, types: Types) -> str:
    """FLOOR and CEIL: Spark's are whole numbers, DuckDB's have the type of the argument."""
    result = infer(tree, types)
    rounded = f"{'FLOOR' if isinstance(tree, exp.Floor) else 'CEIL'}({_sql(tree.this, types)})"
    return f"CAST({rounded} AS {duckdb_type(result)})" if result else rounded


def _logarithm(tree: exp.Expr, types: Types) -> str:
    x = _sql(tree.this, types)
    return f"(CASE WHEN {x} > 0 THEN LN({x}) END)"


def _is_nan(tree: exp.Expr, types: Types) -> str:
    return f"COALESCE(ISNAN({_sql(tree.this, types)}), FALSE)"


def _sign(tree: exp.Expr, types: Types) -> str:
    return f"CAST(SIGN({_sql(tree.this, types)}) AS DOUBLE)"


def _add_days(tree: exp.Expr, types: Types) -> str:
    return f"(CAST({_sql(tree.this, types)} AS DATE) + CAST({_sql(tree.expression, types)} AS INTEGER))"


def _day_of_week(tree: exp.Expr, types: Types) -> str:
    return f"(DAYOFWEEK({_sql(tree.this, types)}) + 1)"


def _unix_seconds(tree: exp.Expr, types: Types) -> str:
    return f"CAST(FLOOR(EPOCH({_sql(tree.this, types)})) AS BIGINT)"


def _case(tree: exp.Expr, types: Types) -> str:
    operand = f" {_sql(tree.this, types)}" if tree.this else ""
    branches = " ".join(
        f"WHEN {_sql(branch.this, types)} THEN {_sql(branch.args['true'], types)}"
        for branch in tree.args["ifs"]
    )
    default = tree.args.get("default")
    return f"(CASE{operand} {branches}{f' ELSE {_sql(default, types)}' if default else ''} END)"


def _if(tree: exp.Expr, types: Types) -> str:
    otherwise = tree.args.get("false")
    return (
        f"(CASE WHEN {_sql(tree.this, types)} THEN {_sql(tree.args['true'], types)}"
        f"{f' ELSE {_sql(otherwise, types)}' if otherwise else ''} END)"
    )


def _paren(tree: exp.Expr, types: Types) -> str:
    return f"({_sql(tree.this, types)})"


def _as_is(tree: exp.Expr, types: Types) -> str:
    return str(tree.sql("duckdb"))


def _anonymous(tree: exp.Expr, types: Types) -> str:
    args = [_sql(arg, types) for arg in tree.expressions]
    match tree.name.lower():
        case "pmod":
            a, n = args
            return _unless_zero(a, n, f"((({a}) % ({n})) + ({n})) % ({n})")
        case "isnull":
            return f"({args[0]} IS NULL)"
        case "isnotnull":
            return f"({args[0]} IS NOT NULL)"
        case "bigint" | "smallint" | "tinyint" as target:
            return _cast(exp.Cast(this=tree.expressions[0], to=exp.DataType.build(target)), types)
        case _:
            return _known_to_sqlglot(tree, types)


def _known_to_sqlglot(tree: exp.Expr, types: Types) -> str:
    """A call that our own dialect leaves as it is written, as sqlglot would have read it."""
    known = sqlglot.parse_one(tree.sql("spark"), read="spark")
    if isinstance(known, exp.Anonymous):
        raise NotImplementedError(f"{tree.name} in DuckDB")
    return _sql(known, types)


_RULES: dict[type[exp.Expr], Callable[[Any, Types], str]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Interval: _as_is,
    exp.Null: _as_is,
    exp.Boolean: _as_is,
    exp.Var: _as_is,
    exp.Neg: _negative,
    exp.Add: _arithmetic,
    exp.Sub: _arithmetic,
    exp.Mul: _arithmetic,
    exp.Div: _divide,
    exp.IntDiv: _int_divide,
    exp.Mod: _remainder,
    exp.And: _and,
    exp.Or: _or,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Floor: _whole,
    exp.Ceil: _whole,
    exp.Ln: _logarithm,
    exp.IsNan: _is_nan,
    exp.Sign: _sign,
    exp.TsOrDsAdd: _add_days,
    exp.DayOfWeek: _day_of_week,
    exp.StrToUnix: _unix_seconds,
    exp.Case: _case,
    exp.If: _if,
    exp.Paren: _paren,
    exp.Anonymous: _anonymous,
}
