"""What type an expression has, told without Spark: exactly right, or None.

Checked against Spark by a test that goes through all operators and pairs of types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from weft.plan.coercion import (
    PLAIN,
    VOID,
    Type,
    arithmetic,
    bounded,
    decimal_parts,
    is_decimal,
    is_integral,
    is_numeric,
    literal_type,
    number_text,
    simple_name,
    wider,
    widest,
)
from weft.plan.functions import call_of

Columns = Mapping[str, Type | None]
Types = Sequence[Type | None]

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
}
_BOOLEAN = (
    exp.Predicate, exp.And, exp.Or, exp.Not, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike,
    exp.NullSafeEQ, exp.NullSafeNEQ, exp.Boolean, exp.Exists,
)  # fmt: skip


def infer(tree: exp.Expr, columns: Columns) -> Type | None:
    """The type of `tree` over `columns`; None where it cannot be told for sure."""
    match tree:
        case exp.Paren() | exp.Alias():
            return infer(tree.this, columns)
        case exp.Column():
            return columns.get(tree.name)
        case exp.Literal():
            return "string" if tree.is_string else literal_type(tree.this)
        case exp.Null():
            return VOID
        case exp.Cast():  # also TRY_CAST
            return simple_name(tree.to)
        case exp.Neg():
            text = number_text(tree)
            return literal_type(text) if text else _number(infer(tree.this, columns))
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Mod() | exp.IntDiv():
            return _infer_arithmetic(tree, columns)
        case exp.BitwiseAnd() | exp.BitwiseOr() | exp.BitwiseXor():
            left, right = infer(tree.left, columns), infer(tree.right, columns)
            return wider(left, right) if is_integral(left) and is_integral(right) else None
        case exp.BitwiseNot():
            inner = infer(tree.this, columns)
            return inner if is_integral(inner) else None
        case exp.DPipe():
            return _all_strings([infer(tree.left, columns), infer(tree.right, columns)])
        case exp.Case():
            return _infer_case(tree, columns)
        case exp.If():
            return _infer_branches([tree.args.get("true"), tree.args.get("false")], columns)
    if isinstance(tree, _BOOLEAN):
        return "boolean"
    return _infer_call(tree, columns)


def _infer_arithmetic(tree: exp.Binary, columns: Columns) -> Type | None:
    operator = _OPERATORS[type(tree)]
    left, right = infer(tree.left, columns), infer(tree.right, columns)
    if operator in "+-" and isinstance(tree.right.unnest(), exp.Interval):
        return left if left in ("timestamp", "timestamp_ntz") else None
    return arithmetic(operator, _as_operand(tree.left, left, right), _as_operand(tree.right, right, left))


def _as_operand(tree: exp.Expr, type: Type | None, other: Type | None) -> Type | None:
    """The type beside `other`: a whole number written out is a decimal of as many digits as it has."""
    text = number_text(tree)
    if text is not None and is_integral(type) and is_decimal(other):
        return f"decimal({len(text.lstrip('-').lstrip('0')) or 1},0)"
    return type


def _infer_case(tree: exp.Case, columns: Columns) -> Type | None:
    branches = [branch.args.get("true") for branch in tree.args["ifs"]]
    return _infer_branches([*branches, tree.args.get("default")], columns)


def _infer_branches(branches: Sequence[exp.Expr | None], columns: Columns) -> Type | None:
    return widest(infer(branch, columns) for branch in branches if branch is not None)


def _infer_call(tree: exp.Expr, columns: Columns) -> Type | None:
    call = call_of(tree)
    if call is None:
        return None
    if call.name in _RESULTS:
        return _RESULTS[call.name]
    rule = _RULES.get(call.name)
    if rule is None:
        return None
    return rule(call.args, [infer(arg, columns) for arg in call.args])


def _number(type: Type | None) -> Type | None:
    return type if is_numeric(type) else None


def _all_strings(types: Types) -> Type | None:
    return "string" if types and all(type == "string" for type in types) else None


def _moved(args: Sequence[exp.Expr], types: Types) -> Type | None:
    """TIMESTAMPADD: a date becomes a timestamp."""
    given = types[2] if len(types) == 3 else None
    return "timestamp" if given == "date" else given if given in ("timestamp", "timestamp_ntz") else None


def _same_number(args: Sequence[exp.Expr], types: Types) -> Type | None:
    return _number(types[0]) if len(types) == 1 else None


def _common(args: Sequence[exp.Expr], types: Types) -> Type | None:
    return widest(types) if types else None


def _common_but_first(args: Sequence[exp.Expr], types: Types) -> Type | None:
    return widest(types[1:]) if len(types) == 3 else None


def _first(args: Sequence[exp.Expr], types: Types) -> Type | None:
    return types[0] if len(types) == 2 else None


def _strings(args: Sequence[exp.Expr], types: Types) -> Type | None:
    return _all_strings(types)


def _part_of_string(args: Sequence[exp.Expr], types: Types) -> Type | None:
    """Of a string a string; of a binary value Spark makes a binary value."""
    return _all_strings(types[:1])


def _binary(operator: str) -> Callable[[Sequence[exp.Expr], Types], Type | None]:
    def rule(args: Sequence[exp.Expr], types: Types) -> Type | None:
        if len(types) != 2:
            return None
        left, right = types
        return arithmetic(operator, _as_operand(args[0], left, right), _as_operand(args[1], right, left))

    return rule


def _round(args: Sequence[exp.Expr], types: Types) -> Type | None:
    """ROUND keeps the type; of a decimal it keeps the digits that are left, and one more for the carry."""
    type = _number(types[0]) if types else None
    if type is None or not is_decimal(type):
        return type
    text = number_text(args[1]) if len(args) == 2 else "0"
    if text is None or not text.lstrip("-").isdigit():
        return None
    precision, scale = decimal_parts(type)
    whole, digits = precision - scale + 1, int(text)
    if digits < 0:
        return bounded(max(whole, 1 - digits), 0)
    return bounded(whole + min(scale, digits), min(scale, digits))


def _whole(args: Sequence[exp.Expr], types: Types) -> Type | None:
    """CEIL and FLOOR of one argument."""
    type = _number(types[0]) if len(types) == 1 else None
    if type is None or not is_decimal(type):
        return "bigint" if type else None
    precision, scale = decimal_parts(type)
    return bounded(precision - scale + (1 if scale else 0), 0)


def _named(result: Type, names: str) -> dict[str, Type]:
    return dict.fromkeys(names.split(), result)


_RESULTS: dict[str, Type] = {
    **_named(
        "string",
        "upper ucase lower lcase initcap concat_ws replace translate regexp_replace regexp_extract "
        "regexp_substr substring_index split_part date_format from_unixtime md5 sha sha1 sha2 hex "
        "base64 format_number format_string printf get_json_object soundex chr char space repeat trim "
        "ltrim rtrim btrim dayname monthname typeof to_json conv bin",
    ),
    **_named(
        "int",
        "length char_length character_length len ascii instr locate position levenshtein year month "
        "day dayofmonth dayofweek weekday dayofyear hour minute second quarter weekofyear datediff "
        "date_diff hash size find_in_set bit_length octet_length unix_date",
    ),
    **_named(
        "bigint",
        "unix_timestamp to_unix_timestamp unix_micros unix_millis unix_seconds xxhash64 crc32 factorial "
        "timestampdiff",
    ),
    **_named(
        "double",
        "sqrt exp ln log log10 log2 log1p expm1 pow power cbrt sin cos tan cot sec csc asin acos atan "
        "atan2 sinh cosh tanh degrees radians pi e signum sign hypot months_between",
    ),
    **_named(
        "boolean",
        "isnull isnotnull isnan contains startswith endswith rlike regexp regexp_like like ilike "
        "exists forall array_contains arrays_overlap",
    ),
    **_named(
        "date",
        "to_date date_add date_sub dateadd add_months last_day next_day trunc make_date current_date "
        "curdate date_from_unix_date",
    ),
    **_named(
        "timestamp",
        "date_trunc timestamp_seconds timestamp_millis timestamp_micros current_timestamp now "
        "from_utc_timestamp to_utc_timestamp make_timestamp_ltz to_timestamp_ltz to_timestamp "
        "make_timestamp",
    ),
    **_named(
        "timestamp_ntz",
        "localtimestamp to_timestamp_ntz make_timestamp_ntz",
    ),
    **{name: name for name in PLAIN if name != "timestamp_ntz"},  # CAST written as a call
}

_RULES: dict[str, Callable[[Sequence[exp.Expr], Types], Type | None]] = {
    **dict.fromkeys(("abs", "positive", "negative"), _same_number),
    **dict.fromkeys(("coalesce", "nvl", "ifnull", "greatest", "least"), _common),
    **dict.fromkeys(("if", "nvl2"), _common_but_first),
    "nullif": _first,
    "timestampadd": _moved,
    **dict.fromkeys(("concat", "reverse"), _strings),
    **dict.fromkeys(("substring", "substr", "left", "right", "lpad", "rpad"), _part_of_string),
    **dict.fromkeys(("mod", "pmod", "try_mod"), _binary("%")),
    "try_add": _binary("+"),
    "try_subtract": _binary("-"),
    "try_multiply": _binary("*"),
    "try_divide": _binary("/"),
    "div": _binary("div"),
    **dict.fromkeys(("round", "bround"), _round),
    **dict.fromkeys(("ceil", "ceiling", "floor"), _whole),
}
