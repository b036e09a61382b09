"""From the aggregates of due windows to the rows a query asked for: HAVING, ORDER BY, LIMIT, the SELECT list.

What the kernels can evaluate is evaluated here, on whole columns; a query with an expression outside their
closed set is handed to Spark together with all others of the step, in one job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from weft.kernels.arrow import whole
from weft.kernels.expressions import Compiled, compile
from weft.kernels.top import top
from weft.lang.statements import Expr, OrderKey
from weft.plan.nodes import Named, Query
from weft.share.parts import Parts, parts

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Job:
    """Expressions over a table, for Spark: `named` are evaluated over `table`, row by row."""

    table: pa.Table
    named: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """The evaluated columns, in the order of `Job.named`, and the rows on which one of them failed."""

    columns: Sequence[pa.Array]
    failed: Mask | None


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

    def evaluate(self, table: pa.Table) -> Done:
        """All expressions over the aggregates in `table`, by the kernels."""
        assert self.compiled is not None
        columns = {name: whole(table.column(name)) for name in table.column_names}
        made, failed = [], None
        for expression in self.compiled:
            column, wrong = expression.run(columns)
            made.append(column)
            failed = _either(failed, wrong)
        return Done(made, failed)

    def select(self, table: pa.Table, done: Done) -> pa.Table:
        """The rows of the answer: those on which no expression failed."""
        items = done.columns[len(done.columns) - self._items() :]
        answer = pa.table(dict(zip(self._names(), items, strict=True)))
        rows = self.rows(table, done)
        return answer if rows is None else answer.take(pa.array(rows))

    def rows(self, table: pa.Table, done: Done) -> npt.NDArray[np.int64] | None:
        """Which rows the answer is made of; None: all."""
        if done.failed is None and not self.having and self.limit is None:
            return None
        kept = np.ones(table.num_rows, bool) if done.failed is None else ~done.failed
        if self.having:
            held = done.columns[0]
            kept &= held.cast(pa.bool_()).fill_null(False).to_numpy(zero_copy_only=False)  # NULL has no type
        rows = np.flatnonzero(kept)
        if self.limit is not None:
            order = list(done.columns[int(self.having) : int(self.having) + len(self.order)])
            return rows[self._first(table, order, rows, self.limit)]
        return None if len(rows) == table.num_rows else rows

    def _first(
        self, table: pa.Table, order: list[pa.Array], rows: npt.NDArray[np.int64], limit: int
    ) -> npt.NDArray[np.int64]:
        at = pa.array(rows)
        window = table.column("window_end").take(at).cast(pa.int64()).to_numpy()
        keys = [(column.take(at), key.descending, key.nulls_first) for column, key in zip(order, self.order)]
        ties = [whole(table.column(name).take(at)) for name in self.ties]
        return top(window, keys, ties, limit)

    def _names(self) -> list[str]:
        return [named.name for named in self.named[len(self.named) - self._items() :]]

    def _items(self) -> int:
        return len(self.named) - len(self.order) - self.having


def shape(query: Query) -> Shape:
    """How the answers of `query` are made of its aggregates."""
    taken = parts(query)
    order = taken.top.order if taken.top else ()
    named = [Named("_having", taken.having, "boolean")] if taken.having else []
    named += [Named(f"_order{at}", key.expr, None) for at, key in enumerate(order)]
    named += taken.items
    assert taken.aggregate is not None
    ties = tuple(key.name for key in taken.aggregate.keys)
    needs = {column.name for item in named for column in item.expr.tree.find_all(exp.Column)}
    if taken.top is not None or not needs:  # a table of no columns has no rows either
        needs |= {"window_end", *ties}
    return Shape(
        query=query,
        named=tuple(named),
        having=taken.having is not None,
        order=order,
        limit=taken.top.limit if taken.top else None,
        ties=ties,
        needs=frozenset(needs),
        compiled=_compile([item.expr for item in named], column_types(taken)),
    )


def column_types(taken: Parts) -> dict[str, str]:
    """The types of the columns that expressions above the aggregate may speak of."""
    assert taken.aggregate is not None
    types = {"window_start": "timestamp", "window_end": "timestamp"}
    types |= {key.name: key.type for key in taken.aggregate.keys if key.type}
    return types | {call.name: call.type for call in taken.aggregate.aggregations if call.type}


def _compile(expressions: list[Expr], types: dict[str, str]) -> tuple[Compiled, ...] | None:
    made = []
    for expression in expressions:
        compiled = compile(expression.tree, types)
        if compiled is None:
            return None
        made.append(compiled)
    return tuple(made)


def _either(left: Mask | None, right: Mask | None) -> Mask | None:
    if left is None or right is None:
        return right if left is None else left
    return left | right
