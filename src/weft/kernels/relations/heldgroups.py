"""What is held of groups between spans of time: their rows, or, where that is enough, what they add up to.

Counts and sums of whole numbers can be taken back: a group is held as its totals, and a change costs the same
however many rows the group has. All else needs the rows again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.kernels import columns as laid
from weft.kernels.columns import layout
from weft.kernels.combine import SUM, Ints
from weft.kernels.groups import GroupIndex
from weft.kernels.lift import Rows, lift
from weft.kernels.relations.amounts import Amounts, Wanted, amounts, finished
from weft.kernels.relations.asof import Aggregate, Stretches
from weft.kernels.relations.changes import ChangeStore
from weft.kernels.relations.spells import spells
from weft.kernels.relations.tables import NEVER, Changes, columns_of, take
from weft.times import Instant

_FEW = 4096  # groups that may be known though they have no row


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


class HeldRows:
    """The rows of groups, for aggregates of any kind."""

    def __init__(self, keys: Sequence[str], wanted: Sequence[Wanted]) -> None:
        self._keys, self._wanted = keys, wanted
        self._rows = ChangeStore(len(keys), null_safe=True)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes

    def step(self, span: Span, upto: Instant) -> Amounts:
        """What the touched groups amount to, by place: of their rows before, and all changes."""
        held, of_groups = held_of(self._rows, span, span.changes.table.schema)
        both = Changes.concat([held, Changes(span.changes.table, span.places, span.changes.weights)])
        rows, firsts, behinds = spells(both, len(span.instants) + 1)
        groups = np.concatenate((of_groups, span.groups))[rows]
        found = amounts(_named(take(both.table, rows)), groups, firsts, behinds, self._wanted)
        self._rows.add([span.changes.table.column(key) for key in self._keys], span.changes)
        self._rows.settle(upto)
        return found


class HeldSums:
    """The totals of groups, each a column of whole numbers: how many rows, then the parts of all partials."""

    def __init__(self, keys: Sequence[str], wanted: Sequence[Wanted]) -> None:
        self._wanted = wanted
        self._partials = list(dict.fromkeys(partial for each in wanted for partial in each.partials))
        self._index = GroupIndex(len(keys))
        width = 1 + sum(layout(partial.spec).width for partial in self._partials)
        self._totals = np.zeros((width, 0), np.int64)

    def __len__(self) -> int:
        """How many groups have a row."""
        return int(np.count_nonzero(self._totals[0]))

    @property
    def nbytes(self) -> int:
        return self._index.nbytes + int(self._totals.nbytes)

    def step(self, span: Span, upto: Instant) -> Amounts:
        """What the touched groups amount to, from the first change of each on."""
        moved, groups, places = self._moved(span)
        ids = self._index.add(span.keys, span.count)
        self._make_room()
        first = np.flatnonzero(np.diff(groups, prepend=-1))
        sums = np.cumsum(moved, axis=1)
        before = self._totals[:, ids] - (sums - moved)[:, first]
        totals = sums + np.repeat(before, np.diff(first, append=len(groups)), axis=1)
        behinds = np.append(places[1:], 0)
        last = np.append(first[1:], len(groups))[: len(first)] - 1
        behinds[last] = len(span.instants) + 1
        self._totals[:, ids] = totals[:, last]
        there = np.flatnonzero(totals[0])
        own = Stretches(groups[there], places[there], behinds[there], self._values(totals[:, there]))
        self._forget()
        return finished(own, self._wanted)

    def _moved(self, span: Span) -> tuple[Ints, Ints, Ints]:
        """By how much the totals change, the groups and the places: ascending, each pair once."""
        rows = Rows(_named(span.changes.table), np.arange(len(span.changes)), ())
        parts = [span.changes.weights]
        for each in self._partials:
            components = laid.lift(each.spec, lift(rows, each.spec.op, each.value, each.by, each.where))
            parts += [array * span.changes.weights for (array,) in components]
        order = np.lexsort((span.places, span.groups))
        groups, places = span.groups[order], span.places[order]
        starts = np.flatnonzero((np.diff(groups, prepend=-1) != 0) | (np.diff(places, prepend=-1) != 0))
        return np.add.reduceat(np.stack(parts)[:, order], starts, axis=1), groups[starts], places[starts]

    def _values(self, totals: Ints) -> dict[laid.ColumnSpec, laid.Values]:
        values, at = {}, 1
        for each in self._partials:
            width = layout(each.spec).width
            values[each.spec] = tuple(totals[at : at + width])
            at += width
        return values

    def _make_room(self) -> None:
        more = np.zeros((len(self._totals), len(self._index) - self._totals.shape[1]), np.int64)
        self._totals = np.concatenate((self._totals, more), axis=1)

    def _forget(self) -> None:
        """Groups that have no row, once they are many."""
        if len(self._index) > 2 * len(self) + _FEW:
            there = np.flatnonzero(self._totals[0])
            self._index.keep(there)
            self._totals = self._totals[:, there]


def held_for(keys: Sequence[str], wanted: Sequence[Wanted]) -> HeldRows | HeldSums:
    """As little as these aggregates can be made of."""
    summed = all(each.extra is None and all(map(_is_sum, each.partials)) for each in wanted)
    return HeldSums(keys, wanted) if summed else HeldRows(keys, wanted)


def held_of(store: ChangeStore, span: Span, schema: pa.Schema) -> tuple[Changes, Ints]:
    """What is held of the touched groups, at place 0; and of which group each is."""
    late = np.full(span.count, NEVER - 1)
    found = store.pairs(span.keys, Changes(pa.table({}), late, np.ones(span.count, np.int64)))
    if not len(found):
        return Changes.empty(schema), found.rows
    table = store.take(found.refs, schema.names)
    return Changes(table, np.zeros(len(found), np.int64), found.weights), found.rows


def _is_sum(partial: Aggregate) -> bool:
    return layout(partial.spec).kind is SUM


def _named(table: pa.Table) -> dict[str, pa.Array]:
    return dict(zip(table.column_names, columns_of(table)))
