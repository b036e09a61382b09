"""Cells as matrices [slice x group]: for feeds whose groups show up in most slices.

    times     09:00:00  09:00:01  09:00:04         only slices that hold a row; rows follow time
    A            3         1         .
    B            2         .         5             memory: slices x groups, whether filled or not

Expired rows are passed over (`head`) and dropped by the half, so that expiry costs O(1) per row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.kernels.bounds import Bounds
from weft.kernels.cells import HERE, Cells, Selection, Writes, new_bank, new_banks, nothing
from weft.kernels.combine import SUM, Arrays, Bools, Ints, Kind, distinct, more_positions
from weft.kernels.orders import Recode
from weft.kernels.prefix import Prefix

_AT_ONCE = 1 << 14  # places of a bank up to which one window is computed for all components
_WINDOWS = 512  # so many of these are kept until the cells change
_GRIDS = 1 << 25  # bytes of grids kept until then
_IDLE_ROWS = 64  # expired rows that are not worth moving the others for,
_IDLE_PLACES = 1 << 16  # unless they are as wide as this


class Dense:
    def __init__(self) -> None:
        self._banks = new_banks((0,))
        self._times: Ints = np.zeros(0, np.int64)
        self._head = 0
        self._size = 0
        self._groups = 0
        self._forget()
        self._sums.widen(1)

    def _forget(self) -> None:
        """The cells change: nothing that was found out about them holds any more."""
        self._windows: dict[tuple[str, int, int], Arrays] = {}
        self._asked: dict[int, int] = {}  # by component: windows asked for
        self._full_before: dict[int, Ints] = {}  # by component: full slices before each position
        self._grids: dict[int, tuple[Ints, Ints]] = {}  # by windows: window and group, if all are in each

    def __getstate__(self) -> dict[str, Any]:
        found: dict[str, Any] = {"_windows": {}, "_asked": {}, "_full_before": {}, "_grids": {}}
        return self.__dict__ | found | {"_times": self._times[: self._size]}

    @property
    def nbytes(self) -> int:
        return sum(bank.nbytes for bank in self._banks.values()) + int(self._times.nbytes)

    @property
    def count(self) -> int:
        return int(self._here().sum())

    def starts(self) -> Ints:
        return self._times[self._head : self._size]

    def widen(self, widths: Mapping[Kind, int], groups: int) -> None:
        self._forget()
        self._groups = max(self._groups, groups)
        for kind, bank in self._banks.items():
            bank.widen(widths.get(kind, 0))
            if bank.width:
                bank.widen_groups(self._groups)
                bank.append(self._size - bank.size)

    def fold(self, starts: Ints, groups: Ints, writes: Writes) -> None:
        self._forget()
        rows = self._rows_of(starts)
        self._mark(rows, groups)
        for kind, (comps, arrays) in writes.items():
            self._banks[kind].put(rows, groups, comps, arrays)

    def _mark(self, rows: Ints, groups: Ints) -> None:
        new = (self._sums.value(HERE, rows, groups) == 0).astype(np.int64)
        self._sums.put(rows, groups, np.array([HERE]), (new[None],))

    def _rows_of(self, starts: Ints) -> Ints:
        """The rows of the slices, made where there is none yet."""
        wanted = distinct(starts)
        live = self.starts()
        places = np.searchsorted(live, wanted)
        known = np.zeros(len(wanted), bool)
        inside = places < len(live)
        known[inside] = live[places[inside]] == wanted[inside]
        if not bool(known.all()):
            self._insert(wanted[~known], places[~known])
            places = np.searchsorted(self.starts(), wanted)
        rows: Ints = (places + self._head)[np.searchsorted(wanted, starts)]
        return rows

    def _insert(self, starts: Ints, places: Ints) -> None:
        live = self.starts()
        at_end = not len(live) or int(starts[0]) > int(live[-1])
        rows = self._head + places + np.arange(len(places))
        self._size += len(starts)
        capacity = more_positions(self._size, len(self._times))
        if capacity > len(self._times):
            self._times = np.concatenate([self._times, np.zeros(capacity - len(self._times), np.int64)])
        self._times[self._head : self._size] = np.insert(live, places, starts)
        for bank in self._banks.values():
            if bank.width and at_end:
                bank.append(self._size - bank.size)
            elif bank.width:
                bank.insert(rows)

    def select(self, starts: Ints, ends: Ints, comp: int) -> Selection:
        live = self.starts()
        lo = live.searchsorted(starts) + self._head
        bounds = Bounds(lo, np.maximum(live.searchsorted(ends) + self._head, lo))
        if self._is_full(bounds, comp):
            return self._select_all(bounds)
        here = (self._ranges(SUM, bounds, np.array([comp]))[0] > 0).ravel()
        picked = here.nonzero()[0]
        if not len(picked):
            return nothing()
        if len(picked) == len(here):
            return self._select_all(bounds)
        window, group = np.divmod(picked, self._groups)
        return Selection(window, group, bounds, picked)

    def _is_full(self, bounds: Bounds, comp: int) -> bool:
        """Whether each window has a slice in which every group is present, and so are all in the window.

        Looked at only when so many windows are asked for that it is worth looking at all slices.
        """
        asked = self._asked[comp] = self._asked.get(comp, 0) + len(bounds)
        if asked <= self._size - self._head:
            return False
        if comp not in self._full_before:
            (sums,) = self._sums.base(self._head, np.array([comp]))
            full = np.zeros(self._size + 1, np.int64)
            np.cumsum((sums[0, :, : self._groups] > 0).all(axis=1), out=full[self._head + 1 :])
            self._full_before[comp] = full
        full = self._full_before[comp]
        return bool((full.take(bounds.hi) > full.take(bounds.lo)).all())

    def _select_all(self, bounds: Bounds) -> Selection:
        """All groups in every window."""
        windows = len(bounds)
        if windows not in self._grids:
            if sum(window.nbytes for window, _ in self._grids.values()) > _GRIDS:
                self._grids.clear()
            grid = np.repeat(np.arange(windows), self._groups), np.tile(np.arange(self._groups), windows)
            self._grids[windows] = grid
        window, group = self._grids[windows]
        return Selection(window, group, bounds, full=self._groups)

    def read(self, selection: Selection, kind: Kind, comps: Ints) -> Arrays:
        found = self._ranges(kind, selection.bounds, comps)
        flat = tuple(array.reshape(len(comps), -1) for array in found)
        if selection.picked is None:
            return flat
        return tuple(array.take(selection.picked, axis=1) for array in flat)

    def _ranges(self, kind: Kind, bounds: Bounds, comps: Ints) -> Arrays:
        bank = self._banks[kind]
        if len(bounds) > 1 or bank.width * self._groups > _AT_ONCE:
            return bank.ranges(bounds, comps, self._groups)
        # One window: what one query asks for costs as much as everything, and others will ask for the rest.
        key = (kind.name, int(bounds.lo[0]), int(bounds.hi[0]))
        whole = self._windows.get(key)
        if whole is None:
            whole = bank.ranges(bounds, np.arange(bank.width), self._groups)
            self._windows = {} if len(self._windows) >= _WINDOWS else self._windows
            self._windows[key] = whole
        return tuple(array.take(comps, axis=0) for array in whole)

    def live(self, kind: Kind, comp: int, array: int) -> Ints:
        values: Ints = self._banks[kind].base(self._head)[array][comp].ravel()
        return values

    def recode(self, kind: Kind, comp: int, array: int, recode: Recode) -> None:
        self._forget()
        bank = self._banks[kind]
        base = bank.base()
        live = base[array][comp, self._head :]  # codes of expired rows may have no value any more
        live[...] = recode(live)
        bank.load(base)

    def expire(self, before: int) -> None:
        self._forget()
        self._head += int(np.searchsorted(self.starts(), before))
        if self._is_idle():
            for bank in self._banks.values():
                if bank.width:
                    bank.drop(self._head)
            self._times = self._times[self._head : self._size].copy()
            self._size -= self._head
            self._head = 0

    def _is_idle(self) -> bool:
        """Whether expired rows are more than the others, and many."""
        many = self._head > _IDLE_ROWS or self._head * self._groups > _IDLE_PLACES
        return many and self._head > self._size - self._head

    def present(self) -> Bools:
        return self._here() > 0

    def keep_groups(self, groups: Ints) -> None:
        self._forget()
        for bank in self._banks.values():
            if bank.width:
                bank.keep_groups(groups)
        self._groups = len(groups)

    def keep_components(self, kept: Mapping[Kind, Ints]) -> None:
        self._forget()
        for kind, comps in kept.items():
            if len(comps):
                self._banks[kind].keep(comps)
            else:
                self._banks[kind] = new_bank(kind, (0,))

    def cells(self) -> Cells:
        (here,) = self._sums.base(self._head, np.array([HERE]))
        rows, groups = np.nonzero(here[0, :, : self._groups])
        arrays: dict[Kind, Arrays] = {}
        for kind, bank in self._banks.items():
            if isinstance(bank, Prefix):  # whose values are made from sums: not for places without a cell
                values = np.empty((bank.width, len(rows)), np.int64)
                for comp in range(bank.width):
                    values[comp] = bank.value(comp, rows + self._head, groups)
                arrays[kind] = (values,)
            elif bank.width:
                arrays[kind] = tuple(array[:, rows, groups] for array in bank.base(self._head))
        return Cells(self.starts()[rows], groups, arrays)

    def _here(self) -> Ints:
        """Live cells of each group."""
        return self._sums.total(HERE, self._head)[: self._groups]

    @property
    def _sums(self) -> Prefix:
        bank = self._banks[SUM]
        assert isinstance(bank, Prefix)
        return bank
