"""The level 1 table of a small batch, made here from rows whose expressions Spark has evaluated.

The rows have columns `status`, `slice`, `time`, `g<i>` keys, `w<i>` predicates, `v<i>` arguments (their
positions in RowColumns) and `e<i>` guards.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from weft.engine.ingest import CELL, UNWANTED
from weft.kernels.arrow import array_of
from weft.kernels.combine import Bools
from weft.kernels.lift import Runs, lift, runs
from weft.share.nodes import Partial, Standing, StreamPlan
from weft.share.parts import parts
from weft.share.rowcolumns import RowColumns, row_columns
from weft.times import BEGINNING, Instant

NO_ROOT = -1  # stands for the feed where there is none


def row_cells(rows: pa.Table, plan: StreamPlan, watermark: Instant | None) -> pa.Table:
    """The cells of all root feeds, as level 1 in Spark would give them."""
    rows, columns = rows.combine_chunks(), row_columns(plan)
    made = [_cells(rows, plan, root, columns) for root in plan.roots or (NO_ROOT,)]
    made[0] = made[0].counted(plan, watermark)
    return pa.concat_tables([cells.table() for cells in made], promote_options="default")


def row_standing(rows: pa.Table, plan: StreamPlan) -> dict[str, pa.Table]:
    """The rows of each standing filter that wants some, under the names its query gave the columns."""
    found = {}
    for at, filter_ in enumerate(plan.standing):
        mine = rows.filter(rows.column(f"q{at}"))
        if mine.num_rows:
            found[filter_.query.name] = standing_table(mine, at, filter_)
    return found


def standing_table(rows: pa.Table, at: int, filter_: Standing) -> pa.Table:
    """The columns `s<at>_<i>` of the rows, as the query named them."""
    names = [item.name for item in parts(filter_.query).items]
    return pa.table({name: rows.column(f"s{at}_{i}") for i, name in enumerate(names)})


@dataclass(slots=True)
class _Cells:
    """The cells of one root feed in the making: rows in the order of their cells, and the columns made."""

    rows: pa.Table
    runs: Runs
    columns: dict[str, pa.Array]
    _sorted: dict[str, pa.Array] = field(default_factory=dict)
    _masks: dict[str, Bools] = field(default_factory=dict)

    def array(self, name: str) -> pa.Array:
        """A column of the rows, in order."""
        if name not in self._sorted:
            self._sorted[name] = _whole(self.rows, name).take(pa.array(self.runs.order))
        return self._sorted[name]

    def mask(self, name: str) -> Bools:
        """Where a predicate is true."""
        if name not in self._masks:
            self._masks[name] = self.array(name).fill_null(False).to_numpy(zero_copy_only=False)
        return self._masks[name]

    def lift(self, name: str, partial: Partial, columns: RowColumns) -> None:
        """Add the parts of a partial."""
        where = None if partial.where is None else self.mask(f"w{columns.where(partial.where)}")
        value = None if partial.arg is None else self.array(f"v{columns.value(partial.arg)}")
        by = self.array("time" if partial.by is None else f"v{columns.value(partial.by)}")
        for part, made in lift(partial.op, self.runs, value, by, where).items():
            self.columns[name + (f"_{part}" if part else "")] = made

    def counted(self, plan: StreamPlan, watermark: Instant | None) -> _Cells:
        """With what is counted once for all feeds."""
        valid = self.array("status").to_numpy() <= UNWANTED
        time = self.array("time")
        late = np.zeros(len(valid), bool)
        if watermark is not None:
            late = valid & (time.fill_null(watermark).to_numpy() < watermark)
        self.columns["rows"] = lift("count", self.runs, None, None, None)[""]
        self.columns["min_ts"] = lift("min", self.runs, time, None, None)[""]
        self.columns["max_ts"] = lift("max", self.runs, time, None, None)[""]
        self.columns["late"] = lift("count", self.runs, None, None, late)[""]
        for at in range(len(plan.guards)):
            self.columns[f"e{at}"] = lift("count", self.runs, None, None, self.mask(f"e{at}"))[""]
        return self

    def table(self) -> pa.Table:
        return pa.table(self.columns)


def _cells(rows: pa.Table, plan: StreamPlan, root: int, columns: RowColumns) -> _Cells:
    """The cells of one root feed, with its partials."""
    feed = None if root == NO_ROOT else plan.feeds[root]
    positions = [columns.key(key) for key in feed.keys] if feed else []
    status = _whole(rows, "status").to_numpy()
    starts = _whole(rows, "slice").fill_null(0).to_numpy()
    slices = np.where(status == CELL, starts, BEGINNING + status.astype(np.int64))
    grouped = runs(slices, [_whole(rows, f"g{at}") for at in positions])
    first = grouped.order[grouped.starts]
    made = _Cells(rows, grouped, {
        "feed": pa.array(np.full(len(first), root, np.int32)),
        "status": pa.array(status[first]),
        "slice": array_of(slices[first], status[first] == CELL),
    })  # fmt: skip
    for at in range(len(columns.keys)):
        key = _whole(rows, f"g{at}")
        made.columns[f"g{at}"] = (
            key.take(pa.array(first)) if at in positions else pa.nulls(len(first), key.type)
        )
    for at, partial in enumerate(feed.partials if feed else ()):
        made.lift(f"f{root}_p{at}", partial, columns)
    return made


def _whole(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
