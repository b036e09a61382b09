"""Answers of two ways to run the same queries, compared as multisets; doubles to 1e-9."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def check_same(
    wanted: Mapping[str, Sequence[pa.Table]], found: Mapping[str, Sequence[pa.Table]], who: str
) -> None:
    """Ends the benchmark if a query has other answers."""
    for name in sorted({*wanted, *found}):
        mine, theirs = (_sorted(each.get(name, ())) for each in (wanted, found))
        if mine.num_rows != theirs.num_rows or not all(
            _equal(mine.column(column), theirs.column(column)) for column in mine.column_names
        ):
            raise click.ClickException(f"{who} answers {name} otherwise than Shared")


def _sorted(parts: Sequence[pa.Table]) -> pa.Table:
    """By everything that is exact: the window and its keys come first."""
    if not parts:
        return pa.table({})
    table = pa.concat_tables(parts).combine_chunks()
    order = [(name, "ascending") for name in table.column_names if not _is_float(table.column(name))]
    return table.take(pc.sort_indices(table, sort_keys=order))


def _equal(mine: pa.ChunkedArray, theirs: pa.ChunkedArray) -> bool:
    if not _is_float(mine):
        return bool(mine.equals(theirs))
    left, right = (column.fill_null(np.nan).to_numpy() for column in (mine, theirs))
    return bool(np.allclose(left, right, rtol=1e-9, atol=1e-9, equal_nan=True))


def _is_float(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_floating(column.type))
