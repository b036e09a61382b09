"""Operators on types they are not made for, where that is certain without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from weft.errors import Place, QueryError
from weft.lang.expressions import place_of
from weft.lang.statements import Expr
from weft.plan.coercion import VOID, is_numeric
from weft.plan.functions import Call, call_of
from weft.plan.types import infer

Columns = Mapping[str, str | None]

_SIGNS: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "DIV", exp.Neg: "-",
}  # fmt: skip
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ)
_MATHEMATICS = frozenset((
    "abs", "sqrt", "cbrt", "exp", "ln", "log", "log10", "log2", "power", "pow", "signum", "sign",
    "round", "bround", "ceil", "ceiling", "floor", "sin", "cos", "tan",
))  # fmt: skip
_NUMBERS_IN_WORDS = ("nan", "inf", "infinity")
_TIMES = ("date", "timestamp", "timestamp_ntz")


def not_boolean(source: Expr, type: str | None, clause: str) -> QueryError | None:
    """The error of a condition that is none; nothing if it is one, or may be."""
    if type in (None, VOID, "boolean"):
        return None
    example = f", such as {source.sql} > 0" if is_numeric(type) else ""
    example = f", such as {source.sql} = 'A'" if type == "string" else example
    return QueryError(
        "not-boolean",
        f"{clause} needs a condition, but `{source.sql}` is of type {type}",
        at=source.place,
        help=f"compare it with something{example}",
    )


def type_problems(source: Expr, columns: Columns) -> Iterator[QueryError]:
    """What Spark would refuse for its types in an expression over `columns`."""
    for node in source.tree.walk():
        problem = _problem(node, columns, source.place)
        if problem is not None:
            yield problem


def _problem(node: exp.Expr, columns: Columns, place: Place | None) -> QueryError | None:
    match node:
        case exp.Neg():
            return _arithmetic(node, [node.this], columns, place)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Mod() | exp.IntDiv():
            return _arithmetic(node, [node.left, node.right], columns, place)
        case exp.Between():
            return _comparison(node, [node.this, node.args["low"], node.args["high"]], columns, place)
        case exp.In():
            return _comparison(node, [node.this, *node.expressions], columns, place)
        case exp.And() | exp.Or():
            return _logic(node, [node.left, node.right], columns, place)
        case exp.Not():
            return _logic(node, [node.this], columns, place)
        case exp.Case():
            return _branches(node, [branch.args["true"] for branch in node.args["ifs"]], columns, place)
        case exp.Nullif():
            return _comparison(node, [node.this, node.expression], columns, place)
    if isinstance(node, _COMPARISONS):
        return _comparison(node, [node.left, node.right], columns, place)
    call = call_of(node)
    return _mathematics(call, columns, place) if call is not None and call.name in _MATHEMATICS else None


def _mathematics(call: Call, columns: Columns, place: Place | None) -> QueryError | None:
    for arg in call.args:
        found = infer(arg, columns)
        if _kind(found) in ("boolean", "binary", "time"):
            what = f"`{call.name}` is for numbers, but `{_show(arg)}` is of type {found}"
            return _wrong(what, arg, place, help=_number_help(arg, found))
    return None


def _arithmetic(
    node: exp.Expr, operands: Sequence[exp.Expr], columns: Columns, place: Place | None
) -> QueryError | None:
    sign, types = _SIGNS[type(node)], [infer(operand, columns) for operand in operands]
    text = _no_number(operands) if any(map(is_numeric, types)) else None
    if text is not None:
        what, help = (
            f"`{sign}` is for numbers, but {_show(text)} is none",
            "write a number; || puts texts together",
        )
        return _wrong(what, text, place, help=help)
    for operand, found in zip(operands, types):
        if found in ("boolean", "binary") or (found in _TIMES and sign not in "+-"):
            what = f"`{sign}` is for numbers, but `{_show(operand)}` is of type {found}"
            return _wrong(what, operand, place, help=_number_help(operand, found))
    timestamps, numbers = [t for t in types if t in _TIMES[1:]], [t for t in types if is_numeric(t)]
    if timestamps and numbers:
        return _wrong(
            f"`{sign}` does not work on a {timestamps[0]} and a number",
            node,
            place,
            help="add or take away a length of time: ts + INTERVAL 5 MINUTES",
        )
    return None


def _no_number(operands: Sequence[exp.Expr]) -> exp.Expr | None:
    """A text written out that cannot be read as a number, which Spark would try for every row."""
    for operand in operands:
        if isinstance(operand, exp.Literal) and operand.is_string:
            text = operand.name.strip().lower().lstrip("+-")
            if not any(char.isdigit() for char in text) and text not in _NUMBERS_IN_WORDS:
                return operand
    return None


def _number_help(tree: exp.Expr, type: str | None) -> str:
    if type == "boolean":
        return f"make it a number: CASE WHEN {_show(tree)} THEN 1 ELSE 0 END"
    return f"make it a number: unix_timestamp({_show(tree)})" if type in _TIMES else "make it a number"


def _comparison(
    node: exp.Expr, operands: Sequence[exp.Expr], columns: Columns, place: Place | None
) -> QueryError | None:
    types = [infer(operand, columns) for operand in operands]
    for operand, found in zip(operands[1:], types[1:]):
        text = _no_number([operands[0], operand])
        if text is not None and (is_numeric(types[0]) or is_numeric(found)):
            number = _show(operand if text is operands[0] else operands[0])
            return _wrong(
                f"`{number}` is a number and cannot be compared with {_show(text)}", text, place,
                help=f"write a number, or compare text: CAST({number} AS STRING)",
            )  # fmt: skip
        if _apart(types[0], found):
            left, right = f"`{_show(operands[0])}` of type {types[0]}", f"`{_show(operand)}` of type {found}"
            help = _comparison_help(types[0], found)
            return _wrong(f"{left} cannot be compared with {right}", node, place, help=help)
    return None


def _comparison_help(left: str | None, right: str | None) -> str:
    if left in _TIMES or right in _TIMES:
        return "write times as TIMESTAMP '2026-01-31 12:00:00' and dates as DATE '2026-01-31'"
    return "convert one of them with CAST"


def _logic(
    node: exp.Expr, operands: Sequence[exp.Expr], columns: Columns, place: Place | None
) -> QueryError | None:
    word = type(node).__name__.upper()
    for operand in operands:
        found = infer(operand, columns)
        if _kind(found) not in (None, "boolean", "string"):
            return _wrong(
                f"{word} is for conditions, but `{_show(operand)}` is of type {found}", operand, place,
                help="compare it with something",
            )  # fmt: skip
    return None


def _branches(
    node: exp.Case, branches: list[exp.Expr], columns: Columns, place: Place | None
) -> QueryError | None:
    default = node.args.get("default")
    known = [(branch, infer(branch, columns)) for branch in [*branches, *([default] if default else [])]]
    for branch, found in known[1:]:
        if _apart(known[0][1], found):
            return _wrong(
                f"one branch of CASE is of type {known[0][1]}, another of type {found}",
                branch,
                place,
                help="convert one of them with CAST",
            )
    return None


def _apart(left: str | None, right: str | None) -> bool:
    """Do the two certainly have no common type?"""
    kinds = {_kind(left), _kind(right)}
    return len(kinds) == 2 and not kinds & {None, "string"}


def _kind(type: str | None) -> str | None:
    if is_numeric(type):
        return "number"
    if type in _TIMES:
        return "time"
    return type if type in ("boolean", "string", "binary") else None


def _wrong(what: str, node: exp.Expr, place: Place | None, help: str = "") -> QueryError:
    return QueryError("wrong-type", what, at=place_of(node) or place, help=help)


def _show(tree: exp.Expr) -> str:
    return tree.sql("spark")
