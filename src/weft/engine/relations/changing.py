"""Pairs of rows that change, and rows that are there because of others, or because there are none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from weft.engine.relations.calendar import Calendar
from weft.engine.relations.evaluate import Condition, Evaluator, Finisher, schema_of
from weft.engine.relations.matched import Matched, matched
from weft.engine.relations.operator import Carried, Told, as_changes, over
from weft.engine.relations.pairing import side_by_side
from weft.kernels.relations.changes import ChangeStore, Products, consolidate
from weft.kernels.relations.counted import Counting, anti, distinct, semi
from weft.kernels.relations.tables import Changes, take
from weft.lang.expressions import expr
from weft.plan.nodes import Column, Named
from weft.plan.relations import Paired, Relation, Whether
from weft.plan.relationtree import columns, reach_back
from weft.plan.scope import column
from weft.share.relations.flows import names
from weft.share.relations.matching import Matching, matching
from weft.times import Instant


class Waiting:
    """A source whose rows are looked at once nothing before them can change any more."""

    def __init__(self, relation: Relation) -> None:
        self.columns = columns(relation)
        self._later = Calendar(schema_of(self.columns), reach_back(relation))

    def due(self, rows: Told, upto: Instant) -> Changes:
        self._later.put(as_changes(rows))
        return self._later.take(upto)

    @property
    def nbytes(self) -> int:
        return self._later.nbytes


class Meeting:
    """The pairs that changes of two sides make: those of the condition that they match on."""

    def __init__(
        self, match: Matching, left: Sequence[Column], right: Sequence[Column], finisher: Finisher
    ) -> None:
        self._schemas = schema_of(left), schema_of(right)
        self._names = self._schemas[0].names, self._schemas[1].names
        self._keys = Evaluator(match.left, left, finisher), Evaluator(match.right, right, finisher)
        self._stores = (
            ChangeStore(len(match.left), schema=self._schemas[0]),
            ChangeStore(len(match.right), schema=self._schemas[1]),
        )
        both = (*left, *right)
        self._schema = schema_of(both)
        self._rest = None if match.rest is None else Condition(match.rest, both, finisher)
        self.failed = 0

    @property
    def keys(self) -> tuple[int, int]:
        """How many different keys either side has."""
        return self._stores[0].keys, self._stores[1].keys

    @property
    def rows(self) -> int:
        return len(self._stores[0]) + len(self._stores[1])

    @property
    def nbytes(self) -> int:
        return self._stores[0].nbytes + self._stores[1].nbytes

    def step(self, left: Changes, right: Changes, upto: Instant) -> Changes:
        """The changes of all pairs in a span that ends with `upto`; spans follow one another."""
        left_keys = list(self._keys[0].run(left.table, len(left))[0].columns)
        right_keys = list(self._keys[1].run(right.table, len(right))[0].columns)
        held_left, held_right = self._stores
        held_right.add(right_keys, right)
        found = held_right.pairs(left_keys, left)
        theirs = held_right.take(found.refs, self._names[1])
        made = [self._pairs(take(left.table, found.rows), theirs, found)]
        found = held_left.pairs(right_keys, right)
        theirs = held_left.take(found.refs, self._names[0])
        made.append(self._pairs(theirs, take(right.table, found.rows), found))
        held_left.add(left_keys, left)
        for store in self._stores:
            store.settle(upto)
        return Changes.concat(made)

    def _pairs(self, left: pa.Table, right: pa.Table, found: Products) -> Changes:
        table = side_by_side(left, right, self._schema)
        pairs = Changes(table, found.times, found.weights)
        if self._rest is None:
            return pairs
        holds, failed = self._rest.run(table, len(pairs))
        self.failed += 0 if failed is None else int(failed.sum())
        return pairs.filter(holds)


class PairingChanges(Carried):
    """Pairs of rows of which one side at least may be taken back."""

    def __init__(self, relation: Paired, finisher: Finisher) -> None:
        super().__init__(columns(relation))
        self._left, self._right = Waiting(relation.left), Waiting(relation.right)
        self._relation = relation
        match = self._match = matching(relation.on, self._left.columns, self._right.columns)
        self._pairs = Meeting(match, self._left.columns, self._right.columns, finisher)

    def matched(self) -> Iterator[Matched]:
        left, right = self._pairs.keys
        yield from matched(names(self._match.left), self._relation.left, left)
        yield from matched(names(self._match.right), self._relation.right, right)

    @property
    def rows(self) -> int:
        return self._pairs.rows

    @property
    def nbytes(self) -> int:
        return self._pairs.nbytes + self._left.nbytes + self._right.nbytes

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        left, right = self._left.due(told[0], upto), self._right.due(told[1], upto)
        made = self._pairs.step(left, right, upto)
        self.note(self._pairs.failed)
        self._pairs.failed = 0
        return made


class Checking(Carried):
    """Rows while there is a match on the other side, or while there is none.

    Every different row is paired with the other side; its pairs are counted beside the row itself. Where only
    keys must be equal, the other side is its different keys.
    """

    def __init__(self, relation: Whether, finisher: Finisher) -> None:
        super().__init__(columns(relation))
        self._schema = schema_of(self.columns)
        self._source, self._other = Waiting(relation.source), Waiting(relation.other)
        self._relation = relation
        match = self._match = matching(relation.on, self.columns, self._other.columns)
        others: Sequence[Column] = self._other.columns
        self._different: Evaluator | None = None
        if match.rest is None:
            self._different = Evaluator(match.right, others, finisher)
            self._keys = Counting(distinct, len(match.right))
            others = [Column(key.name, key.type) for key in match.right]
            match = Matching(match.left, tuple(map(_itself, match.right)), None)
        self._there = Counting(distinct, len(self.columns))
        self._pairs = Meeting(match, self.columns, others, finisher)
        self._counts = Counting(anti if relation.negated else semi, len(self.columns))

    def matched(self) -> Iterator[Matched]:
        source, other = self._pairs.keys
        yield from matched(names(self._match.left), self._relation.source, source)
        yield from matched(names(self._match.right), self._relation.other, other)

    @property
    def rows(self) -> int:
        return len(self._counts) + self._pairs.rows

    @property
    def nbytes(self) -> int:
        parts = (self._counts, self._there, self._pairs, self._source, self._other)
        return sum(part.nbytes for part in parts)

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        rows, others = self._source.due(told[0], upto), self._other.due(told[1], upto)
        if self._different is not None:
            keys, _ = self._different.run(others.table, len(others))
            others = self._keys.step(over(others, keys))
        pairs = self._pairs.step(self._there.step(rows), others, upto)
        self.note(self._pairs.failed)
        self._pairs.failed = 0
        matches = over(pairs, pairs.table.select(self._schema.names))
        return self._counts.step(consolidate(rows), matches)


def _itself(key: Named) -> Named:
    return Named(key.name, expr(column(key.name)), key.type)
