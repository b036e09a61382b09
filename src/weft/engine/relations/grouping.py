"""GROUP BY of a relation: as of each slide, or for as long as what a group amounts to stays the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from weft.engine.relations.amounts import TIME, Wants
from weft.engine.relations.calendar import Calendar
from weft.engine.relations.evaluate import Evaluator, Finisher, schema_of
from weft.engine.relations.looking import Seeing
from weft.engine.relations.operator import Carried, Told, as_changes, over
from weft.engine.shape import Mask
from weft.errors import Bug
from weft.kernels.arrow import whole
from weft.kernels.combine import Ints
from weft.kernels.groups import GroupIndex
from weft.kernels.relations.amounts import amounts
from weft.kernels.relations.grouped import Grouping
from weft.kernels.relations.tables import NEVER, Changes, Lives
from weft.plan.nodes import Column
from weft.plan.relations import AsOf, Grouped
from weft.plan.relationtree import columns, reach_back
from weft.times import Instant


class Keyed:
    """Keys and what the aggregates are about, of every row: without those on which that fails."""

    def __init__(self, relation: Grouped, finisher: Finisher) -> None:
        below = columns(relation.source.source if isinstance(relation.source, AsOf) else relation.source)
        self._keys = Evaluator(relation.keys, below, finisher)
        self.wants = Wants(relation.aggregations, below, finisher)

    @property
    def names(self) -> list[str]:
        return [key.name for key in self._keys.named]

    def run(
        self, table: pa.Table, rows: int, begins: Ints | None
    ) -> tuple[list[pa.Array], dict[str, pa.Array], Mask | None]:
        """The keys, the columns of the aggregates, and where one of them fails."""
        keys, wrong = self._keys.run(table, rows)
        values, failed = self.wants.columns(table, rows, begins)
        bad = [mask for mask in (wrong, failed) if mask is not None]
        return [whole(each) for each in keys.columns], values, np.logical_or.reduce(bad) if bad else None


class GroupingAsOf(Carried):
    """The groups of what is there as of each slide, and what they amount to."""

    def __init__(self, relation: Grouped, finisher: Finisher) -> None:
        super().__init__(columns(relation))
        assert isinstance(relation.source, AsOf)
        self._schema = schema_of(self.columns)
        self._source = Seeing(relation.source)
        self._keyed = Keyed(relation, finisher)

    def begin(self, first: Instant) -> None:
        self._source.begin(first)

    def end(self, latest: Mapping[str, Instant]) -> None:
        self._source.end(latest)

    @property
    def rows(self) -> int:
        return self._source.rows

    @property
    def nbytes(self) -> int:
        return self._source.nbytes

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        seen, beat = self._source.seen(told[0], upto), self._source.beat
        if not len(seen):
            return Lives.empty(self._schema)
        keys, values, failed = self._keyed.run(seen.lives.table, len(seen), seen.lives.begins)
        if failed is not None:
            self.note(int(failed.sum()))
            good = np.flatnonzero(~failed)
            keys, seen = [key.take(pa.array(good)) for key in keys], seen.take(good)
            values = {name: column.take(pa.array(good)) for name, column in values.items()}
        index = GroupIndex(len(keys))
        groups = index.add(keys, len(seen))
        base = int(seen.first.min(initial=NEVER))
        firsts = (seen.first - base) // beat.slide
        made = amounts(values, groups, firsts, firsts + seen.counts, self._keyed.wants.wanted)
        which, instants = made.stretches.expand()
        ends = base + instants * beat.slide
        found = [column.take(pa.array(which)) for column in made.columns.values()]
        told_columns = [*beat.windows(ends), *index.take(made.stretches.groups[which]), *found]
        answers = Lives(pa.table(told_columns, names=self._schema.names).cast(self._schema), ends - 1, ends)
        return answers if made.failed is None else self._without(answers, made.failed[which])

    def _without(self, answers: Lives, failed: Mask) -> Lives:
        self.note(int(failed.sum()))
        return answers.filter(~failed)


class GroupingAlways(Carried):
    """The groups as of every instant: each row of a group replaces the one before."""

    def __init__(self, relation: Grouped, finisher: Finisher) -> None:
        super().__init__(columns(relation))
        self._schema = schema_of(self.columns)
        self._keyed = Keyed(relation, finisher)
        self._groups = Grouping(self._keyed.names, self._keyed.wants.wanted)
        below = columns(relation.source)
        if self._keyed.wants.needs_time:
            below = (*below, Column(TIME, "bigint"))
        self._later = Calendar(schema_of(below), reach_back(relation))

    @property
    def rows(self) -> int:
        return len(self._groups)

    @property
    def nbytes(self) -> int:
        return self._groups.nbytes + self._later.nbytes

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        self._later.put(as_changes(self._timed(told[0])))
        due = self._later.take(upto)
        begins = whole(due.table.column(TIME)).to_numpy() if self._keyed.wants.needs_time else None
        keys, values, failed = self._keyed.run(due.table, len(due), begins)
        named = dict(zip(self._keyed.names, keys, strict=True))
        rows = Changes(pa.table(named | values), due.times, due.weights)
        if failed is not None:
            self.note(int(failed.sum()))
            rows = rows.filter(~failed)
        made, wrong = self._groups.step(rows, upto)
        self.note(len(wrong))
        return Changes(made.table.select(self._schema.names).cast(self._schema), made.times, made.weights)

    def _timed(self, rows: Told) -> Told:
        """With a column of when each row began, if an aggregate goes by that."""
        if not self._keyed.wants.needs_time:
            return rows
        if not isinstance(rows, Lives):
            raise Bug(
                "no-begin", "FIRST and LAST go by when rows began, which is not known of rows that change"
            )
        return over(rows, rows.table.append_column(TIME, pa.array(rows.begins)))
