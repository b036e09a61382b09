"""What a query picks of the groups of a feed that has keys it does not group by."""

from __future__ import annotations

from dataclasses import dataclass

INTERVAL = (
    "WEFT_INTERVAL"  # what numbers the intervals of a column: how many of the conditions given to it hold
)
SIGNATURE = (
    "WEFT_SIGNATURE"  # a bit for each of the conditions given to it, the first the lowest: does it hold?
)
COVERS = "WEFT_COVERS"  # whether a signature has all bits of one of the masks that follow it


@dataclass(frozen=True, slots=True)
class OneOf:
    """The key at `place` is one of the values."""

    place: int
    values: tuple[str | int | bool, ...]

    @property
    def single(self) -> bool:
        """Does it take groups with one value of the key only?"""
        return len(self.values) == 1


@dataclass(frozen=True, slots=True)
class Within:
    """The key at `place`, a whole number, is one of `first` to `last`; of none where it is past that."""

    place: int
    first: int
    last: int

    @property
    def single(self) -> bool:
        return self.first == self.last


@dataclass(frozen=True, slots=True)
class HasAll:
    """The key at `place`, a signature, has all bits of the mask."""

    place: int
    mask: int

    @property
    def single(self) -> bool:
        return False


Pick = OneOf | Within | HasAll


@dataclass(frozen=True, slots=True)
class Choice:
    """The groups for which all picks hold; those with the same keys at `seen` are one for the query."""

    picks: tuple[Pick, ...]
    seen: tuple[int, ...]
