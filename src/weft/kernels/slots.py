"""Where the columns of a feed lie among the components of a store, and how they come out of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.kernels.arrow import arrow_type
from weft.kernels.cells import Cells
from weft.kernels.columns import Codes, ColumnSpec, Layout, Parts, Values, is_coded, layout
from weft.kernels.combine import Arrays, Ints, Kind

RAW = "raw"  # the part names of a stored column: raw, raw1, raw2, ...


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a column lies: components of a kind."""

    layout: Layout
    comps: Ints
    codes: Codes | None


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """For a list of columns: what to read of each kind, and where in it each column begins."""

    reads: tuple[tuple[Kind, Ints, tuple[tuple[ColumnSpec, Slot, int], ...]], ...]
    absent: tuple[ColumnSpec, ...]

    def values(self, count: int, read: Callable[[Kind, Ints], Arrays]) -> dict[ColumnSpec, Values]:
        """The columns of so many answers, of which `read` gives components [component, answer]."""
        values = {spec: _absent(spec, count) for spec in self.absent}
        for kind, comps, places in self.reads:
            arrays = read(kind, comps) if count else kind.empty((len(comps), 0))
            for spec, slot, first in places:
                values[spec] = _lower(slot, arrays, first)
        return values


def plan_read(wanted: tuple[ColumnSpec, ...], slots: Mapping[ColumnSpec, Slot]) -> ReadPlan:
    """How these columns are read; those that have no slot are absent."""
    comps: dict[Kind, list[Ints]] = {}
    places: dict[Kind, list[tuple[ColumnSpec, Slot, int]]] = {}
    for spec in dict.fromkeys(wanted):
        slot = slots.get(spec)
        if slot is not None:
            before = comps.setdefault(slot.layout.kind, [])
            first = sum(len(part) for part in before)
            places.setdefault(slot.layout.kind, []).append((spec, slot, first))
            before.append(slot.comps)
    reads = tuple((kind, np.concatenate(parts), tuple(places[kind])) for kind, parts in comps.items())
    return ReadPlan(reads, tuple(spec for spec in wanted if spec not in slots))


def _lower(slot: Slot, arrays: Arrays, first: int) -> Values:
    """One column out of what was read of its kind."""
    if slot.codes is not None:
        return (slot.codes.decode(tuple(array[first] for array in arrays)),)
    return tuple(array[first + place] for place in range(slot.layout.width) for array in arrays)


def _absent(spec: ColumnSpec, count: int) -> Values:
    how = layout(spec)
    if is_coded(spec):
        return (pa.nulls(count, arrow_type(spec.type)),)
    empty = how.kind.empty((count,))
    return tuple(array for _ in range(how.width) for array in empty)


def dump(slot: Slot, cells: Cells) -> dict[str, pa.Array]:
    """One column of all cells: coded ones as values, the others as they are stored."""
    stored = tuple(array[slot.comps] for array in cells.arrays[slot.layout.kind])
    if slot.codes is not None:
        first = tuple(array[0] for array in stored)
        return {f"_{part}": slot.codes.decode_part(i, first) for i, part in enumerate(slot.layout.parts)}
    flat = [pa.array(part) for array in stored for part in array]
    return {f"_{RAW}" if not place else f"_{RAW}{place}": part for place, part in enumerate(flat)}


def restore(slot: Slot, parts: Parts) -> tuple[Arrays, ...]:
    """The components of a column that was dumped as it is stored."""
    raw = [part.to_numpy() for part in parts.values()]
    width = slot.layout.width
    return tuple(tuple(raw[comp::width]) for comp in range(width))
