"""Rows with lives, as of some instants: which of them each row covers, and what groups amount to.

    instants      0    1    2    3    4
    row x              ├─────────┤              covers [1, 4)
    row y                   ├──────────┤        covers [2, 5)
    stretches          [1,2)[2  ,  4)[4,5)      where the rows of a group stay the same

Aggregates are computed once for each stretch, however many instants it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.kernels import columns as laid
from weft.kernels.columns import Codes, ColumnSpec, Parts, Values, is_coded, layout
from weft.kernels.combine import SUM, Ints, distinct
from weft.kernels.lift import Rows, lift
from weft.kernels.relations.covering import spread
from weft.kernels.relations.tables import NOTHING


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A partial of the columns by these names: `op` of `value` by `by` where `where` is true."""

    spec: ColumnSpec
    value: str | None = None
    by: str | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """Groups and instants [first, behind) through which their rows stay the same; by group, then by instant.

    No group is there at other instants. `values` are those of each stretch.
    """

    groups: Ints
    firsts: Ints
    behinds: Ints
    values: Mapping[ColumnSpec, Values]

    def __len__(self) -> int:
        return len(self.groups)

    def expand(self) -> tuple[Ints, Ints]:
        """One row for each group and instant: the place of its stretch, and the instant."""
        return _ranges(self.firsts, self.behinds)

    def within(self, groups: Ints, firsts: Ints, behinds: Ints) -> tuple[Ints, Ints]:
        """Other stretches of the same groups, whose every edge is one of these: which of them lies in which.

        The place of the other, and of one of these that is part of it, for each such pair.
        """
        width = int(max(self.behinds.max(initial=0), behinds.max(initial=0))) + 1
        known = self.groups * width + self.firsts
        lo, hi = (np.searchsorted(known, groups * width + edge) for edge in (firsts, behinds))
        return _ranges(lo, hi)


def covers(begins: Ints, ends: Ints, instants: Ints) -> tuple[Ints, Ints]:
    """The instants [first, behind) at which rows are there, by place among `instants`, which ascend."""
    return np.searchsorted(instants, begins), np.searchsorted(instants, ends)


def aggregate(
    columns: Mapping[str, pa.Array],
    groups: Ints,
    firsts: Ints,
    behinds: Ints,
    aggregates: Sequence[Aggregate],
) -> Stretches:
    """The aggregates of each group at each instant at which it has a row; rows cover [first, behind)."""
    some = np.flatnonzero(firsts < behinds)
    if len(some) < len(groups):
        groups, firsts, behinds = groups[some], firsts[some], behinds[some]
        columns = {name: column.take(pa.array(some)) for name, column in columns.items()}
    width = int(behinds.max(initial=0)) + 1
    points = distinct(np.concatenate((groups * width + firsts, groups * width + behinds)))
    lo, hi = (np.searchsorted(points, groups * width + edge) for edge in (firsts, behinds))
    rows = Rows(columns, lo * (len(points) + 1) + hi, ())  # those that cover the same are one cell
    cells = _Cells(rows, lo[rows.first], hi[rows.first], len(points))
    there = np.flatnonzero(spread(SUM, (cells.ones(),), cells.lo, cells.hi, cells.count)[0])
    values = {each.spec: cells.values(each, there) for each in aggregates}
    return Stretches(points[there] // width, points[there] % width, points[there + 1] % width, values)


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Rows that cover the same points [lo, hi), together."""

    rows: Rows
    lo: Ints
    hi: Ints
    count: int

    def ones(self) -> Ints:
        return np.ones(len(self.lo), np.int64)

    def values(self, wanted: Aggregate, there: Ints) -> Values:
        """An aggregate at some points."""
        parts = lift(self.rows, wanted.spec.op, wanted.value, wanted.by, wanted.where)
        kind = layout(wanted.spec).kind
        if is_coded(wanted.spec):
            codes = Codes(wanted.spec)
            spread_out = spread(kind, _encoded(codes, parts), self.lo, self.hi, self.count)
            return (codes.decode(tuple(array[there] for array in spread_out)),)
        components = (
            spread(kind, each, self.lo, self.hi, self.count) for each in laid.lift(wanted.spec, parts)
        )
        return tuple(array[there] for component in components for array in component)


def _encoded(codes: Codes, parts: Parts) -> tuple[Ints, ...]:
    """All values at once, so that no code given out before ever changes."""
    return codes.encode(parts, lambda place, recode: None, lambda place: NOTHING)


def _ranges(firsts: Ints, behinds: Ints) -> tuple[Ints, Ints]:
    """The numbers of many ranges [first, behind): of which range each is, and itself."""
    counts = behinds - firsts
    which = np.repeat(np.arange(len(firsts)), counts)
    return which, np.arange(len(which)) + np.repeat(firsts - (np.cumsum(counts) - counts), counts)
