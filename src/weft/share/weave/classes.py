"""Queries whose windows start and end at the same edges are one for the weaver: an edge class.

In one group they raise nobody's edge rate, so they are never better apart. Ten thousand clock-like queries
have a hundred classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.lang.statements import WindowSpec
from weft.share.slicing import Pair, pairs_of
from weft.times import SECOND


@dataclass(frozen=True, slots=True)
class EdgeClass:
    """Windows with the same edges, and what their answers cost together."""

    pairs: tuple[Pair, ...]  # (slide, phase), sorted
    members: tuple[int, ...]  # places of the queries
    reads: float  # by how many windows each of its slices is read: what an edge more costs, in reads

    @property
    def rate(self) -> float:
        """Edges a second, alone."""
        return sum(SECOND / slide for slide, _ in self.pairs)


def edge_classes(windows: Sequence[WindowSpec], reads: Sequence[float]) -> list[EdgeClass]:
    """The classes of the windows, in the order of their first members."""
    found: dict[tuple[Pair, ...], list[int]] = {}
    for at, window in enumerate(windows):
        found.setdefault(tuple(sorted(pairs_of(window))), []).append(at)
    return [
        EdgeClass(pairs, tuple(members), sum(reads[at] for at in members)) for pairs, members in found.items()
    ]
