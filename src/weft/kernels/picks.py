"""What a query picks of the groups of a feed that has keys it does not group by."""

from __future__ import annotations

from dataclasses import dataclass

INTERVAL = (
    "WEFT_INTERVAL"  # what numbers the intervals of a column: how many of the conditions given to it hold
)


@dataclass(frozen=True, slots=True)
class OneOf:
    """The key at `place` is one of the values."""

    place: int
    values: tuple[str | int | bool, ...]

    @property
    def count(self) -> int:
        """How many values of the key it takes."""
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Within:
    """The key at `place`, a whole number, is one of `first` to `last`; of none where it is past that."""

    place: int
    first: int
    last: int

    @property
    def count(self) -> int:
        return max(0, self.last - self.first + 1)


Pick = OneOf | Within


@dataclass(frozen=True, slots=True)
class Choice:
    """The groups for which all picks hold; those with the same keys at `seen` are one for the query."""

    picks: tuple[Pick, ...]
    seen: tuple[int, ...]
