"""Which functions are known to have a value for whatever they are given, or are made so (`failures`).

Of others it is taken for granted, and a query that is wrong about that ends by itself. But who picks groups
has its expressions evaluated on rows that its own conditions would have kept from them: all of these have to
be known.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from weft.lang.statements import Expr
from weft.plan.coercion import FRACTIONAL, is_decimal
from weft.plan.functions import Call, call_of
from weft.plan.types import infer

Types = Mapping[str, str | None]

# Of texts, of numbers, of times, of anything.
_NAMES = """
    upper lower ucase lcase trim ltrim rtrim btrim length char_length character_length len
    octet_length bit_length initcap reverse concat concat_ws substring substr left right lpad rpad
    replace translate instr locate position startswith endswith contains ascii md5 sha sha1 sha2
    crc32 base64 hex soundex levenshtein substring_index get_json_object

    abs sqrt cbrt exp expm1 ln log log10 log1p log2 pow power sign signum sin cos tan asin acos atan
    atan2 sinh cosh tanh degrees radians rint floor ceil ceiling isnan nanvl mod pmod hash xxhash64
    greatest least

    year month day dayofmonth dayofweek dayofyear weekday weekofyear quarter dayname monthname
    last_day date_add date_sub datediff add_months months_between hour minute second date_trunc
    trunc unix_micros unix_millis unix_seconds unix_date timestampadd timestampdiff
    timestamp_seconds timestamp_millis current_timestamp current_date now

    coalesce nvl ifnull nvl2 if nullif isnull isnotnull equal_null size array struct
    named_struct get elt array_contains map_keys map_values
"""
_KNOWN = frozenset(_NAMES.split())
_OPERATORS = (
    exp.Connector, exp.Not, exp.Paren, exp.Case, exp.If, exp.Cast, exp.Coalesce, exp.Nullif, exp.Exists,
    exp.Binary, exp.Unary, exp.Between, exp.In, exp.Bracket,
)  # fmt: skip
_LEAVES = (exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.DataType)
_TIMES = ("date", "timestamp", "timestamp_ntz")
_PATTERNS = (exp.Like, exp.ILike, exp.RegexpLike)
_WITH_PATTERN = ("split", "regexp_extract", "regexp_replace", "regexp_like", "date_format", "from_unixtime")
_ROUNDING = ("round", "bround")  # of whole numbers may have no room for the result


def is_known(source: Expr, types: Types) -> bool:
    """Whether every function of a safe expression over columns of these types is known to have a value."""
    return all(_is_known(node, types) for node in source.tree.walk())


def _is_known(node: exp.Expr, types: Types) -> bool:
    if isinstance(node, _LEAVES):
        return True
    if isinstance(node, _PATTERNS):
        return isinstance(node.expression, exp.Literal)  # one that is wrong is so on any row
    if isinstance(node, exp.Extract):
        return infer(node.expression, types) in _TIMES
    if isinstance(node, _OPERATORS):
        return True
    call = call_of(node)
    return call is None or _is_known_call(call, types)


def _is_known_call(call: Call, types: Types) -> bool:
    if call.name in _WITH_PATTERN:
        return all(isinstance(arg, exp.Literal) for arg in call.args[1:2])
    if call.name in _ROUNDING:
        type_ = infer(call.args[0], types)
        return type_ in FRACTIONAL or is_decimal(type_)
    if call.name == "unix_timestamp":
        return infer(call.args[0], types) in _TIMES
    return call.name in _KNOWN or call.name.startswith("try_")
