"""Expressions over the rows of a relation: by the kernels where they know them, else by Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
from sqlglot import exp

from weft.engine.shape import Done, Job, Mask
from weft.errors import Bug
from weft.kernels.arrow import arrow_type, whole
from weft.kernels.expressions import Compiled, compile
from weft.kernels.values import constant
from weft.lang.statements import Expr
from weft.plan.nodes import Column, Named

Finisher = Callable[[Sequence[Job]], Sequence[Done]]


class OnlySpark(Exception):
    """There is no Spark, and the kernels do not know this expression."""


def without_spark(jobs: Sequence[Job]) -> Sequence[Done]:
    """The finisher where there is no Spark: nobody may need it."""
    raise Bug("no-spark", f"only Spark can evaluate {[item.expr.sql for job in jobs for item in job.named]}")


_null = Compiled("boolean", lambda _, count: constant(None, "boolean", count))


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """The columns of a relation as Arrow knows them."""
    return pa.schema([(column.name, arrow_type(column.type)) for column in columns])


class Evaluator:
    """Some expressions over a relation's columns; `failed` are rows on which one of them failed, so far."""

    def __init__(self, named: Sequence[Named], columns: Sequence[Column], finisher: Finisher) -> None:
        self.named, self._columns, self._finisher = tuple(named), tuple(columns), finisher
        self.schema = pa.schema([(item.name, arrow_type(item.type)) for item in named])
        types = {column.name: column.type for column in columns if column.type is not None}
        self._compiled = [
            _null if _is_null(item.expr.tree) else compile(item.expr.tree, types) for item in named
        ]
        if finisher is without_spark and None in self._compiled:
            unknown = [item for item, how in zip(named, self._compiled, strict=True) if how is None]
            raise OnlySpark(", ".join(item.expr.sql for item in unknown))

    def __reduce__(self) -> tuple[Callable[..., Evaluator], tuple[object, ...]]:
        """As what it was made from: whoever has it in another process compiles it once."""
        return _known, (self.named, self._columns, self._finisher)

    def run(self, table: pa.Table, count: int) -> tuple[pa.Table, Mask | None]:
        """The values in every row, and the rows on which one of them fails (None: on none)."""
        if not self.named or not count:
            return self.schema.empty_table(), None
        done = self._evaluate(table, count)
        failed = [mask for mask in done.failed if mask is not None and mask.any()]
        columns = [_as(column, field.type) for column, field in zip(done.columns, self.schema, strict=True)]
        made = pa.table(columns, names=self.schema.names)
        return made, np.logical_or.reduce(failed) if failed else None

    def _evaluate(self, table: pa.Table, count: int) -> Done:
        if any(each is None for each in self._compiled):
            (done,) = self._finisher([Job(_counted(table, count), self.named)])
            return done
        columns: Mapping[str, pa.Array] = {
            name: whole(table.column(name)) for name in table.column_names
        } or {"": pa.nulls(count)}
        ran = [each.run(columns) for each in self._compiled if isinstance(each, Compiled)]
        return Done([column for column, _ in ran], [failed for _, failed in ran])


@lru_cache(maxsize=4096)
def _known(named: tuple[Named, ...], columns: tuple[Column, ...], finisher: Finisher) -> Evaluator:
    return Evaluator(named, columns, finisher)


class Condition:
    """A condition over a relation's columns."""

    def __init__(self, predicate: Expr, columns: Sequence[Column], finisher: Finisher) -> None:
        self._value = Evaluator([Named("_holds", predicate, "boolean")], columns, finisher)

    def run(self, table: pa.Table, count: int) -> tuple[Mask, Mask | None]:
        """Where it holds, and where it fails."""
        made, failed = self._value.run(table, count)
        if not count:
            return np.zeros(0, bool), None
        holds: Mask = whole(made.column(0)).fill_null(False).to_numpy(zero_copy_only=False)
        return holds if failed is None else holds & ~failed, failed


def _is_null(tree: exp.Expr) -> bool:
    """A null of whatever type: its column has a type anyway."""
    return isinstance(tree.this if isinstance(tree, exp.Cast) else tree, exp.Null)


def _as(column: pa.Array, type_: pa.DataType) -> pa.Array:
    found = whole(column)
    if type_ == pa.null():
        return found
    if found.null_count == len(found):
        return pa.nulls(len(found), type_)
    return found if found.type == type_ else found.cast(type_)


def _counted(table: pa.Table, count: int) -> pa.Table:
    """A table that has as many rows as it should, even if none of its columns are needed."""
    return table if table.num_columns else pa.table({"_row": pa.nulls(count, pa.int8())})
