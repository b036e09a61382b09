"""Ranges of one column -> intervals: the column is cut wherever one of them begins or ends.

    q1  WHERE price > 10                     cuts                price > 10       price >= 20
    q2  WHERE price > 10 AND price < 20      intervals      0        |       1         |       2
    q3  WHERE price >= 20                    q1 picks 1 and 2, q2 picks 1, q3 picks 2

A cut is a condition that holds from some value on, written as the queries wrote it. An interval is numbered
by how many cuts hold in it: `WEFT_INTERVAL(price > 10, price >= 20)`, null where the column is. That text
names the key in the durable state; how it is evaluated is for those who do.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import lru_cache

from sqlglot import exp

from weft.kernels.picks import INTERVAL, Within
from weft.lang.expressions import expr
from weft.lang.parse import parse_expression
from weft.lang.statements import Expr
from weft.plan.coercion import (
    FRACTIONAL,
    decimal_parts,
    is_decimal,
    is_integral,
    literal_type,
    number_text,
    simple_name,
    time_literal,
)

Bound = (
    Decimal | float | bytes | datetime
)  # bounds of one column are of one type, and order as Spark orders them
Types = Mapping[str, str | None]

_MOST_DIGITS = 38
_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE,
}  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class Cut:
    """The condition that a column is at least `at`, or `beyond` it; those further up imply those below."""

    at: Bound
    beyond: bool
    condition: Expr = field(compare=False)


@dataclass(frozen=True, slots=True)
class Range:
    """The condition that `low` holds of a column, and `high` does not; None: no bound."""

    column: Expr
    low: Cut | None
    high: Cut | None

    @property
    def cuts(self) -> list[Cut]:
        return [cut for cut in (self.low, self.high) if cut is not None]

    def narrowed(self, other: Range) -> Range:
        """Both conditions together."""
        lows = [cut for cut in (self.low, other.low) if cut is not None]
        highs = [cut for cut in (self.high, other.high) if cut is not None]
        return Range(self.column, max(lows, default=None), min(highs, default=None))


@dataclass(frozen=True, slots=True)
class Cuts:
    """The cuts of a column, ascending; `key` is the number of the interval that a row falls into."""

    column: Expr
    cuts: tuple[Cut, ...]
    key: Expr = field(compare=False)

    def has(self, range_: Range) -> bool:
        """Is the range made of whole intervals?"""
        places = [(bisect_left(self.cuts, cut), cut) for cut in range_.cuts]
        return all(place < len(self.cuts) and self.cuts[place] == cut for place, cut in places)

    def picked(self, range_: Range) -> PickedRange:
        """The intervals of a range; none where `first` is past `last`."""
        first = 0 if range_.low is None else bisect_left(self.cuts, range_.low) + 1
        last = len(self.cuts) if range_.high is None else bisect_left(self.cuts, range_.high)
        return PickedRange(self.key, first, last)


@dataclass(frozen=True, slots=True)
class PickedRange:
    """A range that is met by picking groups: the intervals `first` to `last` of the key."""

    key: Expr
    first: int
    last: int

    several = True  # even one interval: queries with wider ranges share the feed
    type = "int"

    def pick(self, place: int) -> Within:
        return Within(place, self.first, self.last)


def cut_at(ranges: Iterable[Range]) -> Cuts:
    """A column cut at all bounds of these ranges."""
    given = list(ranges)
    written = sorted((cut for each in given for cut in each.cuts), key=lambda cut: cut.condition.sql)
    cuts = tuple(sorted({cut: cut for cut in reversed(written)}.values()))
    key = exp.Anonymous(this=INTERVAL, expressions=[cut.condition.tree.copy() for cut in cuts])
    return Cuts(given[0].column, cuts, expr(key))


def is_interval(key: str) -> bool:
    """Is the key, as SQL, the number of an interval?"""
    return key.startswith(f"{INTERVAL}(")


def intervals_by(key: str) -> int:
    """How many intervals a key numbers."""
    return len(_parsed(key).tree.expressions) + 1


def cuts_of(key: str, types: Types) -> Cuts:
    """The cuts that a key was made of, which is the number of an interval."""
    return _cuts_of(key, types.get(_parsed(key).tree.expressions[0].this.name))


@lru_cache(maxsize=256)
def _parsed(key: str) -> Expr:
    return parse_expression(key)


@lru_cache(maxsize=256)
def _cuts_of(key: str, type_: str | None) -> Cuts:
    conditions = _parsed(key).tree.expressions
    types = {conditions[0].this.name: type_}
    ranges = [found for found in (range_of(condition, types) for condition in conditions) if found]
    return Cuts(ranges[0].column, tuple(each.low for each in ranges if each.low), _parsed(key))


def range_of(tree: exp.Expr, types: Types) -> Range | None:
    """What a comparison of a column with literals says; None where it is anything else."""
    match tree.unnest():
        case exp.GT() | exp.GTE() | exp.LT() | exp.LTE() as compared:
            return _compared(type(compared), compared.this, compared.expression, types)
        case exp.Between(this=column) as between if not between.args.get("symmetric"):
            low = _compared(exp.GTE, column, between.args["low"], types)
            high = _compared(exp.LTE, column, between.args["high"], types)
            return low.narrowed(high) if low is not None and high is not None else None
    return None


def _compared(sign: type[exp.Expr], left: exp.Expr, right: exp.Expr, types: Types) -> Range | None:
    left, right = left.unnest(), right.unnest()
    if not isinstance(left, exp.Column):
        sign, left, right = _MIRRORED[sign], right, left
    if not isinstance(left, exp.Column) or left.table:
        return None
    at = _bound(right, types.get(left.name))
    if at is None:
        return None
    beyond = sign in (exp.GT, exp.LTE)
    condition = (exp.GT if beyond else exp.GTE)(this=left.copy(), expression=right.copy())
    cut = Cut(at, beyond, expr(condition))
    upper = sign in (exp.LT, exp.LTE)
    return Range(expr(left), None if upper else cut, cut if upper else None)


def _bound(tree: exp.Expr, type_: str | None) -> Bound | None:
    """Where a literal stands among the values of a column, if comparing them loses nothing."""
    text = number_text(tree)
    match tree:
        case exp.Literal(is_string=True, this=said) if type_ == "string":
            return str(said).encode()
        case exp.Cast() if simple_name(tree.to) == type_:
            return time_literal(tree)
        case _ if text is None or type_ is None:
            return None
    if type_ in FRACTIONAL:
        number = float(text)
        return number if math.isfinite(number) else None
    return Decimal(text) if _is_exact(type_, literal_type(text)) else None


def _is_exact(type_: str, literal: str | None) -> bool:
    """Does Spark compare the two as decimals that hold both, or as whole numbers?"""
    if literal is None or literal in FRACTIONAL:
        return False
    if is_integral(type_) and is_integral(literal):
        return True
    if not is_integral(type_) and not is_decimal(type_):
        return False
    (p1, s1), (p2, s2) = decimal_parts(type_), decimal_parts(literal)
    return max(p1 - s1, p2 - s2) + max(s1, s2) <= _MOST_DIGITS
