"""The grouping sets of a query come together: the groups of all sets in one table, by window.

    set (city, day)   Oslo 1 | Rome 1 | Oslo 2          city day  _g0 _g1 _gid
    set (city)        Oslo   | Rome             ─►      Oslo 1     0   0   0
    set ()            all                               Oslo null  0   1   1
                                                        null null  1   1   3

HAVING, ORDER BY and LIMIT are asked of that table, so they see the rows of all sets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.engine.due import FAILED, Pending
from weft.engine.families import Portion
from weft.engine.shape import Shape
from weft.engine.windows import Times
from weft.kernels.arrow import arrow_type
from weft.plan.groupsets import GROUPING_ID


@dataclass(frozen=True, slots=True)
class United:
    """The aggregates of due windows, by each grouping set of the queries that say the same."""

    shape: Shape
    portions: Sequence[Portion]
    parts: tuple[Pending, ...]  # of each set that has any

    def needed(self) -> pa.Table:
        """What its answer is made of."""
        return self._table(None if self.shape.query.emit_empty else self.shape.needs | {"window_end"})

    def table(self) -> pa.Table:
        """The windows, groups and aggregates as columns, and which keys each row is grouped by."""
        return self._table(None)

    def answer(self) -> pa.Table | None:
        """What the query says, where that is just these columns; None: it is to be shaped."""
        failed = any(part.failed is not None for part in self.parts)
        if self.shape.plain is None or failed or self.shape.query.emit_empty:
            return None
        tables = [pa.table(part.columns(self.shape.needs)) for part in self.parts]
        whole = [
            self.shape.table(self._whole(part, table, len(part.answered.window), self.shape.needs))
            for part, table in zip(self.parts, tables, strict=True)
        ]
        ends = [part.windows.ends[part.answered.window] for part in self.parts]
        return _by_window(whole, np.concatenate(ends))

    def count_windows(self) -> Sequence[int]:
        """How many windows hold a group: those of any set do of all."""
        return [max(count for part in self.parts for count in part.count_windows())]

    def ends(self, portion: Portion) -> Times:
        """The ends of these windows."""
        found: Times = np.unique(np.concatenate([part.ends(portion) for part in self.parts]))
        return found

    def _table(self, names: Collection[str] | None) -> pa.Table:
        tables = [part.table(names) for part in self.parts]
        failed = any(FAILED in table.column_names for table in tables)
        whole = [
            pa.table(self._whole(part, table, table.num_rows, names, failed))
            for part, table in zip(self.parts, tables, strict=True)
        ]
        ends = np.concatenate([table.column("window_end").cast(pa.int64()).to_numpy() for table in whole])
        return _by_window(whole, ends)

    def _whole(
        self, part: Pending, table: pa.Table, rows: int, names: Collection[str] | None, failed: bool = False
    ) -> dict[str, pa.Array]:
        """The columns of a set with those that it does not have itself, in the order that all have."""
        added = dict(self._added(part, rows, names))
        if failed:
            added[FAILED] = pa.array(np.zeros(rows, bool))
        has = added | {name: table.column(name) for name in table.column_names}
        return {name: has[name] for name in (*self._order(part), FAILED) if name in has}

    def _order(self, part: Pending) -> Iterator[str]:
        keys = range(len(part.tap.keys))
        yield from ("window_start", "window_end", *(f"_k{at}" for at in keys))
        yield from (final.name for final in part.tap.finals)
        yield from (*(f"_g{at}" for at in keys), GROUPING_ID)

    def _added(
        self, part: Pending, rows: int, names: Collection[str] | None
    ) -> Iterator[tuple[str, pa.Array]]:
        """Keys that the set leaves out, and what tells it from other sets, as far as they are named."""
        left_out = [place is None for place in part.tap.keys]
        for at, (is_out, type_) in enumerate(zip(left_out, self.shape.key_types, strict=True)):
            if is_out and (names is None or f"_k{at}" in names):
                yield f"_k{at}", pa.nulls(rows, arrow_type(type_))
            if names is None or f"_g{at}" in names:
                yield f"_g{at}", pa.array(np.full(rows, is_out, np.int8))
        if names is None or GROUPING_ID in names:
            yield GROUPING_ID, pa.array(np.full(rows, grouping_id(left_out), np.int64))


def grouping_id(left_out: Sequence[bool]) -> int:
    """A bit for each key, the first one's the highest: set where the key is left out."""
    return sum(1 << at for at, is_out in enumerate(reversed(left_out)) if is_out)


def _by_window(tables: Sequence[pa.Table], ends: Times) -> pa.Table:
    """The rows of all tables, whose windows end then, by window; those of one window by table."""
    table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    if not bool((ends[1:] < ends[:-1]).any()):
        return table
    return table.take(pa.array(np.argsort(ends, kind="stable")))
