"""Types and how they meet: what `int + bigint` is, or `decimal(10,2) * int`; Spark's rules in ANSI mode.

Types are Spark's simple names in lower case; None stands for a type that only Spark can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal, InvalidOperation

from sqlglot import exp

Type = str

INTEGRAL = ("tinyint", "smallint", "int", "bigint")  # narrow to wide
FRACTIONAL = ("float", "double")
VOID = "void"  # the type of NULL
PLAIN = (
    frozenset(INTEGRAL)
    | frozenset(FRACTIONAL)
    | {"string", "date", "timestamp", "timestamp_ntz", "boolean", "binary"}
)

_DIGITS = dict(zip(INTEGRAL, (3, 5, 10, 20)))  # of the decimal that holds every value of the type
_MAX_PRECISION = 38
_LEAST_SCALE = 6  # what Spark keeps of the scale when the precision overflows


def is_integral(type: Type | None) -> bool:
    return type in INTEGRAL


def is_decimal(type: Type | None) -> bool:
    return type is not None and type.startswith("decimal(")


def is_numeric(type: Type | None) -> bool:
    return type in INTEGRAL or type in FRACTIONAL or is_decimal(type)


def is_supported(type: Type | None) -> bool:
    """Can stand in a group key or under an aggregate; unknown types are given the benefit of the doubt."""
    return type is None or type in PLAIN or is_decimal(type)


def decimal_parts(type: Type) -> tuple[int, int]:
    """Precision and scale of the decimal that holds every value of this decimal or integral type."""
    if type in _DIGITS:
        return _DIGITS[type], 0
    match = re.fullmatch(r"decimal\((\d+),(\d+)\)", type)
    assert match, type
    return int(match[1]), int(match[2])


def decimal(precision: int, scale: int) -> Type:
    """The decimal nearest to what was asked that fits 38 digits, giving up scale (but not below 6) first."""
    if precision > _MAX_PRECISION:
        whole = precision - scale
        scale = max(_MAX_PRECISION - whole, min(scale, _LEAST_SCALE))
        precision = _MAX_PRECISION
    return f"decimal({precision},{scale})"


def bounded(precision: int, scale: int) -> Type:
    """The decimal that was asked for, cut at 38 digits."""
    return f"decimal({min(precision, _MAX_PRECISION)},{min(scale, _MAX_PRECISION)})"


def simple_name(type: exp.DataType) -> Type | None:
    """The simple name of a type written in SQL; None for those that have none here."""
    name = type.sql("spark").lower().replace(" ", "")
    match name:
        case "decimal":
            return "decimal(10,0)"
        case "timestamp_ltz":
            return "timestamp"
        case _ if name in PLAIN:
            return name
    one = re.fullmatch(r"decimal\((\d+)\)", name)
    if one:
        return f"decimal({one[1]},0)"
    return name if re.fullmatch(r"decimal\(\d+,\d+\)", name) else None


def literal_type(text: str) -> Type | None:
    """The type of a number as written: `1` int, `3000000000` bigint, `1.5` decimal(2,1), `1e3` double."""
    if "e" in text.lower():
        return "double"
    try:
        _, digits, exponent = Decimal(text).as_tuple()
    except InvalidOperation:
        return None
    if "." in text:
        scale = -int(exponent)
        precision = max(len(digits), scale)
        return f"decimal({precision},{scale})" if precision <= _MAX_PRECISION else None
    value = int(text)
    if -(2**31) <= value < 2**31:
        return "int"
    if -(2**63) <= value < 2**63:
        return "bigint"
    return f"decimal({len(digits)},0)" if len(digits) <= _MAX_PRECISION else None


def number_text(tree: exp.Expr) -> str | None:
    """The number that a literal, perhaps with a minus, writes; None for anything else."""
    tree = tree.unnest()
    if isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal) and not tree.this.is_string:
        return f"-{tree.this.this}"
    if isinstance(tree, exp.Literal) and not tree.is_string:
        return str(tree.this)
    return None


def time_literal(tree: exp.Cast) -> datetime | None:
    """The day that `DATE '2026-01-31'` (read as a cast) writes, or the time that a TIMESTAMP does."""
    if not isinstance(tree.this, exp.Literal) or simple_name(tree.to) not in ("date", "timestamp"):
        return None
    text = str(tree.this.this)
    if not re.fullmatch(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,6})?)?", text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def wider(left: Type | None, right: Type | None) -> Type | None:
    """The one type that CASE, COALESCE and their like give branches of these types."""
    if left is None or right is None:
        return None
    if right in (left, VOID):
        return left
    if left == VOID:
        return right
    if is_integral(left) and is_integral(right):
        return max(left, right, key=INTEGRAL.index)
    if is_numeric(left) and is_numeric(right):
        return _wider_number(left, right)
    if {left, right} == {"date", "timestamp"}:
        return "timestamp"
    return None


def _wider_number(left: Type, right: Type) -> Type:
    if left in FRACTIONAL or right in FRACTIONAL:
        return "double"  # a float with anything but a float, too: it would lose digits
    (p1, s1), (p2, s2) = decimal_parts(left), decimal_parts(right)
    whole, scale = max(p1 - s1, p2 - s2), max(s1, s2)
    return bounded(whole + scale, min(scale, _MAX_PRECISION - whole))


def widest(types: Iterable[Type | None]) -> Type | None:
    common: Type | None = VOID
    for type in types:
        common = wider(common, type)
    return common


def arithmetic(operator: str, left: Type | None, right: Type | None) -> Type | None:
    """The type of `left operator right` for numbers; `operator` is one of + - * / % div."""
    if left is None or right is None or not (is_numeric(left) and is_numeric(right)):
        return None
    if operator == "div":
        return "bigint" if not (left in FRACTIONAL or right in FRACTIONAL) else None
    if left in FRACTIONAL or right in FRACTIONAL:
        return "float" if left == right == "float" and operator != "/" else "double"
    if is_integral(left) and is_integral(right):
        return "double" if operator == "/" else max(left, right, key=INTEGRAL.index)
    return _decimal_arithmetic(operator, decimal_parts(left), decimal_parts(right))


def _decimal_arithmetic(operator: str, left: tuple[int, int], right: tuple[int, int]) -> Type:
    (p1, s1), (p2, s2) = left, right
    match operator:
        case "*":
            return decimal(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(_LEAST_SCALE, s1 + p2 + 1)
            return decimal(p1 - s1 + s2 + scale, scale)
        case "%":
            scale = max(s1, s2)
            return decimal(min(p1 - s1, p2 - s2) + scale, scale)
        case _:
            scale = max(s1, s2)
            return decimal(max(p1 - s1, p2 - s2) + scale + 1, scale)
