"""From the aggregates of due windows to the rows a query asked for: HAVING, ORDER BY, LIMIT, the SELECT list.

What the kernels can evaluate is evaluated here, on whole columns; a query with an expression outside their
closed set is handed to Spark together with all others of the step, in one job.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from weft.kernels.arrow import whole
from weft.kernels.expressions import Compiled, compile
from weft.kernels.top import top
from weft.lang.statements import Expr, OrderKey
from weft.plan.groupsets import GROUPING_ID, grouping_columns
from weft.plan.nodes import Named, Query
from weft.share.parts import Parts, parts

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Job:
    """Expressions over a table, for Spark: `named` are evaluated over `table`, row by row."""

    table: pa.Table
    named: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """The evaluated columns, in the order of `Job.named`, and for each the rows on which it failed."""

    columns: Sequence[pa.Array]
    failed: Sequence[Mask | None]  # None: on no row


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows of an answer, in its order, and those that are not among them because they failed."""

    rows: Rows | None  # None: all
    failed: Mask | None  # None: no row


@dataclass(frozen=True, slots=True)
class Shape:
    """What is done to the aggregates of one query, compiled once per plan."""

    query: Query
    named: tuple[Named, ...]  # HAVING, the order keys, the items
    having: bool
    order: tuple[OrderKey, ...]
    limit: int | None
    ties: tuple[str, ...]
    needs: frozenset[str]  # the columns of which the answer is made
    compiled: tuple[Compiled, ...] | None  # None: for Spark
    plain: tuple[str, ...] | None  # the columns that the answer is, if it is just those
    has_sets: bool  # the groups of several grouping sets come together
    key_types: tuple[str | None, ...]

    def evaluate(self, table: pa.Table) -> Done:
        """All expressions over the aggregates in `table`, by the kernels."""
        assert self.compiled is not None
        columns = {name: whole(table.column(name)) for name in table.column_names}
        ran = [expression.run(columns) for expression in self.compiled]
        return Done([column for column, _ in ran], [failed for _, failed in ran])

    def table(self, columns: Mapping[str, pa.Array]) -> pa.Table:
        """The answer, if it is just columns of the aggregates."""
        assert self.plain is not None
        return pa.Table.from_arrays([columns[name] for name in self.plain], names=list(self.names))

    def select(self, done: Done, chosen: Chosen) -> pa.Table:
        """The answer that the chosen rows make."""
        answer = pa.table(dict(zip(self.names, done.columns[self._above() :], strict=True)))
        return answer if chosen.rows is None else answer.take(pa.array(chosen.rows))

    def choose(self, table: pa.Table, done: Done, broken: Mask | None) -> Chosen:
        """Which rows the answer is made of. `broken` marks those of which an aggregate itself failed.

        A row that HAVING leaves out, or that is not among the first, fails on nothing that comes after.
        """
        first = self.first(table, done, broken)
        wrong = _any(done.failed[self._above() :])
        if wrong is None:
            return first
        rows = np.arange(table.num_rows) if first.rows is None else first.rows
        failed = np.zeros(table.num_rows, bool) if first.failed is None else first.failed.copy()
        failed[rows[wrong[rows]]] = True
        return Chosen(rows[~wrong[rows]], failed if failed.any() else None)

    def first(self, table: pa.Table, done: Done, broken: Mask | None) -> Chosen:
        """The same as far as HAVING, ORDER BY and LIMIT go, whatever becomes of the SELECT list."""
        masks = [broken, *done.failed[: self._above()]]
        if _any(masks) is None and not self.having and self.limit is None:
            return Chosen(None, None)
        kept = np.ones(table.num_rows, bool)
        failed = np.zeros(table.num_rows, bool)
        for at, mask in enumerate(masks):
            if mask is not None:
                failed |= kept & mask
                kept &= ~mask
            if self.having and at == 1:
                kept &= _true(done.columns[0])
        rows = np.flatnonzero(kept)
        if self.limit is not None:
            order = list(done.columns[int(self.having) : self._above()])
            rows = rows[self._first(table, order, rows, self.limit)]
        elif len(rows) == table.num_rows:
            return Chosen(None, None)
        return Chosen(rows, failed if failed.any() else None)

    def _first(self, table: pa.Table, order: list[pa.Array], rows: Rows, limit: int) -> Rows:
        at = pa.array(rows)
        window = table.column("window_end").take(at).cast(pa.int64()).to_numpy()
        keys = [(column.take(at), key.descending, key.nulls_first) for column, key in zip(order, self.order)]
        ties = [whole(table.column(name).take(at)) for name in self.ties]
        return top(window, keys, ties, limit)

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns of the answer are called."""
        return tuple(named.name for named in self.named[self._above() :])

    def _above(self) -> int:
        """Where the SELECT list begins among all expressions."""
        return int(self.having) + len(self.order)


def shape(query: Query) -> Shape:
    """How the answers of `query` are made of its aggregates."""
    taken = parts(query)
    order = taken.top.order if taken.top else ()
    named = [Named("_having", taken.having, "boolean")] if taken.having else []
    named += [Named(f"_order{at}", key.expr, None) for at, key in enumerate(order)]
    named += taken.items
    assert taken.aggregate is not None
    ties = tuple(key.name for key in taken.aggregate.keys)
    ties += (GROUPING_ID,) if taken.aggregate.sets else ()
    needs = {column.name for item in named for column in item.expr.tree.find_all(exp.Column)}
    if taken.top is not None or not needs:  # a table of no columns has no rows either
        needs |= {"window_end", *ties}
    compiled = _compile([item.expr for item in named], column_types(taken))
    above = taken.having is not None or taken.top is not None
    columns = [expression.column for expression in compiled or ()]
    return Shape(
        query=query,
        named=tuple(named),
        having=taken.having is not None,
        order=order,
        limit=taken.top.limit if taken.top else None,
        ties=ties,
        needs=frozenset(needs),
        compiled=compiled,
        plain=tuple(name for name in columns if name) if columns and all(columns) and not above else None,
        has_sets=bool(taken.aggregate.sets),
        key_types=tuple(key.type for key in taken.aggregate.keys),
    )


def column_types(taken: Parts) -> dict[str, str]:
    """The types of the columns that expressions above the aggregate may speak of."""
    assert taken.aggregate is not None
    types = {"window_start": "timestamp", "window_end": "timestamp"}
    types |= {key.name: key.type for key in taken.aggregate.keys if key.type}
    types |= {call.name: call.type for call in taken.aggregate.aggregations if call.type}
    return types | {column.name: column.type for column in grouping_columns(taken.aggregate) if column.type}


def _compile(expressions: list[Expr], types: dict[str, str]) -> tuple[Compiled, ...] | None:
    made = []
    for expression in expressions:
        compiled = compile(expression.tree, types)
        if compiled is None:
            return None
        made.append(compiled)
    return tuple(made)


def _any(masks: Sequence[Mask | None]) -> Mask | None:
    """The rows that any mask marks; None where there are none."""
    found = [mask for mask in masks if mask is not None and mask.any()]
    return np.logical_or.reduce(found) if found else None


def _true(column: pa.Array) -> Mask:
    """Where a condition holds."""
    mask: Mask = column.cast(pa.bool_()).fill_null(False).to_numpy(zero_copy_only=False)  # NULL has no type
    return mask
