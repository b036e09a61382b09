"""How each node of a relation is kept, chosen by the update patterns of what it reads (Golab 2006, 3.5.2).

    weakest   a queue: rows leave in the order they came
    weak      a calendar: rows lie by when they leave, and only those that are due are looked at
    strict    a calendar as long as few rows leave before their time, else a table by row
    groups    a row for each group, replaced by the next

DISTINCT keeps what it has told and the one equal row that lives longest where ends are known, else it counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from weft.lang.bodies import Emission, SetKind
from weft.plan.relationpatterns import Pattern, relation_pattern
from weft.plan.relations import (
    AsOf,
    Distinct,
    Emitted,
    Entries,
    Grouped,
    Kept,
    Lasting,
    Leading,
    Made,
    Merged,
    Paired,
    Relation,
    Rows,
    Whether,
)
from weft.plan.relationtree import below, walk

PARTITIONS = 10  # of a calendar, as the thesis has it


class Holding(StrEnum):
    """What rows are kept in."""

    NONE = "none"
    FIFO = "queue"
    CALENDAR = "calendar"
    HASH = "table by row"
    GROUPS = "row for each group"


class Sieve(StrEnum):
    """How rows are told once that are there several times."""

    LONGEST = "the equal row that lives longest goes on"
    COUNTING = "equal rows are counted"


@dataclass(frozen=True, slots=True)
class Choice:
    """What is kept in what, and why."""

    holding: Holding
    reason: str


@dataclass(frozen=True, slots=True)
class Picked:
    """A node, its pattern, and how it keeps each of the relations it reads, and what it makes of them."""

    node: Relation
    pattern: Pattern
    inputs: tuple[Choice, ...] = ()
    own: Choice | None = None
    sieve: Sieve | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """Of a strict relation: rows that are there, and which part of them leaves before its time.

    `message` is what it costs to send one row for another to leave, in rows of a calendar looked at.
    """

    rows: float = 1000.0
    premature: float = 0.4
    message: float = 400.0

    @property
    def calendar_pays(self) -> bool:
        """Looking through a calendar for those that leave early, against a message for each that leaves."""
        return self.premature * self.rows < self.message


def physical(relation: Relation, expected: Expected | None = None) -> tuple[Picked, ...]:
    """The choice for every node, from the top, each as often as it is read."""
    return tuple(_picked(node, expected or Expected()) for node in walk(relation))


def held_by_pattern(pattern: Pattern, expected: Expected) -> Choice:
    """What rows with this pattern are kept in."""
    match pattern:
        case Pattern.MONOTONIC:
            return Choice(Holding.FIFO, "monotonic: rows are added, and stay")
        case Pattern.WEAKEST:
            return Choice(Holding.FIFO, "weakest: the oldest row is the first to leave")
        case Pattern.WEAK:
            return Choice(Holding.CALENDAR, "weak: rows leave when they said, but not in order")
        case Pattern.STRICT if expected.calendar_pays:
            return Choice(Holding.CALENDAR, f"strict: only {expected.premature:.0%} leave before their time")
        case Pattern.STRICT:
            return Choice(Holding.HASH, f"strict: {expected.premature:.0%} leave before their time")


def sieve_for(pattern: Pattern) -> Sieve:
    """Where rows say when they leave, one that goes on is enough; else each that leaves is counted off."""
    return Sieve.COUNTING if pattern is Pattern.STRICT else Sieve.LONGEST


def _picked(node: Relation, expected: Expected) -> Picked:
    pattern = relation_pattern(node)
    match node:
        case Rows() | Entries() | Kept() | Made() | Leading():
            return Picked(node, pattern, tuple(_passed(each) for each in below(node)))
        case Lasting(range=range_):
            return Picked(node, pattern, (_passed(node.source),), _lasting(range_ is None))
        case Paired(left=left, right=right):
            return Picked(node, pattern, (_paired(left, right, expected), _paired(right, left, expected)))
        case Distinct(source=source):
            return _sieved(node, pattern, (source,))
        case Merged(kind=SetKind.UNION, all=all_, left=left, right=right):
            if not all_:
                return _sieved(node, pattern, (left, right))
            return Picked(node, pattern, (_passed(left), _passed(right)))
        case Merged(left=left, right=right) | Whether(source=left, other=right):
            counts = Choice(Holding.HASH, "how often each value is there on either side")
            return Picked(node, pattern, (_held(left, expected), _held(right, expected)), counts)
        case AsOf(source=source):
            return Picked(node, pattern, (_held(source, expected),))
        case Grouped(source=source):
            return _grouped(node, pattern, source, expected)
        case Emitted(source=source, emission=emission):
            return Picked(node, pattern, (_told(source, emission, expected),))
        case _:
            assert_never(node)


def _passed(source: Relation) -> Choice:
    return Choice(Holding.NONE, f"{relation_pattern(source)}: rows are passed on as they come")


def _held(source: Relation, expected: Expected) -> Choice:
    return held_by_pattern(relation_pattern(source), expected)


def _lasting(for_ever: bool) -> Choice:
    if for_ever:
        return Choice(Holding.NONE, "rows stay, whatever becomes of those they were made of")
    return Choice(Holding.FIFO, "every row lasts as long")


def _paired(side: Relation, other: Relation, expected: Expected) -> Choice:
    match side, other:
        case Entries(retroactive=retroactive), _:
            kept = "its versions" if not retroactive else "rows of a table come and go by their key"
            return Choice(Holding.HASH, f"a table: {kept}")
        case _, Entries(retroactive=False):
            return Choice(Holding.NONE, "the table changes nothing that has been told")
        case _:
            return _held(side, expected)


def _sieved(node: Relation, pattern: Pattern, sources: tuple[Relation, ...]) -> Picked:
    """Nothing of the input is kept: what was told, and the equal rows that go on; or counts."""
    worst = max(relation_pattern(each) for each in sources)
    sieve = sieve_for(worst)
    match pattern:
        case Pattern.STRICT:
            own = Choice(Holding.HASH, "strict: how many equal rows there are")
        case Pattern.MONOTONIC:
            own = Choice(Holding.HASH, "monotonic: what has been told stays")
        case _:
            own = Choice(Holding.CALENDAR, "what has been told, and for each at most one that goes on")
    return Picked(node, pattern, tuple(_passed(each) for each in sources), own, sieve)


def _grouped(node: Relation, pattern: Pattern, source: Relation, expected: Expected) -> Picked:
    groups = Choice(Holding.GROUPS, "a new value replaces the one before")
    match source:
        case AsOf():
            return Picked(node, pattern, (_passed(source),), groups)
        case _:
            return Picked(node, pattern, (_held(source, expected),), groups)


def _told(source: Relation, emission: Emission, expected: Expected) -> Choice:
    pattern = relation_pattern(source)
    match emission:
        case Emission.ISTREAM | Emission.DSTREAM | Emission.CHANGES if pattern is Pattern.WEAK:
            return Choice(Holding.CALENDAR, "weak: what leaves is told when it does")
        case Emission.ISTREAM | Emission.DSTREAM | Emission.CHANGES if pattern is Pattern.WEAKEST:
            return Choice(Holding.FIFO, "weakest: what leaves is told when it does")
        case _:
            return _passed(source)
