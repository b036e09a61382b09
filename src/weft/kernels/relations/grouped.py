"""Continuous GROUP BY: one row for each group, for as long as what its rows amount to stays the same.

    changes of a group    +10 at 1         +20 at 4         -10 at 6
    SUM                   +10 at 1    -10, +30 at 4    -30, +20 at 6

The rows of groups that change are looked at again, with all their changes of a span at once. What a group was
told to be is held as it was told, so that it is taken back to the bit, in whatever order floats are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.kernels.arrow import whole
from weft.kernels.combine import Ints, distinct
from weft.kernels.groups import GroupIndex
from weft.kernels.relations.amounts import Amounts, Wanted, amounts
from weft.kernels.relations.changes import ChangeStore, consolidate, ordered
from weft.kernels.relations.spells import spells
from weft.kernels.relations.tables import NEVER, Changes, columns_of, take
from weft.times import Instant


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """Changes of a span of time: by place of their instants, from 1 on, and of the groups they touch.

    Place 0 is before all of them.
    """

    changes: Changes
    groups: Ints
    keys: list[pa.Array]  # of the groups
    count: int  # of the groups
    instants: Ints

    @property
    def places(self) -> Ints:
        return np.searchsorted(self.instants, self.changes.times) + 1

    def times(self, places: Ints) -> Ints:
        return self.instants[places - 1]


class Grouping:
    """The rows of all groups, and what was told of each; keys are columns, null is a key like any other."""

    def __init__(self, keys: Sequence[str], wanted: Sequence[Wanted]) -> None:
        self._keys, self._wanted = list(keys), wanted
        self._rows = ChangeStore(len(keys), null_safe=True)
        self._told = ChangeStore(len(keys), null_safe=True)

    def __len__(self) -> int:
        """How many changes are held, of rows and of what was told."""
        return len(self._rows) + len(self._told)

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes + self._told.nbytes

    def step(self, changes: Changes, upto: Instant) -> tuple[Changes, Changes]:
        """What changes, of all changes up to `upto` since the last step; named by keys and aggregates.

        A group without rows has no row, nor has one whose aggregate fails: the second are the keys of those,
        and since when.
        """
        span = self._span(consolidate(changes))
        found = self._amounts(span)
        named = dict(zip(self._keys, (key.take(pa.array(found.stretches.groups)) for key in span.keys)))
        told = self._told_anew(found, pa.table({**named, **found.columns}), span)
        told = ordered(consolidate(Changes.concat([told, self._taken_back(span, told.table.schema)])))
        for store, more in ((self._rows, span.changes), (self._told, told)):
            store.add([more.table.column(key) for key in self._keys], more)
            store.settle(upto)
        return told, _failing(found, pa.table(named), span)

    def _span(self, changes: Changes) -> Span:
        touched, keys = GroupIndex(len(self._keys)), [whole(changes.table.column(key)) for key in self._keys]
        groups = touched.add(keys, len(changes))
        count = len(touched) if len(changes) else 0
        keys = touched.take(np.arange(count)) if count else keys
        return Span(changes, groups, keys, count, distinct(changes.times))

    def _amounts(self, span: Span) -> Amounts:
        """What the touched groups amount to, by place: of their rows before, and all changes."""
        held, of_groups = _held(self._rows, span, span.changes.table.schema)
        both = Changes.concat([held, Changes(span.changes.table, span.places, span.changes.weights)])
        rows, firsts, behinds = spells(both, len(span.instants) + 1)
        groups = np.concatenate((of_groups, span.groups))[rows]
        table = take(both.table, rows)
        columns = dict(zip(table.column_names, columns_of(table)))
        return amounts(columns, groups, firsts, behinds, self._wanted)

    def _told_anew(self, found: Amounts, rows: pa.Table, span: Span) -> Changes:
        """What is told of stretches that begin in the span, and taken back where they end in it as well."""
        stretches = found.stretches
        right = np.ones(len(stretches), bool) if found.failed is None else ~found.failed
        new = np.flatnonzero(right & (stretches.firsts > 0))
        gone = new[stretches.behinds[new] <= len(span.instants)]
        places = np.concatenate((stretches.firsts[new], stretches.behinds[gone]))
        weights = np.repeat(np.array([1, -1]), [len(new), len(gone)])
        return Changes(take(rows, np.concatenate((new, gone))), span.times(places), weights)

    def _taken_back(self, span: Span, schema: pa.Schema) -> Changes:
        """What was told of the touched groups before, taken back when they change first."""
        held, of_groups = _held(self._told, span, schema)
        first = np.full(span.count, NEVER)
        np.minimum.at(first, span.groups, span.changes.times)
        return Changes(held.table, first[of_groups], -held.weights)


def _held(store: ChangeStore, span: Span, schema: pa.Schema) -> tuple[Changes, Ints]:
    """What is held of the touched groups, at place 0; and of which group each is."""
    late = np.full(span.count, NEVER - 1)
    found = store.pairs(span.keys, Changes(pa.table({}), late, np.ones(span.count, np.int64)))
    if not len(found):
        return Changes.empty(schema), found.rows
    table = store.take(found.refs, schema.names)
    return Changes(table, np.zeros(len(found), np.int64), found.weights), found.rows


def _failing(found: Amounts, keys: pa.Table, span: Span) -> Changes:
    """The groups whose aggregates fail from some instant of the span on."""
    failed = np.zeros(len(found.stretches), bool) if found.failed is None else found.failed
    rows = np.flatnonzero(failed & (found.stretches.firsts > 0))
    return Changes(take(keys, rows), span.times(found.stretches.firsts[rows]), np.ones(len(rows), np.int64))
