"""The words that the dense and the sparse store have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from weft.kernels.bounds import Bounds
from weft.kernels.combine import KINDS, Arrays, Bools, Ints, Kind
from weft.kernels.dyadic import Dyadic
from weft.kernels.orders import Recode
from weft.kernels.prefix import Prefix

HERE = 0  # the SUM component that is 1 in every cell there is

Writes = Mapping[Kind, tuple[Ints, Arrays]]  # per kind the components written, and arrays [component, cell]
Bank = Prefix | Dyadic


@dataclass(frozen=True, slots=True)
class Cells:
    """All live cells: no (start, group) twice, ordered by it; arrays [component, cell] of each kind."""

    starts: Ints
    groups: Ints
    arrays: Mapping[Kind, Arrays]


@dataclass(frozen=True, slots=True)
class Selection:
    """The answers of some windows: `window` and `group` of each, ordered; and where to find them again."""

    window: Ints
    group: Ints
    bounds: Bounds  # dense: of each window; sparse: of each answer
    picked: Ints | None = None  # dense: places in [window, group]; None: all of them
    full: int = 0  # so many groups, and each of them is in every window; 0: it is not so, or not known
    made: dict[str, Any] = field(default_factory=dict)  # what several queries make of these answers alike

    @property
    def nbytes(self) -> int:
        """Of full ones without `window` and `group`, which they have in common."""
        arrays = (self.bounds,) if self.full else (self.window, self.group, self.bounds, self.picked)
        return sum(int(array.nbytes) for array in arrays if array is not None)


class Store(Protocol):
    """Live cells, by slice start and group, with an index over each kind of component."""

    @property
    def nbytes(self) -> int: ...

    @property
    def count(self) -> int:
        """How many cells there are."""

    def starts(self) -> Ints:
        """Distinct slice starts, ascending."""

    def widen(self, widths: Mapping[Kind, int], groups: int) -> None:
        """Make room for so many components and groups."""

    def fold(self, starts: Ints, groups: Ints, writes: Writes) -> None:
        """Combine cells into those there are; no cell twice."""

    def select(self, starts: Ints, ends: Ints, comp: int) -> Selection:
        """The groups in each window whose SUM component `comp` is positive; starts and ends ascend."""

    def read(self, selection: Selection, kind: Kind, comps: Ints) -> Arrays:
        """Components of the answers: arrays [component, answer]."""

    def live(self, kind: Kind, comp: int, array: int) -> Ints:
        """The values of one array of one component in all cells."""

    def recode(self, kind: Kind, comp: int, array: int, recode: Recode) -> None:
        """Change the codes of one array of one component in all cells."""

    def expire(self, before: int) -> None:
        """Drop the cells that start before."""

    def present(self) -> Bools:
        """Which groups have a cell."""

    def keep_groups(self, groups: Ints) -> None:
        """Renumber: the groups given become 0, 1, 2, ...; the others have no cell."""

    def keep_components(self, kept: Mapping[Kind, Ints]) -> None: ...

    def cells(self) -> Cells: ...


def new_bank(kind: Kind, trail: tuple[int, ...] = ()) -> Bank:
    """Exact sums are subtracted; all else is put together from base intervals."""
    return Prefix(trail) if kind is Prefix.kind else Dyadic(kind, trail)


def new_banks(trail: tuple[int, ...] = ()) -> dict[Kind, Bank]:
    return {kind: new_bank(kind, trail) for kind in KINDS}


NOWHERE = np.zeros(0, np.int64)


def nothing() -> Selection:
    """No answers."""
    return Selection(NOWHERE, NOWHERE, Bounds(NOWHERE, NOWHERE))
