"""Queries answered together: they ask the same of the same windows, each of the groups that it picks.

    customer = 'a'   q1, q7          one family: one look at the feed, one finish of each aggregate
    customer = 'b'   q2              q1 and q7 say the same: their rows are made once

Those of an ORDER BY ... LIMIT are alone with their picks: which rows come first is told window by window. So
are those with grouping sets, whose rows come together from several feeds.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from weft.engine.finals import Reading, reading
from weft.engine.shape import Shape
from weft.kernels.picks import Choice
from weft.share.nodes import StreamPlan, Tap
from weft.share.same import Asked, asked
from weft.times import BEGINNING, Instant


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


def families(
    plan: StreamPlan, floors: Mapping[str, Instant], shapes: Mapping[str, Shape]
) -> tuple[Family, ...]:
    """The queries of a plan, as they are answered together."""
    found: dict[tuple[Asked, Instant, Hashable], dict[Choice | None, list[Tap]]] = {}
    for tap in plan.taps:
        choice, floor, shape = tap.choice, floors.get(tap.query.name, BEGINNING), shapes[tap.query.name]
        is_alone = choice is None or shape.limit is not None or shape.has_sets
        key = (asked(tap), floor, choice if is_alone else "any")
        found.setdefault(key, {}).setdefault(choice, []).append(tap)
    made = []
    for (_, floor, _), members in found.items():
        first = next(iter(members.values()))[0]
        said = {choice: tuple(shapes[t.query.name] for t in taps) for choice, taps in members.items()}
        made.append(Family(tuple((tap, reading(plan, tap)) for tap in first.sets), floor, said))
    return tuple(made)
