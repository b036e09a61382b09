"""Continuous GROUP BY: one row for each group, for as long as what its rows amount to stays the same.

    changes of a group    +10 at 1         +20 at 4         -10 at 6
    SUM                   +10 at 1    -10, +30 at 4    -30, +20 at 6

All changes of a span are taken at once. What a group was told to be is held as it was told, so that it is
taken back to the bit, in whatever order floats are added.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.kernels.arrow import whole
from weft.kernels.combine import distinct
from weft.kernels.groups import GroupIndex
from weft.kernels.relations.amounts import Amounts, Wanted
from weft.kernels.relations.changes import ChangeStore, consolidate, ordered
from weft.kernels.relations.heldgroups import Span, held_for, held_of
from weft.kernels.relations.tables import NEVER, Changes, take
from weft.times import Instant


class Grouping:
    """What all groups are made of, and what was told of each; keys are columns, and may be null."""

    def __init__(self, keys: Sequence[str], wanted: Sequence[Wanted]) -> None:
        self._keys = list(keys)
        self._held = held_for(self._keys, wanted)
        self._told = ChangeStore(len(keys), null_safe=True)

    def __len__(self) -> int:
        """How many rows or groups are held, and of how many it was told what they are."""
        return len(self._held) + len(self._told)

    @property
    def nbytes(self) -> int:
        return self._held.nbytes + self._told.nbytes

    def step(self, changes: Changes, upto: Instant) -> tuple[Changes, Changes]:
        """What changes, of all changes up to `upto` since the last step; named by keys and aggregates.

        A group without rows has no row, nor has one whose aggregate fails: the second are the keys of those,
        and since when.
        """
        span = self._span(consolidate(changes))
        found = self._held.step(span, upto)
        named = dict(zip(self._keys, (key.take(pa.array(found.stretches.groups)) for key in span.keys)))
        begun, ended = _told_anew(found, pa.table({**named, **found.columns}), span)
        back = self._taken_back(span, begun.table.schema)
        lasting = Changes.concat([begun.take(np.flatnonzero(ended.times == NEVER)), back])
        self._told.add([lasting.table.column(key) for key in self._keys], lasting)
        self._told.settle(upto)
        told = Changes.concat([begun, ended.filter(ended.times < NEVER), back])
        return ordered(consolidate(told)), _failing(found, pa.table(named), span)

    def _span(self, changes: Changes) -> Span:
        touched, keys = GroupIndex(len(self._keys)), [whole(changes.table.column(key)) for key in self._keys]
        groups = touched.add(keys, len(changes))
        count = len(touched) if len(changes) else 0
        keys = touched.take(np.arange(count)) if count else keys
        return Span(changes, groups, keys, count, distinct(changes.times))

    def _taken_back(self, span: Span, schema: pa.Schema) -> Changes:
        """What was told of the touched groups before, taken back when they change first."""
        held, of_groups = held_of(self._told, span, schema)
        first = np.full(span.count, NEVER)
        np.minimum.at(first, span.groups, span.changes.times)
        return consolidate(Changes(held.table, first[of_groups], -held.weights))


def _told_anew(found: Amounts, rows: pa.Table, span: Span) -> tuple[Changes, Changes]:
    """What is told of stretches that begin in the span; and that it ends, NEVER if not in the span."""
    stretches = found.stretches
    right = np.ones(len(stretches), bool) if found.failed is None else ~found.failed
    new = np.flatnonzero(right & (stretches.firsts > 0))
    table, ones = take(rows, new), np.ones(len(new), np.int64)
    behinds = np.append(span.instants, NEVER)[stretches.behinds[new] - 1]
    return Changes(table, span.times(stretches.firsts[new]), ones), Changes(table, behinds, -ones)


def _failing(found: Amounts, keys: pa.Table, span: Span) -> Changes:
    """The groups whose aggregates fail from some instant of the span on."""
    failed = np.zeros(len(found.stretches), bool) if found.failed is None else found.failed
    rows = np.flatnonzero(failed & (found.stretches.firsts > 0))
    return Changes(take(keys, rows), span.times(found.stretches.firsts[rows]), np.ones(len(rows), np.int64))
