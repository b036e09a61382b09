"""Texts that Spark converts of its own accord, because of what they stand beside, with the casts written out.

    k IN (1, 5)          CAST(k AS BIGINT) IN (1, 5)
    COALESCE(k, 1.5)     COALESCE(CAST(k AS DOUBLE), 1.5)
    NULLIF(k, 1)         IF(k = 1, NULL, k)                of k and 1 alone

Plain comparisons are left: `raising.comparable` knows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from weft.plan.coercion import VOID, Type, is_integral, is_numeric, wider
from weft.plan.guarded import Tree

TypeOf = Callable[[Tree], Type | None]

_FEWEST = 2  # parts that can differ in type

# Of these functions the first argument is a date or a time; of some it is another, or there are two.
_OF_DATES = (
    "year", "month", "day", "dayofmonth", "dayofweek", "dayofyear", "weekday", "weekofyear", "quarter",
    "dayname", "monthname", "last_day", "next_day", "add_months", "date_add", "date_sub", "trunc", "datediff",
)  # fmt: skip
_OF_TIMES = (
    "hour", "minute", "second", "date_format", "date_trunc", "from_utc_timestamp", "to_utc_timestamp",
    "months_between",
)  # fmt: skip
_PLACES = {"date_trunc": (1,), "datediff": (0, 1), "months_between": (0, 1)}
_ARGUMENTS: dict[str, tuple[Type, tuple[int, ...]]] = {
    **{name: ("date", _PLACES.get(name, (0,))) for name in _OF_DATES},
    **{name: ("timestamp", _PLACES.get(name, (0,))) for name in _OF_TIMES},
}


def written_out(tree: Tree, type_of: TypeOf) -> Tree:
    """What `tree` is with its casts; the very same if it has none, or if they cannot be told."""
    match tree:
        case exp.NullSafeEQ() | exp.NullSafeNEQ():
            return _cast_among(tree, [tree.left, tree.right], type_of)
        case exp.In() if not tree.args.get("query"):
            return _cast_among(tree, [tree.this, *tree.expressions], type_of)
        case exp.Coalesce():
            return _cast_among(tree, [tree.this, *tree.expressions], type_of)
        case exp.If():
            return _cast_among(tree, [tree.args["true"], tree.args.get("false")], type_of)
        case exp.Case():
            return _case(tree, type_of)
        case exp.Nullif() if _meet_as(tree.this, tree.expression, type_of) is not None:
            same = exp.EQ(this=tree.this.copy(), expression=tree.expression.copy())
            return exp.If(this=same, true=exp.Null(), false=tree.this.copy())
        case exp.Neg() | exp.Abs():
            return _cast_to("double", tree, [tree.this], type_of)
        case exp.IntDiv():
            return _cast_to("bigint", tree, [tree.left, tree.right], type_of)
        case exp.Anonymous() if tree.name.lower() == "nvl2":
            return _cast_among(tree, tree.expressions[1:], type_of)
        case exp.Anonymous() if tree.name.lower() in _ARGUMENTS:
            wanted, places = _ARGUMENTS[tree.name.lower()]
            given = [arg for at, arg in enumerate(tree.expressions) if at in places]
            return _cast_to(wanted, tree, given, type_of)
        case _:
            return tree


def _case(tree: exp.Case, type_of: TypeOf) -> Tree:
    """CASE k WHEN 1 compares k with each by itself."""
    branches = tree.args["ifs"]
    if tree.this is not None and any(_meet_as(tree.this, each.this, type_of) for each in branches):
        made = [
            exp.If(
                this=exp.EQ(this=tree.this.copy(), expression=each.this.copy()), true=each.args["true"].copy()
            )
            for each in branches
        ]
        default = tree.args.get("default")
        return exp.Case(ifs=made, default=default and default.copy())
    return _cast_among(tree, [*(each.args["true"] for each in branches), tree.args.get("default")], type_of)


def _cast_among(tree: Tree, parts: Sequence[Tree | None], type_of: TypeOf) -> Tree:
    """`tree` with the texts among these parts of it cast to the type that all of them get."""
    there = [part for part in parts if part is not None]
    types = [type_of(part) for part in there]
    common = _common(types)
    return tree if common in (None, "string", "binary") else _cast_to(str(common), tree, there, type_of)


def _cast_to(common: Type, tree: Tree, parts: Sequence[Tree], type_of: TypeOf) -> Tree:
    """`tree` with the texts among these parts of it cast to this type."""
    texts = {id(part) for part in parts if type_of(part) == "string"}
    if not texts:
        return tree
    copy = tree.copy()
    for node, twin in zip(list(tree.walk()), list(copy.walk()), strict=True):
        if id(node) in texts:
            cast = exp.Cast(to=exp.DataType.build(common, dialect="spark"))
            twin.replace(cast)
            cast.set("this", twin)
    return copy


def _meet_as(left: Tree, right: Tree, type_of: TypeOf) -> Type | None:
    """The type that one of two is converted to, a text, to be compared with the other."""
    types = [type_of(left), type_of(right)]
    common = _common(types) if "string" in types else None
    return None if common in ("string", "binary") else common


def _common(types: Sequence[Type | None]) -> Type | None:
    """The type that values of these types get together, taken in one after the other."""
    common: Type | None = VOID
    for type_ in types:
        common = _wider(common, type_)
    return common if len(types) >= _FEWEST else None


def _wider(left: Type | None, right: Type | None) -> Type | None:
    if "string" not in (left, right) or left == right or VOID in (left, right):
        return wider(left, right)
    other = right if left == "string" else left
    if is_numeric(other):
        return "bigint" if is_integral(other) else "double"
    return other
