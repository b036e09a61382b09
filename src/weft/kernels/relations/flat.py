"""Rows of one side of a join in one list, looked through as a whole: `RowStore` is measured against it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.kernels.arrow import whole
from weft.kernels.combine import Bools, Ints
from weft.kernels.groups import GroupIndex
from weft.kernels.relations.lots import Found
from weft.kernels.relations.store import Keys
from weft.kernels.relations.tables import NOTHING, Lives, take

_KEY = "\0key"  # no column of a query is called so


class FlatStore:
    """Rows with `key_count` keys in the order in which they came; one with a null key is not held."""

    def __init__(self, key_count: int, schema: pa.Schema) -> None:
        self._key_names = [f"{_KEY}{at}" for at in range(key_count)]
        self._held: Lives | None = None
        self._schema = schema

    def __len__(self) -> int:
        return 0 if self._held is None else len(self._held)

    @property
    def nbytes(self) -> int:
        return 0 if self._held is None else int(self._held.table.nbytes) + 16 * len(self)

    def add(self, keys: Keys, lives: Lives) -> None:
        """Hold rows until they end."""
        if not len(lives):
            return
        rows = dict(zip(self._schema.names, lives.table.columns, strict=True))
        table = pa.table(rows | dict(zip(self._key_names, keys, strict=True)))
        new = Lives(table, lives.begins, lives.ends).filter(_comparable(keys, len(lives)))
        self._held = new if self._held is None else Lives.concat([self._held, new])

    def pairs(self, keys: Keys, begins: Ints, ends: Ints) -> Found:
        """The pairs of these rows with rows that have equal keys and live when they do: all are looked at."""
        held = self._held
        asked = np.flatnonzero(_comparable(keys, len(begins)))
        if held is None or not len(asked):
            return Found(NOTHING, NOTHING, NOTHING, NOTHING)
        index = GroupIndex(len(self._key_names))
        ids = index.add([whole(key).take(pa.array(asked)) for key in keys], len(asked))
        mine = index.lookup([whole(held.table.column(name)) for name in self._key_names], len(held))
        refs, probes = _equal(mine, ids)
        rows = asked[probes]
        both = np.maximum(held.begins[refs], begins[rows]), np.minimum(held.ends[refs], ends[rows])
        met = np.flatnonzero(both[0] < both[1])
        return Found(rows[met], refs[met], both[0][met], both[1][met])

    def take(self, refs: Ints, columns: Sequence[str]) -> pa.Table:
        """Columns of rows by their places, which are theirs until some of them go."""
        table = self._schema.empty_table() if self._held is None else self._held.table
        return take(table.select(columns), refs)

    def expire(self, before: int) -> None:
        """Forget rows with `end <= before`."""
        if self._held is not None:
            self._held = self._held.filter(self._held.ends > before)


def _equal(held: Ints, ids: Ints) -> tuple[Ints, Ints]:
    """The pairs of places at which the numbers of both are equal; -1 is equal to nothing."""
    order = np.argsort(ids, kind="stable")
    starts = np.searchsorted(ids[order], held)
    counts = np.where(held < 0, 0, np.searchsorted(ids[order], held, side="right") - starts)
    refs = np.repeat(np.arange(len(held)), counts)
    at = np.arange(len(refs)) + np.repeat(starts - (np.cumsum(counts) - counts), counts)
    return refs, order[at]


def _comparable(keys: Keys, rows: int) -> Bools:
    wanted = np.ones(rows, bool)
    for key in keys:
        wanted &= whole(key).is_valid().to_numpy(zero_copy_only=False)
    return wanted
