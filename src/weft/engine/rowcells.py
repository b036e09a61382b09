"""A shared plan as the recipe by which rows that Spark evaluated become cells; the rows of its filters."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.engine.windows import floored
from weft.kernels.arrow import array_of, whole
from weft.kernels.rowcells import Lift, Recipe, Root, cells
from weft.share.nodes import Edges, Intake, Partial, Standing, StreamPlan
from weft.share.rowcolumns import RowColumns, row_columns
from weft.times import Instant

NO_ROOT = -1  # stands for the feed where there is none


def row_cells(rows: pa.Table, plan: StreamPlan, watermark: Instant | None) -> pa.Table:
    """The cells of all root feeds, as level 1 in Spark would give them, cut only where windows are."""
    if plan.edges.combined:
        rows = _cut(rows, plan.edges)
    return cells(rows, recipe(plan), watermark)


def _cut(rows: pa.Table, edges: Edges) -> pa.Table:
    """The rows with the slices that are kept: Spark would give finer ones, nearly one for each row."""
    starts, at = whole(rows.column("slice")), rows.schema.get_field_index("slice")
    valid = starts.is_valid().to_numpy(zero_copy_only=False)
    found = starts.drop_null().to_numpy()
    made = np.zeros(len(starts), np.int64)
    made[valid] = floored(found, edges.pairs)
    return rows.set_column(at, "slice", array_of(made, valid))


def recipe(plan: StreamPlan) -> Recipe:
    """What is made of the rows, by the names of their columns."""
    columns = row_columns(plan)
    roots = tuple(
        Root(
            root,
            tuple(columns.key(key) for key in plan.feeds[root].keys),
            tuple(_lift(f"f{root}_p{at}", p, columns) for at, p in enumerate(plan.feeds[root].partials)),
        )
        for root in plan.roots
    )
    return Recipe(roots or (Root(NO_ROOT, (), ()),), len(columns.keys), len(plan.guards))


def _lift(name: str, partial: Partial, columns: RowColumns) -> Lift:
    value = None if partial.arg is None else f"v{columns.value(partial.arg)}"
    by = "time" if partial.by is None else f"v{columns.value(partial.by)}"
    where = None if partial.where is None else f"w{columns.where(partial.where)}"
    return Lift(name, str(partial.op), value, by, where)


def row_standing(rows: pa.Table, plan: StreamPlan) -> dict[str, pa.Table]:
    """The rows of each standing filter that wants some, under the names its query gave the columns."""
    found = {}
    for at, filter_ in enumerate(plan.passing):
        mine = rows.filter(rows.column(f"q{at}"))
        if mine.num_rows:
            found[filter_.name] = standing_table(mine, at, filter_)
    return found


def standing_table(rows: pa.Table, at: int, filter_: Standing | Intake) -> pa.Table:
    """The columns `s<at>_<i>` of the rows, as the query named them."""
    return pa.table({item.name: rows.column(f"s{at}_{i}") for i, item in enumerate(filter_.items)})
