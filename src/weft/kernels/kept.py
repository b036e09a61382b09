"""What was read of a selection for one query, kept for the others that choose among the same groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from weft.kernels.cells import Selection
from weft.kernels.choosing import Chooser, ChosenRows, Combined, Read, chosen_rows
from weft.kernels.combine import Arrays, Ints, Kind, combine_runs
from weft.kernels.families import Together, picked_rows, together
from weft.kernels.groups import GroupIndex
from weft.kernels.picks import Choice, Within
from weft.kernels.ranged import Stretches


class Kept:
    """The components of a selection that were asked for, and its rows in the order of ranges."""

    def __init__(self, selection: Selection, read: Read) -> None:
        self._selection, self._read = selection, read
        self._held: dict[tuple[str, int], Arrays] = {}
        self._stretches: dict[tuple[int, tuple[int, ...]], Stretches] = {}

    @property
    def nbytes(self) -> int:
        held = sum(int(array.nbytes) for arrays in self._held.values() for array in arrays)
        return held + sum(each.nbytes for each in self._stretches.values())

    def combined(self, choice: Choice, chooser: Chooser, groups: GroupIndex) -> Combined:
        """The groups of a choice, in each window those that are one for the query as one."""
        match choice:
            case Choice((Within(place=place) as pick,), seen) if place not in seen:
                if (place, seen) not in self._stretches:
                    lanes = chooser.lanes(place, seen, groups)
                    self._stretches[place, seen] = Stretches(self._selection, lanes, self._read)
                return self._stretches[place, seen].within(pick)
        chosen = chooser.choose(choice, groups)
        rows = chosen_rows(self._selection, chosen)
        return self._of_rows(rows, chosen.first[rows.family])

    def each(self, choices: Sequence[Choice], chooser: Chooser, groups: GroupIndex) -> Iterator[Together]:
        """The groups of many choices, some at a time."""
        if any(isinstance(pick, Within) for choice in choices for pick in choice.picks):
            return together(self.combined(choice, chooser, groups) for choice in choices)
        chosen = [chooser.choose(choice, groups) for choice in choices]
        return (
            Together(made.place, self._of_rows(made.rows, made.group), made.bounds)
            for made in picked_rows(self._selection, chosen)
        )

    def _of_rows(self, rows: ChosenRows, group: Ints) -> Combined:
        return Combined(self._selection.window[rows.at], group, partial(self._combine, rows))

    def _combine(self, rows: ChosenRows, kind: Kind, comps: Ints) -> Arrays:
        """The components of some rows, those of a run as one."""
        missing = np.array([comp for comp in comps.tolist() if (kind.name, comp) not in self._held], np.int64)
        if len(missing):
            arrays = self._read(kind, missing)
            for at, comp in enumerate(missing.tolist()):
                self._held[kind.name, comp] = tuple(array[at] for array in arrays)
        held = [self._held[kind.name, comp] for comp in comps.tolist()]
        arrays = tuple(np.stack([array.take(rows.all) for array in each]) for each in zip(*held))
        return arrays if rows.runs is None else combine_runs(kind, arrays, rows.runs)
