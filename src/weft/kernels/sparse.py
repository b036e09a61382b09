"""Cells in one list sorted by (group, slice): for feeds with many groups that each show up now and then.

    group   A A A B B C        one position per cell; memory follows the cells
    slice   0 1 3 1 2 0        a window of one group is a stretch of positions: [0, 2) of A is 0..2

The indexes are those of the dense store with positions in place of slices. A fold rebuilds them, so it costs
O(cells): no more than reading the windows of a feed that holds a few windows' worth of cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.kernels.cells import HERE, Cells, Selection, Writes, new_bank, new_banks, nothing
from weft.kernels.combine import SUM, Arrays, Bools, Ints, Kind
from weft.kernels.orders import Recode


class Sparse:
    def __init__(self) -> None:
        self._banks = new_banks()
        self._banks[SUM].widen(1)
        self._times: Ints = np.zeros(0, np.int64)
        self._group: Ints = np.zeros(0, np.int64)
        self._slice: Ints = np.zeros(0, np.int64)  # index into times
        self._groups = 0
        self._by_time: Ints | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_by_time": None, "_ends": None}

    @property
    def nbytes(self) -> int:
        own = self._times.nbytes + self._group.nbytes + self._slice.nbytes
        return sum(bank.nbytes for bank in self._banks.values()) + int(own)

    @property
    def count(self) -> int:
        return len(self._group)

    def starts(self) -> Ints:
        return self._times

    def widen(self, widths: Mapping[Kind, int], groups: int) -> None:
        self._groups = max(self._groups, groups)
        for kind, bank in self._banks.items():
            bank.widen(widths.get(kind, 0))
            if bank.width:
                bank.append(self.count - bank.size)

    def fold(self, starts: Ints, groups: Ints, writes: Writes) -> None:
        slices = self._slices_of(starts)
        known, new = self._keys(), groups * len(self._times) + slices
        order = np.argsort(new)
        new = new[order]
        places = np.searchsorted(known, new)
        inside = np.flatnonzero(places < len(known))
        there = np.zeros(len(new), bool)
        there[inside] = known[places[inside]] == new[inside]
        fresh = places[~there]
        self._group = np.insert(self._group, fresh, groups[order][~there])
        self._slice = np.insert(self._slice, fresh, slices[order][~there])
        places[~there] = fresh + np.arange(len(fresh))
        places[there] += np.searchsorted(fresh, places[there], side="right")
        for kind, bank in self._banks.items():
            if bank.width:
                grown = _insert(kind, bank.base(), fresh)
                if kind in writes:
                    comps, arrays = writes[kind]
                    _combine(kind, grown, comps, places, tuple(array[:, order] for array in arrays))
                if kind is SUM:
                    grown[0][HERE] = 1
                bank.load(grown)
        self._by_time = None

    def _slices_of(self, starts: Ints) -> Ints:
        times = np.union1d(self._times, starts)
        if len(times) != len(self._times):
            self._slice = np.searchsorted(times, self._times)[self._slice]
            self._times = times
        return np.searchsorted(times, starts)

    def _keys(self) -> Ints:
        keys: Ints = self._group * len(self._times) + self._slice
        return keys

    def select(self, starts: Ints, ends: Ints, comp: int) -> Selection:
        """Each cell answers for the windows in which it is the first of its group.

        slices          0 1 2 3 4 5
        cells of A        1     4
        windows        [0 . . 3)            begins with the cell at 1
                         [1 . . 4)          begins with the cell at 1
                           [2 . . 5)        begins with the cell at 4
        """
        lo, hi = np.searchsorted(self._times, starts), np.searchsorted(self._times, ends)
        cells = self._cells_between(int(lo[0]), int(hi[-1]))
        at, group = self._slice[cells], self._group[cells]
        before = np.where((cells > 0) & (self._group[cells - 1] == group), self._slice[cells - 1], -1)
        every = np.arange(-1, len(self._times))
        begun = np.searchsorted(lo, every, side="right")  # windows that begin at or before a slice
        ended = np.searchsorted(hi, every, side="right")  # windows that end at or before it
        first = np.maximum(ended[at + 1], begun[before + 1])
        many = np.maximum(begun[at + 1] - first, 0)
        begin = np.repeat(cells, many)
        window = np.arange(len(begin)) - np.repeat(np.cumsum(many) - many, many) + np.repeat(first, many)
        order = np.argsort(window * self.count + begin)
        window, begin = window[order], begin[order]
        return self._present(window, begin, hi[window], comp)

    def _present(self, window: Ints, begin: Ints, until: Ints, comp: int) -> Selection:
        group = self._group[begin]
        end = np.searchsorted(self._keys(), group * len(self._times) + until)
        if not len(begin):
            return nothing()
        (counts,) = self._banks[SUM].ranges(begin, end, np.array([comp]))
        here = counts[0] > 0
        if bool(here.all()):
            return Selection(window, group, begin, end)
        return Selection(window[here], group[here], begin[here], end[here])

    def _cells_between(self, lo: int, hi: int) -> Ints:
        """Positions of the cells of slices lo..hi-1."""
        if self._by_time is None:
            narrow = self._slice.astype(np.uint16) if len(self._times) < 1 << 16 else self._slice
            self._by_time = np.argsort(narrow, kind="stable")  # linear for 16 bits
            self._ends = np.searchsorted(self._slice[self._by_time], np.arange(len(self._times) + 1))
        return self._by_time[self._ends[lo] : self._ends[max(lo, hi)]]

    def read(self, selection: Selection, kind: Kind, comps: Ints) -> Arrays:
        return self._banks[kind].ranges(selection.lo, selection.hi, comps)

    def live(self, kind: Kind, comp: int, array: int) -> Ints:
        values: Ints = self._banks[kind].base()[array][comp]
        return values

    def recode(self, kind: Kind, comp: int, array: int, recode: Recode) -> None:
        bank = self._banks[kind]
        base = bank.base()
        base[array][comp] = recode(base[array][comp])
        bank.load(base)

    def expire(self, before: int) -> None:
        gone = int(np.searchsorted(self._times, before))
        if gone:
            kept = np.flatnonzero(self._slice >= gone)
            self._keep_cells(kept)
            self._slice -= gone
            self._times = self._times[gone:]

    def _keep_cells(self, kept: Ints) -> None:
        self._group, self._slice = self._group[kept], self._slice[kept]
        for bank in self._banks.values():
            if bank.width:
                bank.load(tuple(array[:, kept] for array in bank.base()))
        self._by_time = None

    def present(self) -> Bools:
        here = np.zeros(self._groups, bool)
        here[self._group] = True
        return here

    def keep_groups(self, groups: Ints) -> None:
        """The ids ascend, so the order of the cells stays."""
        new = np.full(self._groups, -1, np.int64)
        new[groups] = np.arange(len(groups))
        self._group = new[self._group]
        self._groups = len(groups)

    def keep_components(self, kept: Mapping[Kind, Ints]) -> None:
        for kind, comps in kept.items():
            if len(comps):
                self._banks[kind].keep(comps)
            else:
                self._banks[kind] = new_bank(kind)

    def cells(self) -> Cells:
        order = np.lexsort((self._group, self._slice))
        arrays: dict[Kind, Arrays] = {}
        for kind, bank in self._banks.items():
            if bank.width:
                arrays[kind] = tuple(array[:, order] for array in bank.base())
        return Cells(self._times[self._slice[order]], self._group[order], arrays)


def _insert(kind: Kind, arrays: Arrays, places: Ints) -> Arrays:
    """New cells in which nothing is present, before the cells at `places`."""
    return tuple(np.insert(array, places, fill, axis=1) for array, fill in zip(arrays, kind.identity))


def _combine(kind: Kind, arrays: Arrays, comps: Ints, places: Ints, more: Arrays) -> None:
    """Combine `more` into the cells at `places`."""
    at = (comps[:, None], places)
    with np.errstate(invalid="ignore", over="ignore"):
        together = kind.combine(tuple(array[at] for array in arrays), more)
    for array, part in zip(arrays, together):
        array[at] = part
