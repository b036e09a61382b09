"""The operators and functions that can fail by themselves: what Spark offers instead, and when they do.

Where the failing form never gives NULL for operands that are not null, `TRY_... IS NULL` tells that it fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime

from sqlglot import exp

from weft.plan.coercion import (
    FRACTIONAL,
    INTEGRAL,
    Type,
    arithmetic,
    decimal_parts,
    is_decimal,
    is_integral,
    is_numeric,
    number_text,
    simple_name,
)
from weft.plan.functions import call_of, has_unit
from weft.plan.guarded import Guarded, Tree, any_of, call, in_order, is_null, number, only_if
from weft.plan.unitcalls import raising_unit_call

Guard = Callable[[Tree], Guarded]
TypeOf = Callable[[Tree], Type | None]

_LEAST = {"tinyint": -(2**7), "smallint": -(2**15), "int": -(2**31), "bigint": -(2**63)}
_SUMS: dict[type[exp.Binary], tuple[str, str]] = {
    exp.Add: ("+", "TRY_ADD"),
    exp.Sub: ("-", "TRY_SUBTRACT"),
    exp.Mul: ("*", "TRY_MULTIPLY"),
}
_CASTS = {name: name for name in (*INTEGRAL, *FRACTIONAL, "date", "timestamp", "boolean", "binary", "string")}
_CASTS["decimal"] = "decimal(10,0)"
_TRIED = {
    "to_timestamp": "TRY_TO_TIMESTAMP",
    "to_number": "TRY_TO_NUMBER",
    "to_binary": "TRY_TO_BINARY",
    "make_timestamp": "TRY_MAKE_TIMESTAMP",
    "make_interval": "TRY_MAKE_INTERVAL",
    "url_decode": "TRY_URL_DECODE",
    "parse_json": "TRY_PARSE_JSON",
}
_TIMES = ("date", "timestamp", "timestamp_ntz")
_ALWAYS = {(a, b) for a in _TIMES for b in _TIMES}
_ALWAYS |= {("string", "binary"), ("timestamp", "bigint"), ("timestamp", "double"), ("int", "timestamp")}
_FURTHEST = {"timestamp_seconds": (2**63 - 1) // 10**6, "timestamp_millis": (2**63 - 1) // 10**3}
_ARRAYS = (
    "split",
    "array",
    "sequence",
    "slice",
    "sort_array",
    "map_keys",
    "map_values",
    "regexp_extract_all",
)


def raising(tree: Tree, guard: Guard, type_of: TypeOf) -> Guarded | None:
    """`tree` guarded, if it is an operator or call that can fail by itself; else None."""
    match tree:
        case exp.Add() | exp.Sub() | exp.Mul():
            return _sum_or_product(tree, guard, type_of)
        case exp.Div() | exp.Mod() | exp.IntDiv():
            return _division(tree, tree.left, tree.right, guard, type_of)
        case exp.Neg() | exp.Abs():
            return _negation(tree, guard, type_of)
        case exp.Floor() | exp.Ceil() if tree.args.get("decimals") is None:
            return _whole(tree, guard, type_of)
        case exp.TryCast():
            return None
        case exp.Cast():
            return _cast(tree, tree.this, tree.to, guard, type_of)
        case exp.Bracket() if len(tree.expressions) == 1:
            return _subscript(tree, guard, type_of)
        case exp.Anonymous():
            return _call(tree, guard, type_of)
        case _:
            return None


def comparable(tree: exp.Binary, guard: Guard, type_of: TypeOf) -> tuple[Guarded, Guarded]:
    """Both sides of a comparison; Spark casts a text that is compared with a number, date or truth value."""
    left, right = type_of(tree.left), type_of(tree.right)
    return _as_type_of(tree.left, left, right, guard), _as_type_of(tree.right, right, left, guard)


def _as_type_of(tree: Tree, type_: Type | None, other: Type | None, guard: Guard) -> Guarded:
    if type_ != "string" or other in (None, "string", "binary", "void"):
        return guard(tree)
    target = other if not is_numeric(other) else "bigint" if is_integral(other) else "double"
    return _tried_cast(guard(tree), exp.DataType.build(target, dialect="spark"), None)


def _sum_or_product(tree: exp.Binary, guard: Guard, type_of: TypeOf) -> Guarded | None:
    operator, tried = _SUMS[type(tree)]
    left, right = guard(tree.left), guard(tree.right)
    if isinstance(tree.left, exp.Interval) or isinstance(tree.right, exp.Interval):
        return None  # only near the ends of the calendar
    result = arithmetic(operator, type_of(tree.left), type_of(tree.right))
    if result in FRACTIONAL or _has_room(result):
        value = _same(tree, left, right)
        return Guarded(value, in_order([left, right], None))
    value = call(tried, left.value, right.value)
    return Guarded(value, in_order([left, right], is_null(value)))


def _division(tree: Tree, left: Tree, right: Tree, guard: Guard, type_of: TypeOf) -> Guarded:
    """Spark looks at the divisor first, and at the dividend only if that is not null."""
    a, b = guard(left), guard(right)
    if _cannot_divide_by_zero(tree, left, right, type_of):
        return Guarded(_same(tree, a, b), in_order([b, a], None))
    match tree:
        case exp.Div():
            value = call("TRY_DIVIDE", a.value, b.value)
        case exp.IntDiv():
            value = _quotient(a.value, b.value)
        case exp.Anonymous() if tree.name.lower() == "pmod":
            value = call("PMOD", a.value, call("NULLIF", b.value, number(0)))
        case _:
            value = call("TRY_MOD", a.value, b.value)
    return Guarded(value, in_order([b, a], is_null(value)))


def _quotient(left: Tree, right: Tree) -> Tree:
    """`DIV` of what can be divided: by zero, and the least number by -1, cannot."""
    divisor = call("NULLIF", right, number(0))
    least = exp.EQ(this=left.copy(), expression=exp.Neg(this=number(2**63)))
    minus = exp.EQ(this=right.copy(), expression=exp.Neg(this=number(1)))
    value = exp.IntDiv(this=left.copy(), expression=divisor)
    return exp.If(this=exp.And(this=least, expression=minus), true=exp.Null(), false=value)


def _cannot_divide_by_zero(tree: Tree, left: Tree, right: Tree, type_of: TypeOf) -> bool:
    """The divisor is written down and not zero, and the result has room for every quotient."""
    text = number_text(right)
    if text is None or float(text) == 0 or not is_numeric(type_of(left)):
        return False
    if isinstance(tree, exp.Div):
        result = arithmetic("/", type_of(left), type_of(right))
        return result in FRACTIONAL or _has_room(result)
    return not (isinstance(tree, exp.IntDiv) and float(text) == -1)


def _has_room(type_: Type | None) -> bool:
    """Is the type of a decimal result as wide as the rules ask, rather than cut at 38 digits?"""
    return is_decimal(type_) and type_ is not None and decimal_parts(type_)[0] < 38


def _negation(tree: Tree, guard: Guard, type_of: TypeOf) -> Guarded | None:
    """-x and ABS(x) fail on the least number of an integral type, which has no positive counterpart."""
    type_ = type_of(tree.this)
    if number_text(tree) is not None or type_ not in _LEAST:
        return None
    inner = guard(tree.this)
    least = exp.EQ(this=inner.value.copy(), expression=exp.Neg(this=number(-_LEAST[type_])))
    value = exp.If(this=least, true=exp.Null(), false=type(tree)(this=inner.value.copy()))
    return Guarded(value, in_order([inner], least))


def _whole(tree: Tree, guard: Guard, type_of: TypeOf) -> Guarded | None:
    """FLOOR and CEIL of a floating number fail where the result is no bigint; of NaN they are 0."""
    if type_of(tree.this) not in FRACTIONAL:
        return None
    inner = guard(tree.this)
    limit = exp.cast(exp.Literal.string(repr(2.0**63)), "double")
    beyond = exp.GTE(this=inner.value.copy(), expression=limit)
    number_at_all = exp.Not(this=call("ISNAN", inner.value))
    below = exp.LT(this=inner.value.copy(), expression=exp.Neg(this=limit.copy()))
    outside = exp.Or(this=exp.And(this=number_at_all, expression=beyond), expression=below)
    value = exp.If(this=outside, true=exp.Null(), false=type(tree)(this=inner.value.copy()))
    return Guarded(value, in_order([inner], outside))


def _cast(tree: Tree, what: Tree, to: exp.DataType, guard: Guard, type_of: TypeOf) -> Guarded:
    inner, source = guard(what), type_of(what)
    if _always_casts(what, source, simple_name(to)):
        value = tree if inner.value is what else exp.Cast(this=inner.value.copy(), to=to.copy())
        return Guarded(value, inner.fails)
    return _tried_cast(inner, to, source)


def _tried_cast(inner: Guarded, to: exp.DataType, source: Type | None) -> Guarded:
    value = exp.TryCast(this=inner.value.copy(), to=to.copy(), safe=True)
    failed = is_null(value)
    if source in FRACTIONAL and is_decimal(simple_name(to)):
        # NaN and the infinities become NULL: of all casts of numbers only this one does not fail on them.
        finite = exp.LT(
            this=call("ABS", inner.value), expression=exp.cast(exp.Literal.string("Infinity"), "double")
        )
        failed = exp.And(this=finite, expression=failed)
    return Guarded(value, in_order([inner], failed))


def _always_casts(what: Tree, source: Type | None, to: Type | None) -> bool:
    if isinstance(what, exp.Literal):
        return _literal_casts(what, to)
    if source is None or to is None:
        return False
    if to in ("string", source) or source == "void":
        return True
    if is_numeric(source) and is_numeric(to):
        return _widens(source, to)
    if "boolean" in (source, to):
        return is_numeric(source) or is_integral(to) or to in FRACTIONAL
    return (source, to) in _ALWAYS


def _literal_casts(what: exp.Literal, to: Type | None) -> bool:
    text = str(what.this)
    try:
        match to:
            case "date":
                return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text) and date.fromisoformat(text))
            case "timestamp" | "timestamp_ntz":
                return bool(re.match(r"\d{4}-\d\d-\d\d", text) and datetime.fromisoformat(text))
            case "double" | "float":
                return not what.is_string or bool(re.fullmatch(r"-?\d+(\.\d+)?", text))
            case _ if to in _LEAST:
                return not what.is_string and _LEAST[to] <= int(text) < -_LEAST[to]
    except ValueError:
        return False
    return to == "string"


def _widens(source: Type, to: Type) -> bool:
    if to in FRACTIONAL:
        return True
    if source in FRACTIONAL:
        return False
    if is_integral(source) and is_integral(to):
        return INTEGRAL.index(source) <= INTEGRAL.index(to)
    if is_integral(to):
        return False
    (p1, s1), (p2, s2) = decimal_parts(source), decimal_parts(to)
    return p2 - s2 >= p1 - s1 and s2 >= s1


def _subscript(tree: exp.Bracket, guard: Guard, type_of: TypeOf) -> Guarded | None:
    if not _is_array(tree.this, type_of):
        return None
    array, index = guard(tree.this), guard(tree.expressions[0])
    value = call("GET", array.value, index.value)
    outside = exp.Or(
        this=exp.LT(this=index.value.copy(), expression=number(0)),
        expression=exp.GTE(this=index.value.copy(), expression=call("SIZE", array.value)),
    )
    return Guarded(value, in_order([array, index], outside))


def _is_array(tree: Tree, type_of: TypeOf) -> bool:
    type_ = type_of(tree)
    if type_ is not None:
        return type_.startswith("array")
    return isinstance(tree, exp.Anonymous) and tree.name.lower() in _ARRAYS


def _call(tree: exp.Anonymous, guard: Guard, type_of: TypeOf) -> Guarded | None:
    name, args = tree.name.lower(), tree.expressions
    made = call_of(tree)
    if made is not None and has_unit(made):
        return raising_unit_call(tree, made, guard, type_of)
    match name, len(args):
        case "mod" | "pmod", 2:
            return _division(tree, args[0], args[1], guard, type_of)
        case _, 1 if name in _CASTS:
            return _cast(tree, args[0], exp.DataType.build(_CASTS[name], dialect="spark"), guard, type_of)
        case "to_date", 1:
            return _cast(tree, args[0], exp.DataType.build("date"), guard, type_of)
        case "to_date", 2:
            return _via_timestamp(call("TRY_TO_TIMESTAMP", *_values(args, guard)), args, guard)
        case "make_date", 3:
            return _via_timestamp(
                call("TRY_MAKE_TIMESTAMP", *_values(args, guard), *[number(0)] * 3), args, guard
            )
        case "datediff" | "months_between", _:
            return _of_two_times(tree, guard)
        case "element_at", 2 if _is_array(args[0], type_of):
            return _element_at(args, guard)
        case "elt", _ if len(args) > 1:
            return _elt(args, guard)
        case "timestamp_seconds" | "timestamp_millis", 1 if is_integral(type_of(args[0])):
            return _bounded(tree, args[0], guard)
        case _ if name in _TRIED:
            value = call(_TRIED[name], *_values(args, guard))
            return Guarded(value, in_order([guard(arg) for arg in args], is_null(value)))
        case _:
            return None


def _values(args: list[Tree], guard: Guard) -> list[Tree]:
    return [guard(arg).value for arg in args]


def _via_timestamp(timestamp: Tree, args: list[Tree], guard: Guard) -> Guarded:
    value = exp.Cast(this=timestamp, to=exp.DataType.build("date"))
    return Guarded(value, in_order([guard(arg) for arg in args], is_null(timestamp)))


def _of_two_times(tree: exp.Anonymous, guard: Guard) -> Guarded | None:
    """The second is looked at only if the first is not null."""
    guarded = [guard(arg) for arg in tree.expressions]
    if all(each.fails is None for each in guarded):
        return None
    return Guarded(call(tree.name, *(each.value for each in guarded)), in_order(guarded, None))


def _element_at(args: list[Tree], guard: Guard) -> Guarded:
    """Elements count from 1, and from the end with a minus; there is none at 0, not even to try."""
    array, index = (guard(arg) for arg in args)
    value = call("TRY_ELEMENT_AT", array.value, call("NULLIF", index.value, number(0)))
    zero = exp.EQ(this=index.value.copy(), expression=number(0))
    outside = exp.GT(this=call("ABS", index.value), expression=call("SIZE", array.value))
    return Guarded(value, in_order([array, index], exp.Or(this=zero, expression=outside)))


def _elt(args: list[Tree], guard: Guard) -> Guarded:
    guarded = [guard(arg) for arg in args]
    inside = exp.Between(this=guarded[0].value.copy(), low=number(1), high=number(len(args) - 1))
    value = only_if(inside, call("ELT", *(each.value for each in guarded)))
    fails = in_order(guarded[:1], exp.Not(this=inside.copy()))
    return Guarded(value, any_of([fails, *(each.fails for each in guarded[1:])]))


def _bounded(tree: exp.Anonymous, arg: Tree, guard: Guard) -> Guarded:
    inner, furthest = guard(arg), _FURTHEST[tree.name.lower()]
    inside = exp.Between(this=inner.value.copy(), low=exp.Neg(this=number(furthest)), high=number(furthest))
    value = only_if(inside, call(tree.name.upper(), inner.value))
    return Guarded(value, in_order([inner], exp.Not(this=inside.copy())))


def _same(tree: Tree, left: Guarded, right: Guarded) -> Tree:
    """`tree` over the safe operands; itself when they are its own."""
    own = [tree.left, tree.right] if isinstance(tree, exp.Binary) else tree.expressions
    if left.value is own[0] and right.value is own[1]:
        return tree
    if isinstance(tree, exp.Anonymous):
        return call(tree.name.upper(), left.value, right.value)
    return type(tree)(this=left.value.copy(), expression=right.value.copy())
