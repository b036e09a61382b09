"""Ranges of a number that groups are picked by: what a query combines are neighbours.

    rows of a selection            Oslo          Rome       a *stretch*: one window, one group that is seen
    by the number they have        0 2 3 7       1 2 3
    numbers 2 to 5                   [ ]           [ ]      two look-ups in each stretch

What lies between them comes out of partials that run along the rows (`runs`), which are made once for all
ranges. So a query costs what it answers with, however many numbers its ranges hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.kernels.cells import Selection
from weft.kernels.choosing import Combined, Lanes, Read
from weft.kernels.combine import SUM, Arrays, Ints, Kind
from weft.kernels.picks import Within
from weft.kernels.runs import all_runs, between, from_begin, running_sums, to_end


class Stretches:
    """The rows of a selection by window, seen keys and number, and partials that run along them."""

    def __init__(self, selection: Selection, lanes: Lanes, read: Read) -> None:
        self._read = read
        self._rows, lane = _in_order(selection, lanes)
        window, family = selection.window[self._rows], lanes.family[lane]
        other = (window[1:] != window[:-1]) | (family[1:] != family[:-1])
        begin = np.flatnonzero(np.concatenate([[True], other])) if len(lane) else lane
        self._edges = np.append(begin, len(lane))
        self._stretch = np.repeat(np.arange(len(begin)), np.diff(self._edges))
        self._window, self._group = window[begin], lanes.first[family[begin]]
        self._width = int(lanes.number.max(initial=0)) + 1
        self._code = self._stretch * self._width + lanes.number[lane]
        self._full = len(lanes.first) if selection.full else 0
        self._made: dict[str, Any] = {}
        self._runs: dict[tuple[str, int, str], list[Arrays]] = {}
        self.nbytes = sum(each.nbytes for each in (self._rows, self._stretch, self._code, self._edges))

    def within(self, pick: Within) -> Combined:
        """The answers of one range: one for each stretch that has rows in it."""
        lo, hi = self._places(pick.first), self._places(pick.last + 1)
        some = np.flatnonzero(lo < hi)
        if len(some) == len(lo):
            whole = bool((hi == self._edges[1:]).all()), bool((lo == self._edges[:-1]).all())
            return Combined(self._window, self._group, self._reader(lo, hi, *whole), self._full, self._made)
        lo, hi, begin, end = lo[some], hi[some], self._edges[some], self._edges[some + 1]
        reader = self._reader(lo, hi, bool((hi == end).all()), bool((lo == begin).all()))
        return Combined(self._window[some], self._group[some], reader)

    def _places(self, number: int) -> Ints:
        """Where in each stretch the rows begin that have at least this number."""
        if number <= 0:
            return self._edges[:-1]
        if number >= self._width:
            return self._edges[1:]
        places: Ints = np.searchsorted(
            self._code, np.arange(number, (len(self._edges) - 1) * self._width, self._width)
        )
        return places

    def _reader(self, lo: Ints, hi: Ints, ends: bool, begins: bool) -> Read:
        """Reads the ranges [lo, hi), all of which end where a stretch does, or begin so, or neither."""

        def one(kind: Kind, comp: int) -> Arrays:
            if kind is SUM:
                ((sums,),) = self._made_of(kind, comp, "sums")
                return (sums.take(hi) - sums.take(lo),)
            if ends:
                return tuple(array.take(lo) for array in self._made_of(kind, comp, "to end")[0])
            if begins:
                return tuple(array.take(hi - 1) for array in self._made_of(kind, comp, "from begin")[0])
            return between(kind, self._made_of(kind, comp, "runs"), lo, hi)

        def read(kind: Kind, comps: Ints) -> Arrays:
            return tuple(np.stack(arrays) for arrays in zip(*(one(kind, comp) for comp in comps.tolist())))

        return read

    def _made_of(self, kind: Kind, comp: int, what: str) -> list[Arrays]:
        """What is made of a component of all rows, for all ranges that are asked for."""
        key = (kind.name, comp, what)
        if key not in self._runs:
            values = tuple(array[0].take(self._rows) for array in self._read(kind, np.array([comp])))
            self._runs[key] = made = self._make(kind, values, what)
            self.nbytes += sum(int(array.nbytes) for arrays in made for array in arrays)
        return self._runs[key]

    def _make(self, kind: Kind, values: Arrays, what: str) -> list[Arrays]:
        match what:
            case "sums":
                return [(running_sums(values[0]),)]
            case "to end":
                return [to_end(kind, values, self._stretch)]
            case "from begin":
                return [from_begin(kind, values, self._stretch)]
            case _:
                return all_runs(kind, values, int(np.diff(self._edges).max()))


def _in_order(selection: Selection, lanes: Lanes) -> tuple[Ints, Ints]:
    """The rows of a selection by window and lane, and the lane of each; without those that have none."""
    lane_of = np.full(int(selection.group.max(initial=-1)) + 1, -1)
    known = np.flatnonzero(lanes.ids < len(lane_of))
    lane_of[lanes.ids[known]] = known
    lane = lane_of[selection.group]
    rows = np.flatnonzero(lane >= 0)
    order = np.argsort(selection.window[rows] * max(1, len(lanes.ids)) + lane[rows])
    rows = rows[order]
    return rows, lane[rows]
