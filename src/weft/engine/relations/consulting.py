"""Rows that look up a table: each once, in the version in force when it begins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.engine.relations.editions import Editions, Version
from weft.engine.relations.evaluate import Finisher
from weft.engine.relations.operator import Carried, Told
from weft.engine.relations.partners import Agreeing, Beside
from weft.kernels.combine import Ints
from weft.kernels.relations.store import RowStore
from weft.kernels.relations.tables import NEVER, NOTHING, Lives
from weft.plan.lookups import Lookup
from weft.plan.relations import Paired, Whether
from weft.plan.relationtree import columns
from weft.share.relations.matching import matching
from weft.times import BEGINNING, Instant


class Finding:
    """The entries that rows match, by version: each is laid out by key when the first row asks for it."""

    def __init__(self, agreeing: Agreeing) -> None:
        self._agreeing = agreeing
        self._stores: dict[int, RowStore] = {}

    @property
    def rows(self) -> int:
        return sum(len(store) for store in self._stores.values())

    @property
    def nbytes(self) -> int:
        return sum(store.nbytes for store in self._stores.values())

    def find(self, rows: Lives, version: Version) -> tuple[Ints, pa.Table]:
        """Places of rows, one for every match, and beside them the entries."""
        store = self._store(version)
        found = store.pairs(self._agreeing.keys(rows), rows.begins, rows.begins + 1)
        return self._agreeing.of(rows, found.rows, store.take(found.refs))

    def _store(self, version: Version) -> RowStore:
        if version.number not in self._stores:
            self._agreeing.failed += version.failed
            begins, ends = np.full(version.count, BEGINNING), np.full(version.count, NEVER)
            keys = self._agreeing.entry_keys(version.rows, version.count)
            store = RowStore(len(keys), schema=version.rows.schema)
            store.add(keys, Lives(version.rows, begins, ends))
            self._stores[version.number] = store
        return self._stores[version.number]

    def keep(self, numbers: set[int]) -> None:
        """Forget all versions but these."""
        self._stores = {number: store for number, store in self._stores.items() if number in numbers}


class Consulting(Carried):
    """Rows beside the entries that they match, or those that match some, or none; they live as they did."""

    def __init__(
        self, relation: Paired | Whether, found: Lookup, editions: Editions, finisher: Finisher
    ) -> None:
        super().__init__(columns(relation))
        self.editions = editions
        mine, entries = columns(found.rows), columns(found.entries)
        self._agreeing = Agreeing(matching(relation.on, mine, entries), mine, entries, finisher)
        self._finding, self._beside = Finding(self._agreeing), Beside(relation, found)

    @property
    def rows(self) -> int:
        return self._finding.rows

    @property
    def nbytes(self) -> int:
        return self._finding.nbytes

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        (rows,) = told
        assert isinstance(rows, Lives)
        seen = self.editions.seen(rows.begins)
        made = [self._look(rows.filter(seen == place), place) for place in np.unique(seen).tolist()]
        self.editions.forget(upto)
        self._finding.keep({version.number for version in self.editions.versions})
        self.note(self._agreeing.told_failed())
        return Lives.concat(made) if made else Lives.empty(self._beside.schema)

    def _look(self, rows: Lives, place: int) -> Lives:
        at, entries = NOTHING, self.editions.schema.empty_table()
        if place >= 0:
            at, entries = self._finding.find(rows, self.editions.versions[place])
        return self._beside.made(rows, at, entries)
