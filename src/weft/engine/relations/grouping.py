"""GROUP BY of a relation, as of each slide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.engine.relations.amounts import Amounts, Cover
from weft.engine.relations.evaluate import Evaluator, Finisher, schema_of
from weft.engine.relations.looking import Seeing, Seen
from weft.engine.relations.operator import Stateless, Told
from weft.engine.shape import Mask
from weft.kernels.arrow import whole
from weft.kernels.groups import GroupIndex
from weft.kernels.relations.tables import NEVER, Lives
from weft.plan.relations import AsOf, Grouped
from weft.plan.relationtree import columns
from weft.times import Instant


class GroupingAsOf(Stateless):
    """The groups of what is there as of each slide, and what they amount to."""

    def __init__(self, relation: Grouped, finisher: Finisher) -> None:
        super().__init__(columns(relation))
        assert isinstance(relation.source, AsOf)
        self._schema = schema_of(self.columns)
        self._source = Seeing(relation.source)
        self._keys = Evaluator(relation.keys, self._source.columns, finisher)
        self._amounts = Amounts(relation.aggregations, self._source.columns, finisher)

    @property
    def rows(self) -> int:  # type: ignore[override]
        return self._source.rows

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return self._source.nbytes

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        seen, beat = self._source.seen(told[0], upto), self._source.beat
        if not len(seen):
            return Lives.empty(self._schema)
        keys, values, seen = self._evaluated(seen)
        index = GroupIndex(len(self._keys.named))
        groups = index.add(keys, len(seen))
        base = int(seen.first.min(initial=NEVER))
        firsts = (seen.first - base) // beat.slide
        made = self._amounts.stretches(values, Cover(groups, firsts, firsts + seen.counts))
        amounts, overflown = self._amounts.finish(made.values)
        which, instants = made.expand()
        ends = base + instants * beat.slide
        amounts = [each.take(pa.array(which)) for each in amounts]
        told_columns = [*beat.windows(ends), *index.take(made.groups[which]), *amounts]
        answers = Lives(pa.table(told_columns, names=self._schema.names).cast(self._schema), ends - 1, ends)
        return answers if overflown is None else self._without(answers, overflown[which])

    def _evaluated(self, seen: Seen) -> tuple[list[pa.Array], dict[str, pa.Array], Seen]:
        """The keys of all rows, what the aggregates are about, and the rows, without those that fail."""
        table = seen.lives.table
        keys, wrong = self._keys.run(table, len(seen))
        values, failed = self._amounts.columns(table, seen.lives.begins)
        columns = [whole(column) for column in keys.columns]
        bad = [mask for mask in (wrong, failed) if mask is not None]
        if not bad:
            return columns, values, seen
        good = np.flatnonzero(~np.logical_or.reduce(bad))
        self.note(len(seen) - len(good))
        at = pa.array(good)
        taken = {name: column.take(at) for name, column in values.items()}
        return [column.take(at) for column in columns], taken, seen.take(good)

    def _without(self, answers: Lives, failed: Mask) -> Lives:
        self.note(int(failed.sum()))
        return answers.filter(~failed)
