"""The functions a query may call, and which call a tree is.

`functions.txt` lists what Spark knows: name, kind, least and greatest number of arguments (`*`: any number).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from sqlglot import exp

from weft.lang.functions import TYPED


@dataclass(frozen=True, slots=True)
class Function:
    """A function Spark knows; `kind` is scalar, aggregate, window, generator or nondeterministic."""

    name: str
    kind: str
    least: int
    most: int | None

    def takes(self, count: int) -> bool:
        return self.least <= count and (self.most is None or count <= self.most)


@cache
def known_functions() -> dict[str, Function]:
    text = files("weft.plan").joinpath("functions.txt").read_text(encoding="utf-8")
    return {function.name: function for function in map(_read_line, text.splitlines())}


def _read_line(line: str) -> Function:
    name, kind, least, most = line.split()
    return Function(name, kind, int(least), None if most == "*" else int(most))


# With a unit of time first: of Spark's grammar, and so not on its list.
ADDING, BETWEEN = "timestampadd", "timestampdiff"
_WITH_UNIT = {
    **dict.fromkeys(("dateadd", "date_add", "timestampadd"), ADDING),
    **dict.fromkeys(("datediff", "date_diff", "timestampdiff", "timediff"), BETWEEN),
}
_OF_GRAMMAR = {name: Function(name, "scalar", 3, 3) for name in (ADDING, BETWEEN)}

# Spark's name of an aggregate -> ours, for those that weft computes.
AGGREGATES = {
    "count": "count", "count_if": "count_if", "sum": "sum", "avg": "avg", "mean": "avg",
    "min": "min", "max": "max",
    "var_pop": "var_pop", "var_samp": "var_samp", "variance": "var_samp",
    "stddev_pop": "stddev_pop", "stddev_samp": "stddev_samp", "stddev": "stddev_samp", "std": "stddev_samp",
    "bool_and": "bool_and", "every": "bool_and", "bool_or": "bool_or", "some": "bool_or", "any": "bool_or",
    "min_by": "min_by", "max_by": "max_by",
    "first": "first", "first_value": "first", "last": "last", "last_value": "last",
    "approx_count_distinct": "approx_count_distinct",
    "approx_percentile": "approx_percentile", "percentile_approx": "approx_percentile",
}  # fmt: skip

# Evaluated once for a whole batch and recorded, so that a replay sees the same time.
CLOCK = frozenset(("current_timestamp", "now", "current_date", "curdate", "localtimestamp"))

# The classes that the parser gives calls, and the name of each in Spark.
_SPARK_NAMES: dict[type[exp.Expr], str] = {
    exp.First: "first",
    exp.Last: "last",
    **{typed.node: name.lower() for name, typed in reversed(TYPED.items())},
}


@dataclass(frozen=True, slots=True)
class Call:
    """A function call with what may stand around it: DISTINCT, IGNORE NULLS, FILTER."""

    name: str  # Spark's, in lower case
    args: tuple[exp.Expr, ...]
    distinct: bool = False
    ignore_nulls: bool = False
    filter: exp.Expr | None = None


def call_of(tree: exp.Expr) -> Call | None:
    """The call that `tree` is, or None: an operator, a column, a literal."""
    match tree:
        case exp.Filter():
            inner = call_of(tree.this)
            return inner and _with_filter(inner, tree.expression.this)
        case exp.IgnoreNulls():
            inner = call_of(tree.this)
            return inner and Call(inner.name, inner.args, inner.distinct, True, inner.filter)
        case exp.RespectNulls():
            return call_of(tree.this)
        case exp.If() if isinstance(tree.parent, exp.Case):
            return None  # a branch of CASE
        case exp.Anonymous(expressions=[exp.Var() | exp.Literal(is_string=True), _, _]) if (
            tree.name.lower() in _WITH_UNIT
        ):
            return Call(_WITH_UNIT[tree.name.lower()], tuple(tree.expressions))
        case exp.Anonymous():
            return _unwrap_distinct(tree.name.lower(), tree.expressions)
        case exp.Func() if not isinstance(tree, exp.Connector | exp.Cast | exp.Case):
            name = _SPARK_NAMES.get(type(tree)) or _printed_name(tree)
            return _unwrap_distinct(name, _children(tree)) if name else None
        case _:
            return None


def _is_word(tree: exp.Expr) -> bool:
    """A word that is no name, or the same in quotes, which is wrong."""
    return isinstance(tree, exp.Var) or (isinstance(tree, exp.Literal) and tree.is_string)


def _with_filter(call: Call, predicate: exp.Expr) -> Call:
    return Call(call.name, call.args, call.distinct, call.ignore_nulls, predicate)


def _unwrap_distinct(name: str, args: list[exp.Expr]) -> Call:
    if args and isinstance(args[0], exp.Distinct):
        return Call(name, tuple(args[0].expressions), distinct=True)
    return Call(name, tuple(args))


def _printed_name(tree: exp.Expr) -> str | None:
    match = re.match(r"([A-Za-z_]\w*)\(", tree.sql("spark"))
    return match[1].lower() if match else None


def _children(tree: exp.Expr) -> list[exp.Expr]:
    found: list[exp.Expr] = []
    for value in tree.args.values():
        found += [child for child in (value if isinstance(value, list) else [value])
                  if isinstance(child, exp.Expr)]  # fmt: skip
    return found


def is_aggregate(tree: exp.Expr) -> bool:
    """Is `tree` an aggregate call, with its FILTER if it has one?"""
    call = call_of(tree)
    return call is not None and kind_of(call.name) == "aggregate"


def kind_of(name: str) -> str | None:
    """The kind of the function of that name; None if Spark does not know it."""
    if name in AGGREGATES:
        return "aggregate"
    function = function_of(name)
    return function.kind if function else None


def has_unit(call: Call) -> bool:
    """Does it take a unit of time first?"""
    return call.name in _OF_GRAMMAR


def function_of(name: str) -> Function | None:
    """The function of that name; None if Spark does not know it."""
    return known_functions().get(name) or _OF_GRAMMAR.get(name)
