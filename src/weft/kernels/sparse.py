"""Cells in one list sorted by (group, slice): for feeds with many groups that each show up now and then.

    group   A A A B B C        one position per cell; memory follows the cells
    slice   0 1 3 1 2 0        a window of one group is a stretch of positions: [0, 2) of A is 0..2

The indexes are those of the dense store with positions in place of slices. Putting cells in means to rebuild
them, O(cells), so what is folded waits until it is asked for, or is half as much as there is: many small
batches cost what one large one does, and no more than reading a window of most of the cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.kernels.bounds import Bounds
from weft.kernels.cells import HERE, NOWHERE, Cells, Selection, Writes, new_bank, new_banks, nothing
from weft.kernels.combine import SUM, Arrays, Bools, Ints, Kind, combine_runs, distinct
from weft.kernels.orders import Recode

Small = npt.NDArray[np.int32]

_FEW = 1 << 14  # so many cells may wait however few there are


class Sparse:
    def __init__(self) -> None:
        self._banks = new_banks()
        self._banks[SUM].widen(1)
        self._times: Ints = np.zeros(0, np.int64)  # also of cells that wait
        self._group: Small = np.zeros(0, np.int32)
        self._slice: Small = np.zeros(0, np.int32)  # index into times
        self._groups = 0
        self._by_time: Small | None = None
        self._waiting: list[tuple[Ints, Ints, Writes]] = []

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return self.__dict__ | {"_by_time": None, "_ends": None}

    @property
    def nbytes(self) -> int:
        own = self._times.nbytes + self._group.nbytes + self._slice.nbytes
        waiting = sum(_nbytes(*each) for each in self._waiting)
        return sum(bank.nbytes for bank in self._banks.values()) + int(own) + waiting

    @property
    def count(self) -> int:
        """Cells that wait count as new ones."""
        return len(self._group) + sum(len(starts) for starts, _, _ in self._waiting)

    def starts(self) -> Ints:
        return self._times

    def widen(self, widths: Mapping[Kind, int], groups: int) -> None:
        self._groups = max(self._groups, groups)
        for kind, bank in self._banks.items():
            bank.widen(widths.get(kind, 0))
            if bank.width:
                bank.append(len(self._group) - bank.size)

    def fold(self, starts: Ints, groups: Ints, writes: Writes) -> None:
        times = np.union1d(self._times, distinct(starts))
        if len(times) != len(self._times):
            self._slice = np.searchsorted(times, self._times).astype(np.int32)[self._slice]
            self._times = times
            self._by_time = None
        self._waiting.append((starts, groups, writes))
        if self.count - len(self._group) > max(_FEW, len(self._group) // 2):
            self._settle()

    def _settle(self) -> None:
        """Put the cells that wait where they belong."""
        if not self._waiting:
            return
        new, arrays = self._waiting_cells()
        if len(self._group):
            self._put_between(new, arrays)
        else:
            self._begin_with(new, arrays)
        self._by_time = None

    def _begin_with(self, new: Ints, arrays: Mapping[Kind, Arrays]) -> None:
        """Take the cells as they are: there are no others."""
        group, slice = np.divmod(new, len(self._times))
        self._group, self._slice = group.astype(np.int32), slice.astype(np.int32)
        arrays[SUM][0][HERE] = 1
        for kind, own in arrays.items():
            self._banks[kind].load(own)

    def _put_between(self, new: Ints, arrays: Mapping[Kind, Arrays]) -> None:
        """Put the cells among those that are there, or together with them."""
        known = self._keys()
        places = np.searchsorted(known, new)
        there = np.zeros(len(new), bool)
        inside = np.flatnonzero(places < len(known))
        there[inside] = known[places[inside]] == new[inside]
        del known
        fresh = places[~there]
        group, slice = np.divmod(new[~there], len(self._times))
        self._group = np.insert(self._group, fresh, group)
        self._slice = np.insert(self._slice, fresh, slice)
        places[~there] = fresh + np.arange(len(fresh))
        places[there] += np.searchsorted(fresh, places[there], side="right")
        for kind, bank in self._banks.items():
            if bank.width:
                grown = _insert(kind, bank.base(), fresh)
                _combine(kind, grown, places, arrays[kind])
                if kind is SUM:
                    grown[0][HERE] = 1
                bank.load(grown)

    def _waiting_cells(self) -> tuple[Ints, dict[Kind, Arrays]]:
        """The cells that wait, none twice, by their keys; they wait no longer."""
        waiting, self._waiting = self._waiting, []
        starts, groups = (np.concatenate(parts) for parts in list(zip(*waiting))[:2])
        keys = groups * len(self._times) + np.searchsorted(self._times, starts)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        runs = np.flatnonzero(np.diff(keys, prepend=-1))
        arrays = {kind: self._stacked(kind, waiting) for kind, bank in self._banks.items() if bank.width}
        for kind, parts in arrays.items():
            ordered = tuple(array[:, order] for array in parts)
            arrays[kind] = ordered if len(runs) == len(keys) else combine_runs(kind, ordered, runs)
        return keys[runs], arrays

    def _stacked(self, kind: Kind, waiting: Sequence[tuple[Ints, Ints, Writes]]) -> Arrays:
        """All components of a kind for the cells that wait: what was not written is absent."""
        stacked = kind.empty((self._banks[kind].width, sum(len(starts) for starts, _, _ in waiting)))
        first = 0
        for starts, _, writes in waiting:
            comps, arrays = writes.get(kind, (NOWHERE, ()))
            for array, part in zip(stacked, arrays):
                array[comps, first : first + len(starts)] = part
            first += len(starts)
        return stacked

    def _keys(self) -> Ints:
        keys: Ints = self._group * np.int64(len(self._times)) + self._slice
        return keys

    def select(self, starts: Ints, ends: Ints, comp: int) -> Selection:
        """Each cell answers for the windows in which it is the first of its group.

        slices          0 1 2 3 4 5
        cells of A        1     4
        windows        [0 . . 3)            begins with the cell at 1
                         [1 . . 4)          begins with the cell at 1
                           [2 . . 5)        begins with the cell at 4
        """
        self._settle()
        lo, hi = np.searchsorted(self._times, starts), np.searchsorted(self._times, ends)
        if len(lo) == 1:
            return self._select_one(int(lo[0]), int(hi[0]), comp)
        cells = self._cells_between(int(lo[0]), int(hi[-1])).astype(np.int64)
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
        until = self._group[begin] * np.int64(len(self._times)) + hi[window]
        return self._present(window, begin, np.searchsorted(self._keys(), until), comp)

    def _select_one(self, lo: int, hi: int, comp: int) -> Selection:
        """The cells of one window are stretches, one for each group that has any."""
        cells = np.flatnonzero((self._slice >= lo) & (self._slice < hi))
        first = np.flatnonzero(np.diff(self._group[cells], prepend=-1))
        begin, end = cells[first], cells[np.append(first[1:], len(cells)) - 1] + 1
        return self._present(np.zeros(len(first), np.int64), begin, end, comp)

    def _present(self, window: Ints, begin: Ints, end: Ints, comp: int) -> Selection:
        if not len(begin):
            return nothing()
        group = self._group[begin].astype(np.int64)
        (counts,) = self._banks[SUM].ranges(Bounds(begin, end), np.array([comp]))
        here = counts[0] > 0
        if bool(here.all()):
            return Selection(window, group, Bounds(begin, end))
        return Selection(window[here], group[here], Bounds(begin[here], end[here]))

    def _cells_between(self, lo: int, hi: int) -> Small:
        """Positions of the cells of slices lo..hi-1."""
        if self._by_time is None:
            narrow = self._slice.astype(np.uint16) if len(self._times) < 1 << 16 else self._slice
            self._by_time = np.argsort(narrow, kind="stable").astype(np.int32)  # linear for 16 bits
            self._ends = np.searchsorted(self._slice[self._by_time], np.arange(len(self._times) + 1))
        return self._by_time[self._ends[lo] : self._ends[max(lo, hi)]]

    def read(self, selection: Selection, kind: Kind, comps: Ints) -> Arrays:
        return self._banks[kind].ranges(selection.bounds, comps)

    def live(self, kind: Kind, comp: int, array: int) -> Ints:
        self._settle()
        values: Ints = self._banks[kind].base()[array][comp]
        return values

    def recode(self, kind: Kind, comp: int, array: int, recode: Recode) -> None:
        self._settle()
        bank = self._banks[kind]
        base = bank.base()
        base[array][comp] = recode(base[array][comp])
        bank.load(base)

    def expire(self, before: int) -> None:
        gone = int(np.searchsorted(self._times, before))
        if gone:
            self._settle()
            self._keep_cells(np.flatnonzero(self._slice >= gone))
            self._slice -= np.int32(gone)
            self._times = self._times[gone:]

    def _keep_cells(self, kept: Ints) -> None:
        self._group, self._slice = self._group[kept], self._slice[kept]
        for bank in self._banks.values():
            if bank.width:
                bank.load(tuple(array[:, kept] for array in bank.base()))
        self._by_time = None

    def present(self) -> Bools:
        self._settle()
        here = np.zeros(self._groups, bool)
        here[self._group] = True
        return here

    def keep_groups(self, groups: Ints) -> None:
        """The ids ascend, so the order of the cells stays."""
        self._settle()
        new = np.full(self._groups, -1, np.int32)
        new[groups] = np.arange(len(groups))
        self._group = new[self._group]
        self._groups = len(groups)

    def keep_components(self, kept: Mapping[Kind, Ints]) -> None:
        self._settle()
        for kind, comps in kept.items():
            if len(comps):
                self._banks[kind].keep(comps)
            else:
                self._banks[kind] = new_bank(kind)

    def cells(self) -> Cells:
        self._settle()
        order = np.lexsort((self._group, self._slice))
        arrays: dict[Kind, Arrays] = {}
        for kind, bank in self._banks.items():
            if bank.width:
                arrays[kind] = tuple(array[:, order] for array in bank.base())
        return Cells(self._times[self._slice[order]], self._group[order].astype(np.int64), arrays)


def _insert(kind: Kind, arrays: Arrays, places: Ints) -> Arrays:
    """New cells in which nothing is present, before the cells at `places`."""
    return tuple(np.insert(array, places, fill, axis=1) for array, fill in zip(arrays, kind.identity))


def _combine(kind: Kind, arrays: Arrays, places: Ints, more: Arrays) -> None:
    """Combine `more` into the cells at `places`."""
    with np.errstate(invalid="ignore", over="ignore"):
        together = kind.combine(tuple(array[:, places] for array in arrays), more)
    for array, part in zip(arrays, together):
        array[:, places] = part


def _nbytes(starts: Ints, groups: Ints, writes: Writes) -> int:
    written = (array for _, arrays in writes.values() for array in arrays)
    return int(starts.nbytes + groups.nbytes + sum(array.nbytes for array in written))
