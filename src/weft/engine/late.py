"""Rows that came too late for a query: they lie in slices of windows that are answered already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from weft.engine.ingest import FeedKey, feed_key, providers
from weft.engine.windows import Reach, Times, late_slices
from weft.kernels.arrow import whole
from weft.kernels.choosing import holds
from weft.kernels.picks import Pick
from weft.share.nodes import StreamPlan
from weft.times import BEGINNING, Instant


def late_rows(
    table: pa.Table,
    described: list[dict[str, Any]],
    plan: StreamPlan,
    floors: Mapping[str, Instant],
    reach: Reach,
) -> dict[str, int]:
    """How many rows of a batch came too late, by query; a row counts once for each query that wants it.

    Of the two halves of a query the earlier is asked, which all batches have cells for.
    """
    upto = max((reach.upto(tap.window.range) for tap in plan.taps), default=BEGINNING)
    old = _Old(table, described, upto)
    if not old:
        return {}
    late = {}
    for tap in (each.halves[0] for each in plan.taps):
        window, feed = tap.window, plan.feeds[tap.feed]
        count = 0
        for slices, rows in old.rows(feed_key(feed), feed.partials[tap.present].text, tap.picks):
            floor = floors.get(tap.query.name, BEGINNING)
            is_late = late_slices(
                slices, window.range, window.slide, window.offset, reach.upto(window.range), floor
            )
            count += int(rows[is_late].sum())
        if count:
            late[tap.query.name] = count
    return late


class _Old:
    """The cells of a batch before some time: most often few, or none."""

    def __init__(self, table: pa.Table, described: list[dict[str, Any]], before: Instant) -> None:
        self._table, self._described = table, described
        self._at = np.flatnonzero(table.column("slice").to_numpy() < before)
        self._columns: dict[str, npt.NDArray[Any]] = {}

    def __bool__(self) -> bool:
        return bool(len(self._at))

    def rows(
        self, key: FeedKey, present: str, picks: Sequence[Pick]
    ) -> Iterator[tuple[Times, npt.NDArray[np.int64]]]:
        """The slices of a feed, and how many rows each of its cells stands for, as far as they are picked."""
        for feed, partials in providers(self._described, key, {present}):
            slices, rows = self._of("slice", feed["root"]), self._of(partials[0]["columns"][""], feed["root"])
            if picks:
                columns = dict(zip(feed["keys"], feed["key_columns"], strict=True))
                rows = rows * holds(picks, [self._keys(columns[part], feed["root"]) for part in key[1]])
            yield slices, rows

    def _keys(self, name: str, root: int) -> pa.Array:
        mine = pa.array(self._at[self._column("feed") == root])
        return whole(self._table.column(name).take(mine))

    def _of(self, name: str, root: int) -> npt.NDArray[np.int64]:
        found = self._column(name)[self._column("feed") == root]
        whole: npt.NDArray[np.int64] = found.astype(np.int64)  # other roots leave nulls in the column
        return whole

    def _column(self, name: str) -> npt.NDArray[Any]:
        if name not in self._columns:
            self._columns[name] = self._table.column(name).to_numpy()[self._at]
        return self._columns[name]
