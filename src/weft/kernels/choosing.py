"""Groups told by their keys: what a query picks of a feed that has keys it does not group by.

    feed by city, customer        SELECT city, ... WHERE customer IN ('a', 'b') GROUP BY city

    Oslo a   ─┐ Oslo              the groups picked, and those of them that are one for the query:
    Oslo b   ─┘                   they differ only in keys that it does not see
    Oslo c
    Rome a   ── Rome

A thousand rules of one customer each so cost little more than one GROUP BY customer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.kernels.cells import Selection
from weft.kernels.combine import Arrays, Bools, Ints, Kind
from weft.kernels.groups import GroupIndex
from weft.kernels.picks import Choice, HasAll, OneOf, Pick, Within
from weft.kernels.signatures import has_all


@dataclass(frozen=True, slots=True)
class Chosen:
    """The groups of a choice, ascending, and for each the family it belongs to."""

    ids: Ints
    family: Ints
    first: Ints  # of each family one group, whose keys stand for all
    apart: bool  # each is a family of its own


@dataclass(frozen=True, slots=True)
class Lanes:
    """All groups, ordered by the keys that a query sees and then by a number that it picks by.

    Those without the number are not among them.
    """

    ids: Ints
    family: Ints  # of each
    number: Ints  # of each
    first: Ints  # of each family one group, whose keys stand for all


@dataclass(frozen=True, slots=True)
class ByValue:
    """All groups ordered by a key, and where those with each of its values are."""

    order: Ints
    ends: Ints  # of the groups without the key, then of those with each value
    codes: Mapping[object, int]

    @staticmethod
    def of(key: pa.Array) -> ByValue:
        encoded = key.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy()
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(-1, len(encoded.dictionary)), side="right")
        return ByValue(order, ends, {value: at for at, value in enumerate(encoded.dictionary.to_pylist())})

    def groups(self, value: object) -> Ints:
        """Those with this value, ascending."""
        at = self.codes.get(value)
        return self.order[:0] if at is None else self.order[self.ends[at] : self.ends[at + 1]]


@dataclass(frozen=True, slots=True)
class ChosenRows:
    """Rows of a selection, ordered by window and family; those of one family in a window are a run."""

    all: Ints
    runs: Ints | None  # where runs begin; None: each row is one
    at: Ints  # of each run its first row
    family: Ints  # of each run


Read = Callable[[Kind, Ints], Arrays]  # components [component, row] of some rows


@dataclass(frozen=True, slots=True)
class Combined:
    """Groups that were chosen, combined where they are one for the query: one row for each in a window.

    `full` and `made` are as in `Answered`, the latter of all that have the same rows.
    """

    window: Ints
    group: Ints  # one of those combined
    read: Read
    full: int = 0
    made: dict[str, Any] = field(default_factory=dict)


def chosen_rows(selection: Selection, chosen: Chosen) -> ChosenRows:
    """The rows of the groups chosen."""
    rows, which = rows_of(selection, chosen)
    families = len(chosen.first)
    key = selection.window[rows] * families + chosen.family[which]
    if len(chosen.ids) > 1 and bool((key[1:] < key[:-1]).any()):
        order = np.argsort(key, kind="stable")
        rows, which, key = rows[order], which[order], key[order]
    if chosen.apart:
        return ChosenRows(rows, None, rows, chosen.family[which])
    runs = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if len(key) else key
    return ChosenRows(rows, runs, rows[runs], chosen.family[which[runs]])


def rows_of(selection: Selection, chosen: Chosen) -> tuple[Ints, Ints]:
    """The rows of the groups chosen, and for each the place of its group among them."""
    count = len(chosen.ids)
    if selection.full:
        first = np.arange(0, len(selection.window), selection.full)
        rows = (first[:, None] + chosen.ids).ravel()
        return rows, np.tile(np.arange(count), len(first))
    order, starts = _by_group(selection)
    inside = chosen.ids < len(starts) - 1
    ids, places = chosen.ids[inside], np.flatnonzero(inside)
    lengths = starts[ids + 1] - starts[ids]
    before = np.cumsum(lengths) - lengths
    return (
        order[np.repeat(starts[ids] - before, lengths) + np.arange(int(lengths.sum()))],
        np.repeat(places, lengths),
    )


def _by_group(selection: Selection) -> tuple[Ints, Ints]:
    """The rows of a selection by group, and where those of each begin; found once for all who choose."""
    if "by group" not in selection.made:
        order = np.argsort(selection.group, kind="stable")
        most = int(selection.group.max(initial=-1)) + 2
        starts = np.searchsorted(selection.group[order], np.arange(most))
        selection.made["by group"] = order, starts
    found: tuple[Ints, Ints] = selection.made["by group"]
    return found


def holds(picks: Sequence[Pick], keys: Sequence[pa.Array]) -> Bools:
    """For each row of keys: do all picks hold? A key that is null is never picked."""
    held = np.ones(len(keys[0]), bool)
    for pick in picks:
        held &= _picked(pick, keys[pick.place]).fill_null(False).to_numpy(zero_copy_only=False)
    return held


def _picked(pick: Pick, key: pa.Array) -> pa.Array:
    match pick:
        case OneOf(values=values):
            return pc.is_in(key, value_set=pa.array(values).cast(key.type), skip_nulls=True)
        case Within(first=first, last=last):
            return pc.and_(pc.greater_equal(key, first), pc.less_equal(key, last))
        case HasAll(mask=mask):
            return pc.equal(pc.bit_wise_and(key, mask), mask)


def _families(ids: Ints, keys: Sequence[pa.Array], seen: Sequence[int]) -> tuple[Ints, Ints]:
    """Of each group a number for its keys at `seen`, and for each number one of the groups that have it."""
    family = GroupIndex(len(seen)).add([keys[place] for place in seen], len(ids))
    first = np.zeros(int(family.max(initial=-1)) + 1, np.int64)
    first[family[::-1]] = ids[::-1]
    return family, first


def _lanes(place: int, seen: tuple[int, ...], groups: GroupIndex) -> Lanes:
    keys = groups.take(np.arange(len(groups)))
    ids = np.flatnonzero(keys[place].is_valid().to_numpy(zero_copy_only=False))
    keys = groups.take(ids)
    family, first = _families(ids, keys, seen)
    number = keys[place].cast(pa.int64()).to_numpy(zero_copy_only=False)
    order = np.lexsort((number, family))
    return Lanes(ids[order], family[order], number[order], first)


class Chooser:
    """Finds the groups of choices among those of an index, and remembers them until there are others."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._count = -1
        self._chosen: dict[Choice, Chosen] = {}
        self._values: dict[int, ByValue] = {}
        self._lanes: dict[tuple[int, tuple[int, ...]], Lanes] = {}
        self._signed: dict[int, tuple[Ints, Ints]] = {}

    def choose(self, choice: Choice, groups: GroupIndex) -> Chosen:
        """The groups that are chosen now."""
        self._look(groups)
        found = self._chosen.get(choice)
        if found is None:
            found = self._chosen[choice] = self._choose(choice, groups)
        return found

    def lanes(self, place: int, seen: tuple[int, ...], groups: GroupIndex) -> Lanes:
        """All groups by the keys at `seen`, and by the number at `place`."""
        self._look(groups)
        found = self._lanes.get((place, seen))
        if found is None:
            found = self._lanes[place, seen] = _lanes(place, seen, groups)
        return found

    def _look(self, groups: GroupIndex) -> None:
        """Are they still the groups that were chosen among?"""
        if self._count != len(groups):
            self.forget()
            self._count = len(groups)

    def _choose(self, choice: Choice, groups: GroupIndex) -> Chosen:
        picked = [self._picked(pick, groups) for pick in choice.picks] or [np.arange(len(groups))]
        ids = picked[0]
        for others in picked[1:]:
            ids = ids[np.isin(ids, others, assume_unique=True)]
        hidden = set(range(groups.key_count)) - set(choice.seen)
        if hidden <= {pick.place for pick in choice.picks if pick.single}:
            return Chosen(ids, np.arange(len(ids)), ids, True)
        family, first = _families(ids, groups.take(ids), choice.seen)
        return Chosen(ids, family, first, len(first) == len(ids))

    def _picked(self, pick: Pick, groups: GroupIndex) -> Ints:
        """The groups for which one pick holds, ascending."""
        match pick:
            case Within():
                return np.flatnonzero(holds([pick], groups.take(np.arange(len(groups)))))
            case HasAll(place=place, mask=mask):
                signed, signatures = self._signatures(place, groups)
                return signed[has_all(signatures, mask)]
            case OneOf(place=place, values=values):
                by_value = self._by_value(place, groups)
                found = [by_value.groups(value) for value in dict.fromkeys(values)]
                return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def _signatures(self, place: int, groups: GroupIndex) -> tuple[Ints, Ints]:
        """The groups that have a signature, and these: looked up once for all who pick by them."""
        if place not in self._signed:
            key = groups.take(np.arange(len(groups)))[place]
            ids = np.flatnonzero(key.is_valid().to_numpy(zero_copy_only=False))
            self._signed[place] = ids, key.drop_null().to_numpy(zero_copy_only=False)
        return self._signed[place]

    def _by_value(self, place: int, groups: GroupIndex) -> ByValue:
        """The groups with each value of a key: looked up once for all who pick by it."""
        if place not in self._values:
            self._values[place] = ByValue.of(groups.take(np.arange(len(groups)))[place])
        return self._values[place]
