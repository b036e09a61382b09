"""Changes put together, and the pairs that changes of two sides make.

    left     +x at 3            right    +y at 1, -y at 5
    pairs    +xy at 3, -xy at 5          the later of both times, the product of both weights

So nothing needs to be matched up: what ends, ends all its pairs, and what came and went makes pairs that come
and go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.kernels.combine import Ints
from weft.kernels.groups import GroupIndex
from weft.kernels.relations.store import Keys, RowStore
from weft.kernels.relations.tables import NEVER, Changes, Lives, columns_of
from weft.times import Instant

_FEW = 1024  # changes that are not worth putting together
_WEIGHT, _KEY = "\0weight", "\0key"  # no column of a query is called so


def consolidate(changes: Changes) -> Changes:
    """Equal rows at equal times made one, their weights added; those of weight 0 are gone.

    Rows are told apart by all their columns; null is equal to null, NaN to NaN.
    """
    index = GroupIndex(changes.table.num_columns + 1)
    ids = index.add([*columns_of(changes.table), pa.array(changes.times)])
    if len(index) == len(changes):
        return changes if changes.weights.all() else changes.filter(changes.weights != 0)
    sums = np.zeros(len(index), np.int64)
    np.add.at(sums, ids, changes.weights)
    first = np.flatnonzero(np.diff(np.maximum.accumulate(ids), prepend=-1))  # ids are dealt out in order
    left = np.flatnonzero(sums)
    rows = changes.take(first[left])
    return Changes(rows.table, rows.times, sums[left])


def ordered(changes: Changes) -> Changes:
    """By time; of one instant, what ends before what begins."""
    return changes.take(np.lexsort((changes.weights, changes.times)))


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """Pairs of a probing change, by its place, and one that is held: the later time, the product."""

    rows: Ints
    refs: Ints
    times: Ints
    weights: Ints

    def __len__(self) -> int:
        return len(self.rows)


class ChangeStore:
    """The changes of one side of a join, by key. A step of the join is, with the changes of its span:

        right.add(right changes); right.pairs(left changes)       new x held, new x new
        left.pairs(right changes); left.add(left changes)         held x new
        left.settle(upto); right.settle(upto)

    A null key is equal to nothing, unless `null_safe`.
    """

    def __init__(self, key_count: int, *, null_safe: bool = False, schema: pa.Schema | None = None) -> None:
        self._key_names = [f"{_KEY}{at}" for at in range(key_count)]
        self._null_safe = null_safe
        self._store = RowStore(key_count, null_safe=null_safe, schema=schema)
        self._settled = 0  # how many changes were left when they were last put together

    def __len__(self) -> int:
        return len(self._store)

    @property
    def keys(self) -> int:
        """How many different keys changes have had; few more than they have."""
        return self._store.keys

    @property
    def nbytes(self) -> int:
        return self._store.nbytes

    def add(self, keys: Keys, changes: Changes) -> None:
        self._hold(changes, dict(zip(self._key_names, keys)))

    def _hold(self, changes: Changes, keys: Mapping[str, pa.Array | pa.ChunkedArray]) -> None:
        named = dict(zip(changes.table.column_names, changes.table.columns))
        table = pa.table({**named, **keys, _WEIGHT: changes.weights})
        self._store.add(list(keys.values()), Lives(table, changes.times, np.full(len(changes), NEVER)))

    def pairs(self, keys: Keys, changes: Changes) -> Products:
        """Every one of these changes with every one held that has equal keys, in no order."""
        endless = np.full(len(changes), NEVER)
        found = self._store.pairs(keys, changes.times, endless)
        if not len(found):
            return Products(found.rows, found.refs, found.begins, found.begins)
        weights = self.take(found.refs, [_WEIGHT]).column(0).to_numpy() * changes.weights[found.rows]
        return Products(found.rows, found.refs, found.begins, weights)

    def take(self, refs: Ints, columns: Sequence[str]) -> pa.Table:
        """Columns of changes that are held."""
        return self._store.take(refs, columns)

    def settle(self, before: Instant) -> None:
        """No change before `before` comes any more, on either side: what is older need not be told apart.

        So it is put together, when there is twice as much as was left the last time.
        """
        if len(self) <= 2 * self._settled + _FEW:
            return
        refs = self._store.live(NEVER - 1)
        table, times = self._store.take(refs), np.maximum(self._store.begins(refs), before - 1)
        weights = table.column(_WEIGHT).to_numpy()
        left = consolidate(Changes(table.drop_columns(_WEIGHT), times, weights))
        keys = {name: left.table.column(name) for name in self._key_names}
        self._store = RowStore(len(keys), null_safe=self._null_safe, schema=table.schema)
        self._hold(left, keys)
        self._settled = len(left)
