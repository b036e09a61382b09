"""Rows with lives, small plans over windows of them, their patterns, and their answers by brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from weft.plan.relationpatterns import Pattern

Values = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Life:
    """A row that is there at `ts <= t < exp`; `made` says of which rows, so that it can be taken back."""

    values: Values
    ts: float
    exp: float
    made: tuple[object, ...] = ()

    @property
    def key(self) -> object:
        return self.values[0]


@dataclass(frozen=True, slots=True)
class Message:
    """A row that comes, or one that is taken back."""

    life: Life
    taken_back: bool = False


class Lacking(StrEnum):
    """What absence means, by the first value: bags, telling the youngest or the oldest rows, or no match."""

    YOUNGEST = "bag, youngest rows"
    OLDEST = "bag, oldest rows"
    NO_MATCH = "no match"


@dataclass(frozen=True)
class Window:
    """The rows of a stream for which `where` holds, each for `length`."""

    stream: str
    length: float
    where: Callable[[Values], bool] | None = None


@dataclass(frozen=True)
class Latest:
    """The last `count` rows of a stream."""

    stream: str
    count: int


@dataclass(frozen=True)
class Join:
    """Pairs with the same first value."""

    left: Plan
    right: Plan


@dataclass(frozen=True)
class Distinct:
    """Each different combination of some columns once."""

    source: Plan
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Minus:
    """Rows of the left side that the right side does not answer for."""

    left: Plan
    right: Plan
    lacking: Lacking = Lacking.NO_MATCH


@dataclass(frozen=True)
class Total:
    """The sum of the last column for each first value; a single group without one."""

    source: Plan
    grouped: bool = True


Plan = Window | Latest | Join | Distinct | Minus | Total
History = Mapping[str, Sequence[tuple[float, Values]]]  # by stream, in order of time


def sources(plan: Plan) -> tuple[Plan, ...]:
    match plan:
        case Window() | Latest():
            return ()
        case Join() | Minus():
            return plan.left, plan.right
        case Distinct() | Total():
            return (plan.source,)


def streams(plan: Plan) -> set[str]:
    """The streams that it reads."""
    match plan:
        case Window(stream=stream) | Latest(stream=stream):
            return {stream}
        case _:
            return {stream for each in sources(plan) for stream in streams(each)}


def label(plan: Plan) -> Pattern:
    """The update pattern of what a plan gives."""
    worst = max((label(each) for each in sources(plan)), default=Pattern.MONOTONIC)
    match plan:
        case Window(length=length):
            return Pattern.MONOTONIC if length == inf else Pattern.WEAKEST
        case Join() | Distinct():
            return worst if worst is Pattern.MONOTONIC else max(worst, Pattern.WEAK)
        case Latest() | Minus() | Total():
            return Pattern.STRICT


def longest(plan: Plan) -> float:
    """The longest of its windows."""
    match plan:
        case Window(length=length):
            return length
        case _:
            return max((longest(each) for each in sources(plan)), default=0)


def rows_at(plan: Plan, history: History, t: float) -> list[Values]:
    """What SQL over the rows that are there as of `t` gives: the truth."""
    match plan:
        case Window(stream=stream, length=length, where=where):
            there = [values for ts, values in history.get(stream, ()) if ts <= t < ts + length]
            return [values for values in there if where is None or where(values)]
        case Latest(stream=stream, count=count):
            return [values for ts, values in history.get(stream, ()) if ts <= t][-count:]
        case Join(left=left, right=right):
            others = rows_at(right, history, t)
            return [one + two for one in rows_at(left, history, t) for two in others if one[0] == two[0]]
        case Distinct(source=source, columns=columns):
            return list({tuple(row[at] for at in columns) for row in rows_at(source, history, t)})
        case Minus(left=left, right=right, lacking=lacking):
            return _lacking(rows_at(left, history, t), rows_at(right, history, t), lacking)
        case Total(source=source, grouped=grouped):
            return _totals(rows_at(source, history, t), grouped)


def _lacking(rows: list[Values], others: Iterable[Values], lacking: Lacking) -> list[Values]:
    taken = Counter(other[0] for other in others)
    if lacking is Lacking.NO_MATCH:
        return [row for row in rows if not taken[row[0]]]
    left = rows if lacking is Lacking.YOUNGEST else rows[::-1]
    kept = []
    for row in left:
        if taken[row[0]]:
            taken[row[0]] -= 1
        else:
            kept.append(row)
    return kept


def _totals(rows: Iterable[Values], grouped: bool) -> list[Values]:
    sums: dict[Values, float] = {}
    for row in rows:
        group = row[:1] if grouped else ()
        sums[group] = sums.get(group, 0) + row[-1]  # type: ignore[operator]
    return [(*group, value) for group, value in sums.items()]
