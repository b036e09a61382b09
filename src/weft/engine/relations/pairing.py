"""Pairs of rows with lives: told with the batch that completes them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from weft.engine.relations.evaluate import Condition, Evaluator, Finisher, schema_of
from weft.engine.relations.operator import Carried, Told
from weft.kernels.relations.flat import FlatStore
from weft.kernels.relations.lots import Found
from weft.kernels.relations.store import RowStore
from weft.kernels.relations.tables import Lives, take
from weft.plan.nodes import Named
from weft.plan.relationpatterns import lasts
from weft.plan.relations import Paired, Relation
from weft.plan.relationtree import columns
from weft.share.relations.matching import matching
from weft.times import Instant


class Side:
    """One side of a join: its rows that may still meet others."""

    def __init__(self, relation: Relation, keys: Sequence[Named], finisher: Finisher, flat: bool) -> None:
        self.columns = columns(relation)
        self.names = [column.name for column in self.columns]
        self._keys = Evaluator(keys, self.columns, finisher)
        length = lasts(relation)
        classes = [] if length is None else [[length]]
        schema = schema_of(self.columns)
        self.store = FlatStore(len(keys), schema) if flat else RowStore(len(keys), classes, schema=schema)

    def keys(self, rows: Lives) -> list[pa.ChunkedArray]:
        made, _ = self._keys.run(rows.table, len(rows))  # a key that fails is null, and matches nothing
        return list(made.columns)


class PairingLives(Carried):
    """Pairs of lives; each lives while both rows do."""

    def __init__(self, relation: Paired, finisher: Finisher, flat: bool = False) -> None:
        super().__init__(columns(relation))
        match = matching(relation.on, columns(relation.left), columns(relation.right))
        self._left = Side(relation.left, match.left, finisher, flat)
        self._right = Side(relation.right, match.right, finisher, flat)
        self._rest = None if match.rest is None else Condition(match.rest, self.columns, finisher)
        self._schema = schema_of(self.columns)

    @property
    def rows(self) -> int:
        return len(self._left.store) + len(self._right.store)

    @property
    def nbytes(self) -> int:
        return self._left.store.nbytes + self._right.store.nbytes

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        left, right = told
        assert isinstance(left, Lives)
        assert isinstance(right, Lives)
        left_keys, right_keys = self._left.keys(left), self._right.keys(right)
        found = self._right.store.pairs(left_keys, left.begins, left.ends)
        theirs = self._right.store.take(found.refs, self._right.names)
        made = [self._pairs(take(left.table, found.rows), theirs, found)]
        self._left.store.add(left_keys, left)
        found = self._left.store.pairs(right_keys, right.begins, right.ends)
        theirs = self._left.store.take(found.refs, self._left.names)
        made.append(self._pairs(theirs, take(right.table, found.rows), found))
        self._right.store.add(right_keys, right)
        self._left.store.expire(upto)
        self._right.store.expire(upto)
        return Lives.concat(made)

    def _pairs(self, left: pa.Table, right: pa.Table, found: Found) -> Lives:
        table = side_by_side(left, right, self._schema)
        pairs = Lives(table, found.begins, found.ends)
        if self._rest is None:
            return pairs
        holds, failed = self._rest.run(table, len(pairs))
        self.note(0 if failed is None else int(failed.sum()))
        return pairs.filter(holds)


def side_by_side(left: pa.Table, right: pa.Table, schema: pa.Schema) -> pa.Table:
    """The columns of both; a schema without columns has rows all the same."""
    return pa.table([*left.columns, *right.columns], schema=schema) if schema.names else left
