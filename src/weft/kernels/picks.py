"""What a query picks of the groups of a feed that has keys it does not group by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OneOf:
    """The key at `place` is one of the values."""

    place: int
    values: tuple[str | int | bool, ...]

    @property
    def is_single(self) -> bool:
        return len(self.values) == 1


@dataclass(frozen=True, slots=True)
class Choice:
    """The groups for which all picks hold; those with the same keys at `seen` are one for the query."""

    picks: tuple[OneOf, ...]
    seen: tuple[int, ...]
