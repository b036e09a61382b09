"""What a stream brings: how many rows, in how many groups; counted, given or assumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import expm1, fsum, log2, prod
from numbers import Real

import numpy as np
import numpy.typing as npt

from weft.errors import RunError
from weft.share.intervals import intervals_by, is_interval
from weft.share.nodes import Feed, Partial
from weft.share.signatures import is_signature, read_signature

ROWS, GROUPS, BATCH = 10_000.0, 100.0, 1.0
VALUES = 10.0  # distinct values in a group, where they are counted and nobody knows

Keys = tuple[str, ...]  # as text
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Load:
    """What one stream brings, per second of its own time."""

    rows: float = ROWS  # a second
    groups: float = GROUPS  # by keys of which nobody knows how many values they have
    batch: float = BATCH  # seconds of the stream in a batch,
    step: float = BATCH  # and in an answer step
    counted: Mapping[Keys, float] = field(default_factory=dict)  # groups of feeds, by their keys in order
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
        """So many groups where nothing was counted, and in proportion where something was."""
        by = groups / self.groups
        return replace(
            self,
            groups=groups,
            counted={keys: max(1.0, n * by) for keys, n in self.counted.items()},
            distinct={key: max(1.0, n * by) for key, n in self.distinct.items()},
        )

    def groups_of(self, feed: Feed) -> float:
        """How many groups a feed has."""
        keys = tuple(key.sql for key in feed.keys)
        if not feed.extra or _in_order(keys) in self.counted:
            return self.groups_for(keys)
        return self.groups_for(keys[:-1]) * VALUES

    def groups_for(self, keys: Keys) -> float:
        """How many groups these keys make.

        Where they were not counted together, as if they did not depend on each other, but no more than finer
        keys were counted to make.
        """
        known = self.counted.get(_in_order(keys))
        if known is None:
            values = [self.values_of(key) for key in keys]
            others = self.groups if None in values else 1.0
            product = others * prod(each for each in values if each is not None)
            finer = (count for more, count in self.counted.items() if set(keys) < set(more))
            known = min(product, *finer, float("inf"))
        return max(1.0, known)

    def values_of(self, key: str) -> float | None:
        """How many values a key has; None: nobody knows."""
        known = self.distinct.get(key)
        if is_interval(key):
            most = float(intervals_by(key))
            return most if known is None else min(max(1.0, known), most)
        if known is not None:
            return max(1.0, known)
        if is_signature(key):
            return self.signatures(read_signature(key).bits)
        return self.counted.get((key,))

    def signatures(self, conditions: Iterable[str]) -> float:
        """How many signatures of these conditions rows have; no more than of more conditions were counted.

        Those that hardly a row has make hardly a cell: what counts is 2 to the entropy of the conditions, as
        if they did not depend on each other.
        """
        asked = set(conditions)
        made = ((read_signature(key).bits, n) for key, n in self.distinct.items() if is_signature(key))
        return min(2 ** self._entropy(asked), *(n for bits, n in made if asked <= bits.keys()), float("inf"))

    def part_with(self, conditions: Iterable[str]) -> float:
        """Which part of the signatures has these bits: each halves them, unless it is always the same."""
        return float(0.5 ** self._entropy(conditions))

    def _entropy(self, conditions: Iterable[str]) -> float:
        """In bits; a condition that nobody counted has one."""
        return fsum(_entropy(self.passing.get(one, 0.5)) for one in conditions)

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
                load = replace(load, groups=groups, counted={}, distinct={}, groups_by="given")
            return load

        return Loads({name: changed(load) for name, load in self.streams.items()}, changed(self.other))


def checked(rows: float | None, groups: float | None) -> tuple[float | None, float | None]:
    """What a user says a stream brings, refused if it is no number above zero."""
    for what, number in (("rate", rows), ("groups", groups)):
        if number is not None and not _is_positive(number):
            raise RunError(f"bad-{what}", f"{what} = {number!r} is no number above 0", help="leave it out")
    return rows, groups


def _is_positive(number: object) -> bool:
    return isinstance(number, Real) and not isinstance(number, bool) and 0 < float(number) < float("inf")


def _in_order(keys: Keys) -> Keys:
    return tuple(sorted(keys))


def _entropy(part: float) -> float:
    """Of a condition that so much of the rows passes, in bits."""
    if not 0 < part < 1:
        return 0.0
    return -(part * log2(part) + (1 - part) * log2(1 - part))


def occupied_each(places: Floats, rows: Floats) -> Floats:
    """As `occupied`, of several at once; there is at least a place for each."""
    found: Floats = -places * np.expm1(-rows / places)
    return found


def occupied(places: float, rows: float) -> float:
    """How many of so many places hold a row, if rows fall anywhere."""
    return -places * expm1(-rows / places) if places > 0 else 0.0
