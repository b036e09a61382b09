"""Predicates -> keys: what many queries differ in becomes a key of their feed, and each picks its groups.

    q1  WHERE customer = 'a' AND price > 10          feed by customer, of the rows WHERE price > 10
    q2  WHERE customer = 'b' AND price > 10          q1 picks the group 'a', q2 'b', q3 'c' and 'd'
    q3  WHERE customer IN ('c', 'd') AND price > 10

Row by row a thousand such conditions cost a thousand comparisons, and their partials a thousand columns. As a
key they cost a cell for each customer in a slice, and there are never more cells than rows. Ranges of one
column are picked by the number of the interval that a value falls into (`intervals`), and conditions that
queries combine in many ways by the bits of a `signature`.

What is decided for a query holds for windows, not for rows: its partials are kept under these keys, and who
picks by others from some time on (`Turn`) has the windows before answered as they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from weft.kernels.picks import OneOf
from weft.lang.expressions import expr
from weft.lang.statements import Expr, WindowSpec
from weft.share.intervals import Cuts, PickedRange, Range, cut_at, cuts_of, is_interval, range_of
from weft.share.parts import conjunction, conjuncts
from weft.share.signatures import PickedBits, is_signature, read_signature
from weft.times import Instant

MANY = 8  # different conditions on one column, from which on a cell for each value costs less than they do
READ = 50  # intervals for each query that cost no more than asking every row for its range

Value = str | int | bool
Types = Mapping[str, str | None]
Hidden = Mapping[str, tuple[str, ...]]  # by query: the keys it picks groups by, as SQL


@dataclass(frozen=True, slots=True)
class Turn:
    """When a query began to pick by other keys: its windows that start after `at` are answered by these.

    Those that start up to then are answered by the keys from `before`; None: all of them have been.
    """

    at: Instant
    before: tuple[str, ...] | None


Turns = Mapping[str, Turn]  # by query

_WHOLE = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}  # bits


@dataclass(frozen=True, slots=True)
class Equals:
    """A condition that a column has one of some values; met by picking groups, the column is their key."""

    column: Expr
    values: tuple[Value, ...]
    type: str | None = field(default=None, compare=False)

    @property
    def key(self) -> Expr:
        return self.column

    @property
    def several(self) -> bool:
        """Whether more than one group is picked."""
        return len(self.values) > 1

    def pick(self, place: int) -> OneOf:
        return OneOf(place, self.values)


Condition = Equals | Range
Picked = Equals | PickedRange | PickedBits


@dataclass(frozen=True, slots=True)
class Apart:
    """A predicate taken apart: conditions that are met by picking groups, and what rows are asked."""

    picked: tuple[Picked, ...]
    rest: Expr | None


@dataclass(frozen=True, slots=True)
class Split:
    """A predicate: the parts that AND joins, each with the condition that groups could be picked by."""

    parts: tuple[tuple[Expr, Condition | None], ...]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Those that groups could be picked by; of a column only one range."""
        return tuple(_together(one for _, one in self.parts))

    def apart(self, keys: Sequence[str], types: Types, said: Mapping[str, Expr] | None = None) -> Apart:
        """The predicate with the conditions that are met by picking groups by these keys told apart.

        What no other key meets is met by the signature, as far as it has bits for it; `said` is how some of
        it is said there.
        """
        plain = {key for key in keys if not is_interval(key) and not is_signature(key)}
        cuts = {made.column.sql: made for made in (cuts_of(key, types) for key in keys if is_interval(key))}

        def picked(one: Condition | None) -> Picked | None:
            match one:
                case Equals(column=column) if column.sql in plain:
                    return one
                case Range(column=column) if column.sql in cuts:
                    return cuts[column.sql].picked(one)
            return None

        found: list[Picked | None] = [picked(one) for one in self.conditions]
        rest = [part for part, one in self.parts if picked(one) is None]
        for signature in (read_signature(key) for key in keys if is_signature(key)):
            bits = {part.sql: (said or {}).get(part.sql, part) for part in rest}
            found.append(signature.picked(bits.values()))
            rest = [part for part in rest if bits[part.sql].sql not in signature.bits]
        return Apart(tuple(each for each in found if each is not None), conjunction(rest))


def split(where: Expr | None, types: Types) -> Split:
    """A predicate over columns of these types."""
    parts = [] if where is None else conjuncts(where)
    return Split(tuple((part, _condition(part.tree, types)) for part in parts))


def _together(found: Iterable[Condition | None]) -> list[Condition]:
    """All conditions, those that are ranges of one column as one."""
    others: list[Condition] = []
    ranges: dict[str, Range] = {}
    for one in found:
        match one:
            case Equals():
                others.append(one)
            case Range(column=column):
                known = ranges.get(column.sql)
                ranges[column.sql] = one if known is None else known.narrowed(one)
    return [*others, *ranges.values()]


@dataclass(frozen=True, slots=True)
class Asking:
    """A query that has conditions, and its window."""

    conditions: Sequence[Condition]
    window: WindowSpec | None


def decide(
    new: Mapping[str, Asking],
    counts: Counter[About],
    intervals: Iterable[str],
    types: Types,
    judged: Mapping[About, bool],
) -> dict[str, tuple[str, ...]]:
    """For each query the keys it is to pick groups by.

    `counts` tells how many different conditions all queries have, `intervals` the keys that numbers of
    intervals are. A range whose bounds are among those cuts joins them; many others are cut anew. Whether it
    pays is `judged` for columns of which something is known.
    """
    known = [cuts_of(key, types) for key in intervals]
    worth = _worth_cutting(new.values(), known)

    def is_picked(one: Condition) -> bool:
        match one:
            case Equals():
                return judged.get(about(one), counts[about(one)] >= MANY)
            case Range():
                return _holding(one, known) is not None or judged.get(about(one), about(one) in worth)

    best = {name: _best(filter(is_picked, each.conditions), counts) for name, each in new.items()}
    cuts = [*known, *_cut_anew([one for one in best.values() if one is not None], known)]
    return {name: _keys(one, cuts) for name, one in best.items()}


About = tuple[str, bool]  # a column, and whether it is a range


def about(condition: Condition) -> About:
    """What a condition is about: those that are about the same can be picked by one key."""
    return condition.column.sql, isinstance(condition, Range)


def _worth_cutting(new: Iterable[Asking], known: Sequence[Cuts]) -> set[About]:
    """The columns to cut: many ranges fall on them, and few intervals are read for each query.

    For every window that some query has, all intervals are read once, for all queries that have it.
    """
    found: dict[About, list[tuple[Condition, WindowSpec | None]]] = {}
    for asking in new:
        for one in asking.conditions:
            if isinstance(one, Range) and _holding(one, known) is None:
                found.setdefault(about(one), []).append((one, asking.window))
    return {
        column
        for column, asked in found.items()
        if (ranges := len({one for one, _ in asked})) >= MANY
        and ranges * len({window for _, window in asked}) <= READ * len(asked)
    }


def _best(conditions: Iterable[Condition], counts: Counter[About]) -> Condition | None:
    """The condition on the column that has the most of them."""
    return min(conditions, key=lambda one: (-counts[about(one)], about(one)), default=None)


def _holding(condition: Condition, known: Iterable[Cuts]) -> Cuts | None:
    """The cuts that a range is made of."""
    match condition:
        case Range(column=column):
            return next((cuts for cuts in known if cuts.column == column and cuts.has(condition)), None)
        case Equals():
            return None


def _cut_anew(best: Iterable[Condition], known: Sequence[Cuts]) -> list[Cuts]:
    """Each column cut at the bounds of the ranges that are not held by what is known."""
    ranges: dict[str, list[Range]] = {}
    for one in best:
        if isinstance(one, Range) and _holding(one, known) is None:
            ranges.setdefault(one.column.sql, []).append(one)
    return [cut_at(each) for each in ranges.values()]


def _keys(condition: Condition | None, cuts: Iterable[Cuts]) -> tuple[str, ...]:
    match condition:
        case Equals(column=column):
            return (column.sql,)
        case Range():
            holding = _holding(condition, cuts)
            return () if holding is None else (holding.key.sql,)
        case None:
            return ()


def _condition(tree: exp.Expr, types: Types) -> Condition | None:
    match tree.unnest():
        case exp.EQ(this=left, expression=right):
            column, value = (left, right) if isinstance(left.unnest(), exp.Column) else (right, left)
            return _equals(column, [value], types)
        case exp.In() as inside if inside.expressions:
            return _equals(inside.this, inside.expressions, types)
        case other:
            return range_of(other, types)


def _equals(column: exp.Expr, values: list[exp.Expr], types: Types) -> Equals | None:
    column = column.unnest()
    if not isinstance(column, exp.Column) or column.table:
        return None
    found = [_value(value.unnest(), types.get(column.name)) for value in values]
    if any(value is None for value in found):
        return None
    distinct = tuple(dict.fromkeys(value for value in found if value is not None))
    return Equals(expr(column), distinct, types.get(column.name))


def _value(tree: exp.Expr, type_: str | None) -> Value | None:
    """What a literal says, where it is of the column's own type: nothing is converted to compare them."""
    match tree:
        case exp.Boolean(this=value) if type_ == "boolean":
            return bool(value)
        case exp.Literal(is_string=True, this=text) if type_ == "string":
            return str(text)
        case exp.Neg(this=exp.Literal() as literal):
            value = _value(literal, type_)
            return -value if isinstance(value, int) and type_ in _WHOLE else None
        case exp.Literal(is_string=False, this=text) if type_ in _WHOLE and text.isdecimal():
            return int(text) if int(text) < 1 << (_WHOLE[type_] - 1) else None
    return None
