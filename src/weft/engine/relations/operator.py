"""What an operator of the graph is, and those that hold nothing: they look at one row at a time.

In every step an operator is told what is new of its sources, how far these are complete, and tells what is
new of itself. Lives are told as early as they are known; changes may lie ahead as well, if they are certain.
Nothing that is told later lies before `upto`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from weft.engine.relations.evaluate import Condition, Evaluator, Finisher, schema_of
from weft.engine.relations.matched import Matched
from weft.kernels.relations.tables import NEVER, Changes, Lives
from weft.plan.nodes import Column
from weft.plan.relations import Kept, Made
from weft.times import BEGINNING, Duration, Instant

Told = Lives | Changes
RowsT = TypeVar("RowsT", bound=Lives | Changes)


class Operator(Protocol):
    """One node of the graph."""

    columns: Sequence[Column]

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        """What is new, given what is new of its sources, all of which are complete before `upto`."""

    def failed(self) -> int:
        """How many rows an expression has failed on since this was last asked."""

    def matched(self) -> Iterator[Matched]:
        """How many different keys it has seen."""

    @property
    def rows(self) -> int:
        """How many rows it holds."""

    @property
    def nbytes(self) -> int: ...


class Carried:
    """What operators have in common: columns, and rows that an expression failed on; most hold nothing."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self._failed = 0

    def note(self, failed: int) -> None:
        self._failed += failed

    def failed(self) -> int:
        found, self._failed = self._failed, 0
        return found

    def matched(self) -> Iterator[Matched]:
        yield from ()

    @property
    def rows(self) -> int:
        """How many rows it holds."""
        return 0

    @property
    def nbytes(self) -> int:
        return 0


class Keeping(Carried):
    """The rows for which a condition holds."""

    def __init__(self, relation: Kept, columns: Sequence[Column], finisher: Finisher) -> None:
        super().__init__(columns)
        self._condition = Condition(relation.predicate, columns, finisher)

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        (rows,) = told
        holds, failed = self._condition.run(rows.table, len(rows))
        self.note(0 if failed is None else int(failed.sum()))
        return rows if holds.all() else rows.filter(holds)


class Making(Carried):
    """Other columns of the same rows."""

    def __init__(
        self, relation: Made, below: Sequence[Column], columns: Sequence[Column], finisher: Finisher
    ) -> None:
        super().__init__(columns)
        self._items = Evaluator(relation.items, below, finisher)

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        (rows,) = told
        table, failed = self._items.run(rows.table, len(rows))
        made = over(rows, table)
        if failed is None:
            return made
        self.note(int(failed.sum()))
        return made.filter(~failed)


class Uniting(Carried):
    """The rows of both sources: UNION ALL."""

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        schema = schema_of(self.columns)
        sides = [renamed(each, schema) for each in told]
        if all(isinstance(each, Lives) for each in sides):
            return Lives.concat([each for each in sides if isinstance(each, Lives)])
        return Changes.concat([as_changes(each) for each in sides])


def ends_of(begins: np.ndarray, range_: Duration | None) -> np.ndarray:
    """When rows end that live for `range_`."""
    return np.full(len(begins), NEVER) if range_ is None else begins + range_


def over(rows: RowsT, table: pa.Table) -> RowsT:
    """The same rows with other columns."""
    return replace(rows, table=table)


def as_changes(rows: Told) -> Changes:
    """Both ends of every life; changes as they are."""
    return rows if isinstance(rows, Changes) else rows.changes(BEGINNING, NEVER)


def renamed(rows: RowsT, schema: pa.Schema) -> RowsT:
    """The same rows, columns by position, under the names and types of the schema."""
    if rows.table.schema == schema:
        return rows
    return over(rows, rows.table.rename_columns(schema.names).cast(schema))
