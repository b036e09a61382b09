"""Rows that look up a table: each once, in the version in force when it begins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.engine.relations.editions import Editions, Version
from weft.engine.relations.evaluate import Condition, Evaluator, Finisher, schema_of
from weft.engine.relations.operator import Carried, Told
from weft.engine.relations.pairing import side_by_side
from weft.kernels.combine import Bools, Ints
from weft.kernels.relations.store import RowStore
from weft.kernels.relations.tables import NEVER, NOTHING, Lives, take
from weft.lang.bodies import JoinKind
from weft.plan.lookups import Lookup
from weft.plan.nodes import Column
from weft.plan.relations import Paired, Whether
from weft.plan.relationtree import columns
from weft.share.relations.matching import Matching, matching
from weft.times import BEGINNING, Instant


class Finding:
    """The entries that rows match, by version: each is laid out by key when the first row asks for it."""

    def __init__(
        self, match: Matching, rows: Sequence[Column], entries: Sequence[Column], finisher: Finisher
    ) -> None:
        self._keys = Evaluator(match.left, rows, finisher), Evaluator(match.right, entries, finisher)
        self._schema = schema_of((*rows, *entries))
        self._rest = None if match.rest is None else Condition(match.rest, (*rows, *entries), finisher)
        self._stores: dict[int, RowStore] = {}
        self.failed = 0

    @property
    def rows(self) -> int:
        return sum(len(store) for store in self._stores.values())

    @property
    def nbytes(self) -> int:
        return sum(store.nbytes for store in self._stores.values())

    def find(self, rows: Lives, version: Version) -> tuple[Ints, pa.Table]:
        """Places of rows, one for every match, and beside them the entries."""
        store = self._store(version)
        keys, _ = self._keys[0].run(rows.table, len(rows))  # a key that fails is null, and matches nothing
        found = store.pairs(list(keys.columns), rows.begins, rows.begins + 1)
        entries = store.take(found.refs)
        if self._rest is None:
            return found.rows, entries
        pairs = side_by_side(take(rows.table, found.rows), entries, self._schema)
        holds, failed = self._rest.run(pairs, len(found))
        self.failed += 0 if failed is None else int(failed.sum())
        return found.rows[holds], take(entries, np.flatnonzero(holds))

    def _store(self, version: Version) -> RowStore:
        if version.number not in self._stores:
            self.failed += version.failed
            begins, ends = np.full(version.count, BEGINNING), np.full(version.count, NEVER)
            keys, _ = self._keys[1].run(version.rows, version.count)
            store = RowStore(keys.num_columns, schema=version.rows.schema)
            store.add(keys.columns, Lives(version.rows, begins, ends))
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
        self._relation, self.editions = relation, editions
        mine, entries = columns(found.rows), columns(found.entries)
        self._finding = Finding(matching(relation.on, mine, entries), mine, entries, finisher)
        self._entries_first = isinstance(relation, Paired) and relation.left is found.entries
        self._schema = schema_of(self.columns)

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
        self.note(self._finding.failed)
        self._finding.failed = 0
        return Lives.concat(made) if made else Lives.empty(self._schema)

    def _look(self, rows: Lives, place: int) -> Lives:
        at, entries = NOTHING, self.editions.schema.empty_table()
        if place >= 0:
            at, entries = self._finding.find(rows, self.editions.versions[place])
        has_match = np.zeros(len(rows), bool)
        has_match[at] = True
        match self._relation:
            case Whether(negated=negated):
                return rows.filter(has_match != negated)
            case Paired(kind=JoinKind.INNER):
                return self._beside(rows.take(at), entries)
            case Paired():
                return Lives.concat([self._beside(rows.take(at), entries), self._alone(rows, ~has_match)])

    def _alone(self, rows: Lives, mine: Bools) -> Lives:
        """Rows beside nulls."""
        left = rows.filter(mine)
        nulls = [pa.nulls(len(left), field.type) for field in self.editions.schema]
        return self._beside(left, pa.table(nulls, schema=self.editions.schema))

    def _beside(self, rows: Lives, entries: pa.Table) -> Lives:
        sides = (entries, rows.table) if self._entries_first else (rows.table, entries)
        return Lives(side_by_side(*sides, self._schema), rows.begins, rows.ends)
