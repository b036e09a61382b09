"""Queries answered together: they ask the same of the same windows, each of the groups that it picks.

    customer = 'a'   q1, q7          one family: one look at the feed, one finish of each aggregate
    customer = 'b'   q2              q1 and q7 say the same: their rows are made once

Those of an ORDER BY ... LIMIT are alone with their picks: which rows come first is told window by window. So
are those with grouping sets, whose rows come together from several feeds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from weft.engine.finals import Reading
from weft.engine.held import floor_of
from weft.engine.roll import Entry
from weft.engine.shape import Shape
from weft.kernels.picks import Choice
from weft.share.nodes import Tap
from weft.times import Instant


@dataclass(frozen=True, slots=True)
class Portion:
    """Queries that say the same, and their rows among those of the family: [start, stop), None: all."""

    shapes: tuple[Shape, ...]
    start: int = 0
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """Queries that ask the same of their windows; by choice those that say the same."""

    sets: tuple[tuple[Tap, Reading], ...]  # of any of them: a tap for each of its grouping sets
    floor: Instant
    until: Instant | None  # no window starts after that
    members: Mapping[Choice | None, tuple[Shape, ...]]

    @property
    def shape(self) -> Shape:
        """How answers are made, up to the names of their columns."""
        return next(iter(self.members.values()))[0]

    @property
    def choices(self) -> tuple[Choice, ...]:
        """What its members pick; none: they take all groups."""
        return tuple(choice for choice in self.members if choice is not None)

    @property
    def everyone(self) -> tuple[Portion, ...]:
        """All rows, where all members say the same."""
        (shapes,) = self.members.values()
        return (Portion(shapes),)


def families(entries: Iterable[Entry], floors: Mapping[str, Instant]) -> tuple[Family, ...]:
    """The queries of a plan, as they are answered together."""
    found: dict[tuple[int, Instant, Instant | None, Hashable], dict[Choice | None, list[Entry]]] = {}
    for entry in entries:
        kind = (entry.kind, floor_of(entry.tap, floors), entry.tap.until, entry.among)
        alike = found.setdefault(kind, {})
        alike.setdefault(entry.choice, []).append(entry)
    return tuple(
        Family(
            next(iter(members.values()))[0].sets,
            floor,
            until,
            {choice: tuple(each.shape for each in same) for choice, same in members.items()},
        )
        for (_, floor, until, _), members in found.items()
    )
