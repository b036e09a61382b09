"""What rows and the entries of a table that they look up have to do with each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.engine.relations.evaluate import Condition, Evaluator, Finisher, schema_of
from weft.engine.relations.pairing import side_by_side
from weft.kernels.combine import Bools, Ints
from weft.kernels.relations.tables import Lives, take
from weft.lang.bodies import JoinKind
from weft.plan.lookups import Lookup
from weft.plan.nodes import Column
from weft.plan.relations import Paired, Whether
from weft.plan.relationtree import columns
from weft.share.relations.matching import Matching


class Agreeing:
    """The keys by which partners are found, and what else must hold of them."""

    def __init__(
        self, match: Matching, rows: Sequence[Column], entries: Sequence[Column], finisher: Finisher
    ) -> None:
        self._rows, self._entries = (
            Evaluator(match.left, rows, finisher),
            Evaluator(match.right, entries, finisher),
        )
        self._schema = schema_of((*rows, *entries))
        self._rest = None if match.rest is None else Condition(match.rest, (*rows, *entries), finisher)
        self.failed = 0

    def keys(self, rows: Lives) -> list[pa.ChunkedArray]:
        """Those of rows; a key that fails is null, and matches nothing."""
        return list(self._rows.run(rows.table, len(rows))[0].columns)

    def entry_keys(self, entries: pa.Table, count: int) -> list[pa.ChunkedArray]:
        return list(self._entries.run(entries, count)[0].columns)

    @property
    def key_count(self) -> int:
        return len(self._entries.named)

    def of(self, rows: Lives, at: Ints, entries: pa.Table) -> tuple[Ints, pa.Table]:
        """Of candidates, rows by their places and entries beside them, those that are partners."""
        if self._rest is None:
            return at, entries
        pairs = side_by_side(take(rows.table, at), entries, self._schema)
        holds, failed = self._rest.run(pairs, len(at))
        self.failed += 0 if failed is None else int(failed.sum())
        return at[holds], take(entries, np.flatnonzero(holds))

    def told_failed(self) -> int:
        """On how many pairs it failed since this was last asked."""
        found, self.failed = self.failed, 0
        return found


class Beside:
    """What becomes of rows that have looked up their partners; they live as they did."""

    def __init__(self, relation: Paired | Whether, found: Lookup) -> None:
        self._relation = relation
        self._entries_first = isinstance(relation, Paired) and relation.left is found.entries
        self._entries, self.schema = schema_of(columns(found.entries)), schema_of(columns(relation))

    def made(self, rows: Lives, at: Ints, entries: pa.Table) -> Lives:
        """Rows beside the entries that they match, or those that match some, or none."""
        has_match = np.zeros(len(rows), bool)
        has_match[at] = True
        match self._relation:
            case Whether(negated=negated):
                return rows.filter(has_match != negated)
            case Paired(kind=JoinKind.INNER):
                return self._pairs(rows.take(at), entries)
            case Paired():
                return Lives.concat([self._pairs(rows.take(at), entries), self._alone(rows, ~has_match)])

    def _alone(self, rows: Lives, mine: Bools) -> Lives:
        """Rows beside nulls."""
        left = rows.filter(mine)
        nulls = [pa.nulls(len(left), field.type) for field in self._entries]
        return self._pairs(left, pa.table(nulls, schema=self._entries))

    def _pairs(self, rows: Lives, entries: pa.Table) -> Lives:
        sides = (entries, rows.table) if self._entries_first else (rows.table, entries)
        return Lives(side_by_side(*sides, self.schema), rows.begins, rows.ends)
