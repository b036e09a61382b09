"""What a plan costs by the literature's model: aggregate operations a second.

    two levels      every group reads all rows, and a window reads each slice of its group
    three levels    rows are read once into fine slices, every group reads these, a window those of its group

`rows` is the price of reading the input once, `fine` that of reading the fine slices once: with both in
operations a second these are the rows a second and the edge rate of all queries together. Equations 3.1 to
3.5 and 5.2 of Guirguis's thesis, with the real number of edges (it charges two for each slide).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from weft.share.weave.classes import EdgeClass
from weft.share.weave.history import Partition
from weft.share.weave.points import Points


@dataclass(frozen=True, slots=True)
class Group:
    """Classes that share slices."""

    classes: tuple[int, ...]
    rate: float  # edges a second
    reads: float  # of each slice

    @property
    def reading(self) -> float:
        return self.rate * self.reads


def groups_of(partition: Partition, classes: Sequence[EdgeClass], points: Points) -> tuple[Group, ...]:
    """The groups of a partition with their numbers."""
    found = []
    for members in partition:
        rate = classes[members[0]].rate if len(members) == 1 else points.rate(members)
        found.append(Group(members, rate, sum(classes[at].reads for at in members)))
    return tuple(found)


def two_level(rows: float, groups: Iterable[Group]) -> float:
    return sum(rows + group.reading for group in groups)


def three_level(rows: float, fine: float, groups: Iterable[Group]) -> float:
    return rows + sum(fine + group.reading for group in groups)


def no_share(rows: float, classes: Iterable[EdgeClass]) -> float:
    """Every query by itself, also those with the same edges."""
    return sum(len(one.members) * rows + one.rate * one.reads for one in classes)


@dataclass(frozen=True, slots=True)
class Woven:
    """How well two groups go together: which part of their edges they have in common."""

    degree: float
    contained: bool  # all edges of one are edges of the other


def weaveability(first: Sequence[int], other: Sequence[int], points: Points) -> Woven:
    """Definition 6: common edges over all edges."""
    mine, theirs = points.held(first), points.held(other)
    common = points.weights[mine & theirs].sum()
    both = points.weights[mine | theirs].sum()
    contained = bool((mine <= theirs).all() or (theirs <= mine).all())
    return Woven(float(common / both) if both else 0.0, contained)
