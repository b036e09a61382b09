"""Joins of two windows: rows, pairs and queries, and what a query is to be given, by comparing all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

Side = int  # 0: left, 1: right


@dataclass(frozen=True, slots=True)
class Row:
    """A row of one side; `order` numbers all rows of both as they come."""

    side: Side
    at: float
    order: int
    value: object = None
    name: str = ""
    reach: float = field(default=0.0, compare=False)  # the longest window that wants it

    @property
    def key(self) -> tuple[float, int]:
        return self.at, self.order


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows that match; `key` is that of the later."""

    left: Row
    right: Row
    key: tuple[float, int]

    @property
    def apart(self) -> float:
        return abs(self.left.at - self.right.at)

    @property
    def name(self) -> str:
        return self.left.name + self.right.name


Wants = Callable[[Row], bool]
Matches = Callable[[Row, Row], bool]


def every(*_: Row) -> bool:
    return True


@dataclass(frozen=True)
class Query:
    """A window, and which rows of either side it wants."""

    window: float
    left: Wants = every
    right: Wants = every

    def wants(self, row: Row) -> bool:
        return self.right(row) if row.side else self.left(row)


def window_join(
    rows: Sequence[Row], left: float, right: float | None = None, matches: Matches = every
) -> list[Pair]:
    """Every pair of rows that are in their windows together, by comparing all: what joins are judged by."""
    other = left if right is None else right
    pairs = []
    for one in (row for row in rows if row.side == 0):
        for two in (row for row in rows if row.side == 1):
            reach = left if two.key > one.key else other
            if abs(one.at - two.at) < reach and matches(one, two):
                pairs.append(Pair(one, two, max(one.key, two.key)))
    return pairs


def answer_of(query: Query, rows: Sequence[Row], matches: Matches = every) -> list[Pair]:
    """What a query is to be given, by comparing all rows."""
    wanted = [row for row in rows if query.wants(row)]
    return window_join(wanted, query.window, matches=matches)
