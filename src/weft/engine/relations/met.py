"""Pairs that a chain has found, before it is known whose they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.engine.relations.operator import ends_of
from weft.kernels.arrow import whole
from weft.kernels.combine import Bools, Ints
from weft.kernels.relations.tables import Lives
from weft.share.intakes import CONDITION
from weft.share.relations.links import LEFT, RIGHT, Link, Wanted
from weft.times import BEGINNING, Duration

TIME = "_time"  # of a row: when it came into its window, however late it was

Take = Callable[[Ints, Sequence[str]], pa.Table]


@dataclass(frozen=True, slots=True)
class Picked:
    """One side of some pairs: where their rows lie."""

    rows: Ints
    take: Take

    def table(self, at: Ints | None, names: Sequence[str]) -> pa.Table:
        """Columns of these pairs; None: of all."""
        return self.take(self.rows if at is None else self.rows[at], names)

    def numbers(self, name: str) -> Ints:
        found: Ints = whole(self.table(None, [name]).column(0)).to_numpy()
        return found

    def holds(self, where: str) -> Bools:
        column = whole(self.table(None, [where]).column(0))
        found: Bools = column.to_numpy(zero_copy_only=False)
        return found


class Met:
    """Pairs found together: of one side they are new, of the other they were held."""

    def __init__(self, left: Picked, right: Picked, begins: Ints) -> None:
        self.left, self.right, self.begins = left, right, begins
        self._ends: dict[tuple[str, Duration | None], Ints] = {}
        self._holds: dict[tuple[str, str], Bools] = {}
        self._times: dict[str, Ints] = {}

    def __len__(self) -> int:
        return len(self.begins)

    def filter(self, holds: Bools) -> Met:
        at = np.flatnonzero(holds)
        left, right = Picked(self.left.rows[at], self.left.take), Picked(self.right.rows[at], self.right.take)
        return Met(left, right, self.begins[at])

    def lives(self, link: Link, schema: pa.Schema) -> Lives:
        """Those that a join wants, as its own rows."""
        ends, wanted = self._wanted(link)
        at = None if wanted.all() else np.flatnonzero(wanted)
        left = self.left.table(at, _names(LEFT, link.left)).columns
        right = self.right.table(at, _names(RIGHT, link.right)).columns
        table = pa.table([*right, *left] if link.turned else [*left, *right], schema=schema)
        return Lives(table, *(each if at is None else each[at] for each in (self.begins, ends)))

    def count(self, link: Link) -> int:
        """How many of them a join wants."""
        return int(np.count_nonzero(self._wanted(link)[1]))

    def _wanted(self, link: Link) -> tuple[Ints, Bools]:
        """When pairs end for a join, and which of them are its own."""
        ends = np.minimum(self._end(LEFT, link.left.range), self._end(RIGHT, link.right.range))
        wanted = ends > self.begins
        for side, each in ((LEFT, link.left), (RIGHT, link.right)):
            if each.where is not None:
                wanted &= self._where(side, CONDITION + each.where.sql)
            if each.after > BEGINNING:
                wanted &= self._time(side) > each.after
        return ends, wanted

    def _end(self, side: str, range_: Duration | None) -> Ints:
        if (side, range_) not in self._ends:
            self._ends[(side, range_)] = ends_of(self._time(side), range_)
        return self._ends[(side, range_)]

    def _time(self, side: str) -> Ints:
        if side not in self._times:
            self._times[side] = (self.left if side == LEFT else self.right).numbers(TIME)
        return self._times[side]

    def _where(self, side: str, where: str) -> Bools:
        if (side, where) not in self._holds:
            self._holds[(side, where)] = (self.left if side == LEFT else self.right).holds(where)
        return self._holds[(side, where)]


def _names(prefix: str, wanted: Wanted) -> list[str]:
    return [prefix + item.expr.sql for item in wanted.items]
