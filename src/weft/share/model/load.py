"""What a stream brings: how many rows, in how many groups; counted, given or assumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import expm1

import numpy as np
import numpy.typing as npt

from weft.errors import RunError
from weft.share.nodes import Feed, Partial

ROWS, GROUPS, BATCH = 10_000.0, 100.0, 1.0
VALUES = 10.0  # distinct values in a group, where they are counted and nobody knows

Keys = tuple[str, ...]  # of a feed, as text
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Load:
    """What one stream brings, per second of its own time."""

    rows: float = ROWS  # a second
    groups: float = GROUPS  # of a feed with keys, unless it was counted
    batch: float = BATCH  # seconds of the stream in a batch,
    step: float = BATCH  # and in an answer step
    counted: Mapping[Keys, float] = field(default_factory=dict)  # groups of feeds
    passing: Mapping[str, float] = field(default_factory=dict)  # by predicate: which part of the rows
    distinct: Mapping[str, float] = field(default_factory=dict)  # values of keys, by their text
    joined: Mapping[str, float] = field(default_factory=dict)  # values of keys of joins, by their text
    rows_by: str = "assumed"  # | given | measured
    groups_by: str = "assumed"  # | given | measured

    @property
    def is_known(self) -> bool:
        """Has it been counted, or has a user said so?"""
        return self.rows_by != "assumed"

    def with_rows(self, rows: float) -> Load:
        return replace(self, rows=rows)

    def with_groups(self, groups: float) -> Load:
        """As many groups in each feed with keys, those that were counted in proportion."""
        by = groups / self.groups
        return replace(
            self, groups=groups, counted={keys: max(1.0, n * by) for keys, n in self.counted.items()}
        )

    def groups_of(self, feed: Feed) -> float:
        """How many groups a feed has."""
        keys = tuple(key.sql for key in feed.keys)
        if keys in self.counted:
            return max(1.0, self.counted[keys])
        own = len(keys) - feed.extra
        found = self.counted.get(keys[:own], self.groups if own else 1.0)
        return max(1.0, found) * (VALUES if feed.extra else 1.0)

    def part_of(self, partial: Partial) -> float:
        """Which part of the rows a partial takes."""
        return 1.0 if partial.where is None else self.passing.get(partial.where.sql, 1.0)


@dataclass(frozen=True, slots=True)
class Loads:
    """The load of each stream; of one that is not named, the other."""

    streams: Mapping[str, Load] = field(default_factory=dict)
    other: Load = Load()

    def of(self, stream: str) -> Load:
        return self.streams.get(stream, self.other)

    def given(self, rows: float | None, groups: float | None) -> Loads:
        """With what a user says instead of what was assumed or counted."""

        def changed(load: Load) -> Load:
            if rows is not None:
                load = replace(load, rows=rows, rows_by="given")
            if groups is not None:
                load = replace(load, groups=groups, counted={}, groups_by="given")
            return load

        return Loads({name: changed(load) for name, load in self.streams.items()}, changed(self.other))


def checked(rows: float | None, groups: float | None) -> tuple[float | None, float | None]:
    """What a user says a stream brings, refused if it is no number above zero."""
    for what, number in (("rate", rows), ("groups", groups)):
        if number is not None and not 0 < number < float("inf"):
            raise RunError(f"bad-{what}", f"{what} = {number:g} is no number above 0", help="leave it out")
    return rows, groups


def occupied_each(places: Floats, rows: Floats) -> Floats:
    """As `occupied`, of several at once; there is at least a place for each."""
    found: Floats = -places * np.expm1(-rows / places)
    return found


def occupied(places: float, rows: float) -> float:
    """How many of so many places hold a row, if rows fall anywhere."""
    return -places * expm1(-rows / places) if places > 0 else 0.0
