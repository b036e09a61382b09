"""What follows from each query of a plan, worked out once for as long as the query is there.

A plan that is changed has the very taps of the queries that stay; so of five thousand queries one that is new
is looked at, and the others are called by name.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from weft.engine.finals import Reading, reading
from weft.engine.held import Mask, Need, masks_of, needs
from weft.engine.shape import Shape, shape
from weft.kernels.picks import Choice
from weft.share.nodes import StreamPlan, Tap
from weft.share.same import Asked, among, asked
from weft.times import Instant


@dataclass(frozen=True, slots=True)
class Entry:
    """One query, or one half of it: how it is answered."""

    tap: Tap
    shape: Shape
    sets: tuple[tuple[Tap, Reading], ...]  # of each grouping set
    needs: tuple[Need, ...]
    masks: tuple[Mask, ...]
    kind: int  # the same for all that ask the same, whichever groups they pick
    choice: Choice | None
    among: Hashable  # the same for those that may be answered together


class Roll:
    """The queries of a plan, by name."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, Instant | None], Entry] = {}
        self._kinds: dict[Asked, int] = {}

    def call(self, plan: StreamPlan) -> tuple[list[Entry], list[Entry]]:
        """The entries of all queries, in the order of the plan; and those of them that are new."""
        before, self._entries = self._entries, {}
        new = []
        for tap in plan.halves:
            half = (tap.query.name, tap.until)
            entry = before.get(half)
            if entry is None or entry.tap is not tap:
                entry = self._entry(plan, tap)
                new.append(entry)
            self._entries[half] = entry
        return list(self._entries.values()), new

    def _entry(self, plan: StreamPlan, tap: Tap) -> Entry:
        return Entry(
            tap,
            shape(tap.query),
            tuple((each, reading(plan, each)) for each in tap.sets),
            tuple(needs(plan, tap)),
            tuple(masks_of(plan, tap)),
            self._kinds.setdefault(asked(tap), len(self._kinds)),
            tap.choice,
            among(tap),
        )
