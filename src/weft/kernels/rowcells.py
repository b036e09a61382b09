"""The level 1 table of rows whose expressions Spark has evaluated.

The rows have columns `status` (0: a cell, 1: valid but unwanted, above: not to be taken), `slice`, `time`,
`g<i>` keys, `w<i>` predicates, `v<i>` arguments and `e<i>` guards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.kernels.arrow import array_of, whole
from weft.kernels.columns import part_columns
from weft.kernels.lift import Rows, lift
from weft.times import BEGINNING, Instant

_CELL, _UNWANTED = 0, 1
_LATE = "late"


@dataclass(frozen=True, slots=True)
class Lift:
    """A partial by the names of the columns it is made of; `name` is that of its column in the table."""

    name: str
    op: str
    value: str | None
    by: str | None
    where: str | None


@dataclass(frozen=True, slots=True)
class Root:
    """A root feed: the positions of its keys, and its partials."""

    feed: int
    keys: tuple[int, ...]
    lifts: tuple[Lift, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is made of the rows."""

    roots: tuple[Root, ...]
    keys: int
    guards: int


def cells(rows: pa.Table, recipe: Recipe, watermark: Instant | None) -> pa.Table:
    """The cells of all root feeds, as level 1 in Spark would give them; what is counted, with the first."""
    columns = {name: whole(rows.column(name)) for name in rows.column_names}
    made = [_root_cells(columns, recipe, root, watermark, root is recipe.roots[0]) for root in recipe.roots]
    return pa.concat_tables(made, promote_options="default")


def _root_cells(
    columns: dict[str, pa.Array], recipe: Recipe, root: Root, watermark: Instant | None, counted: bool
) -> pa.Table:
    status = columns["status"].to_numpy()
    starts = columns["slice"].fill_null(0).to_numpy()
    slices = np.where(status == _CELL, starts, BEGINNING + status.astype(np.int64))
    rows = Rows(columns, slices, [columns[f"g{at}"] for at in root.keys])
    here, first = status[rows.first], pa.array(rows.first)
    made = {
        "feed": pa.array(np.full(len(here), root.feed, np.int32)),
        "status": pa.array(here),
        "slice": array_of(slices[rows.first], here == _CELL),
    }
    for at in range(recipe.keys):
        key = columns[f"g{at}"]
        made[f"g{at}"] = key.take(first) if at in root.keys else pa.nulls(len(here), key.type)
    for each in root.lifts:
        parts = lift(rows, each.op, each.value, each.by, each.where)
        made |= {column: parts[part] for part, column in part_columns(each.name, each.op).items()}
    return pa.table(made | (_counts(rows, columns, recipe, watermark) if counted else {}))


def _counts(
    rows: Rows, columns: dict[str, pa.Array], recipe: Recipe, watermark: Instant | None
) -> dict[str, pa.Array]:
    late = np.zeros(len(rows.order), bool)
    if watermark is not None:
        before = columns["time"].fill_null(watermark).to_numpy() < watermark
        late = before & (columns["status"].to_numpy() <= _UNWANTED)
    rows.mark(_LATE, late)
    made = {
        "rows": lift(rows, "count", None, None, None)[""],
        "min_ts": lift(rows, "min", "time", None, None)[""],
        "max_ts": lift(rows, "max", "time", None, None)[""],
        "late": lift(rows, "count", None, None, _LATE)[""],
    }
    return made | {f"e{at}": lift(rows, "count", None, None, f"e{at}")[""] for at in range(recipe.guards)}
