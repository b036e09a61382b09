"""What many queries pick of one feed, answered together: the rows of one after those of the other.

    picks 'a'     9:00 a   9:05 a                     one array of each column, and where each query's rows
    picks 'b'     9:05 b                              begin and end: 0, 2, 3, 5
    picks 'c'     9:00 c   9:05 c

A thousand queries so cost one look at the windows, one gathering of cells and one finish of each aggregate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weft.kernels.cells import Selection
from weft.kernels.choosing import Chosen, ChosenRows, Combined, rows_of
from weft.kernels.combine import Arrays, Ints, Kind

_AT_ONCE = 1 << 19  # rows that are answered together: more of them only take memory


@dataclass(frozen=True, slots=True)
class Picked:
    """The rows of some choices: those of the one at `place` from `bounds[0]` to `bounds[1]`, and so on."""

    place: int
    rows: ChosenRows
    group: Ints
    bounds: Ints


@dataclass(frozen=True, slots=True)
class Together:
    """The same, combined: as one answers with them."""

    place: int
    rows: Combined
    bounds: Ints


def together(combined: Iterable[Combined]) -> Iterator[Together]:
    """What each has chosen, the rows of one after those of the other, as many at once as are few enough."""
    place, parts, count = 0, list[Combined](), 0
    for each in combined:
        if parts and count + len(each.window) > _AT_ONCE:
            yield _joined(place, parts)
            place, parts, count = place + len(parts), [], 0
        parts.append(each)
        count += len(each.window)
    if parts:
        yield _joined(place, parts)


def _joined(place: int, parts: Sequence[Combined]) -> Together:
    def read(kind: Kind, comps: Ints) -> Arrays:
        found = [each.read(kind, comps) for each in parts if len(each.window)]
        return tuple(np.concatenate(arrays, axis=1) for arrays in zip(*found, strict=True))

    window, group = (np.concatenate(arrays) for arrays in zip(*((each.window, each.group) for each in parts)))
    bounds = np.cumsum([0, *(len(each.window) for each in parts)])
    return Together(place, Combined(window, group, read), bounds)


def picked_rows(selection: Selection, chosen: Sequence[Chosen]) -> Iterator[Picked]:
    """The rows of all choices, as many at once as are few enough."""
    windows = len(selection.bounds) if selection.full else 1
    place = 0
    while place < len(chosen):
        stop, ids = place + 1, len(chosen[place].ids)
        while stop < len(chosen) and (ids + len(chosen[stop].ids)) * windows <= _AT_ONCE:
            ids += len(chosen[stop].ids)
            stop += 1
        yield _pick(selection, chosen[place:stop], place)
        place = stop


def _pick(selection: Selection, chosen: Sequence[Chosen], place: int) -> Picked:
    together, member = _together(chosen)
    rows, which = _rows_by_group(selection, together)
    windows, families = int(selection.window.max(initial=-1)) + 1, len(together.first)
    key = (member[which] * windows + selection.window[rows]) * families + together.family[which]
    if bool((key[1:] < key[:-1]).any()):
        order = np.argsort(key, kind="stable")
        rows, which, key = rows[order], which[order], key[order]
    runs = None if together.apart else np.flatnonzero(np.diff(key, prepend=-1))
    at, which = (rows, which) if runs is None else (rows[runs], which[runs])
    family = together.family[which]
    bounds = np.searchsorted(member[which], np.arange(len(chosen) + 1))
    return Picked(place, ChosenRows(rows, runs, at, family), together.first[family], bounds)


def _together(chosen: Sequence[Chosen]) -> tuple[Chosen, Ints]:
    """All choices as one, no family of two of them, and for each group the choice that it is of."""
    lengths = np.array([len(each.ids) for each in chosen])
    families = np.array([len(each.first) for each in chosen])
    member = np.repeat(np.arange(len(chosen)), lengths)
    family = np.concatenate([each.family for each in chosen]) + (np.cumsum(families) - families)[member]
    ids, first = (
        np.concatenate([each.ids for each in chosen]),
        np.concatenate([each.first for each in chosen]),
    )
    return Chosen(ids, family, first, all(each.apart for each in chosen)), member


def _rows_by_group(selection: Selection, chosen: Chosen) -> tuple[Ints, Ints]:
    """The rows of the groups chosen, one group after the other, and for each the place of its group."""
    if not selection.full:
        return rows_of(selection, chosen)
    first = np.arange(0, len(selection.window), selection.full)
    rows = (chosen.ids[:, None] + first).ravel()
    return rows, np.repeat(np.arange(len(chosen.ids)), len(first))
