"""The rows of a source as level 1 needs them, evaluated on whole columns: what `rows_sql` asks Spark for.

    columns as read ─► conditions, signatures ─► event time, slice or status ─► keys, arguments, guards

Only where the kernels know every expression of the plan; `compile_scan` raises `Unsuited` for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from weft.engine.ingest import AHEAD, CELL, NO_TIME, UNWANTED
from weft.kernels.arrow import array_of, whole
from weft.kernels.expressions import Compiled, compile
from weft.kernels.signatures import signatures
from weft.lang.expressions import expr
from weft.lang.statements import Expr
from weft.share.nodes import Edges, StreamPlan
from weft.share.parts import conjuncts
from weft.share.rowcolumns import row_columns
from weft.share.signatures import COLUMN, by_columns, signatures_in
from weft.times import Instant

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

_FLOATS = ("float", "double")


class Unsuited(Exception):
    """What is to be read is not what the kernels can take; Spark can."""


@dataclass(frozen=True, slots=True)
class Argument:
    """The argument of partials, needed where any of `wheres` (positions) is true; None: everywhere."""

    value: Compiled
    type: str | None
    wheres: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Filtered:
    """A standing filter."""

    where: Compiled | None
    items: tuple[Compiled, ...]


@dataclass(frozen=True, slots=True)
class RowScan:
    """All expressions of a plan, compiled."""

    columns: dict[str, str]  # that are read, and their types
    time: str
    edges: Edges | None  # None: no aggregate query reads the stream
    ahead: int | None
    wanted: Compiled | None
    keys: tuple[tuple[Compiled, str | None], ...]
    conjuncts: tuple[Compiled, ...]  # of all predicates and signatures, each once
    signatures: tuple[tuple[int, ...], ...]  # of each signature its conjuncts (positions)
    wheres: tuple[tuple[int, ...], ...]  # of each predicate its conjuncts (positions)
    values: tuple[Argument, ...]
    guards: tuple[Compiled, ...]
    standing: tuple[Filtered, ...]

    def rows(self, source: pa.Table, now: Instant | None) -> pa.Table:
        """`status, slice, time, g<i>, w<i>, v<i>, e<i>, q<i>, s<i>_<j>` of the rows in `source`."""
        columns = {name: whole(source.column(name)) for name in source.column_names}
        held = [_run(conjunct, columns) for conjunct in self.conjuncts]
        columns |= self._signatures(held, source.num_rows)
        time = columns[self.time].cast(pa.int64())
        status = self._status(columns, time, now)
        cell, valid = status == CELL, status <= UNWANTED
        made = {"status": array_of(status), "slice": self._slices(time, cell), "time": time}
        for at, (key, type_) in enumerate(self.keys):
            made[f"g{at}"] = _where(cell, _one_zero(_run(key, columns), type_))
        for at, where in enumerate(self.wheres):
            made[f"w{at}"] = reduce(pc.and_kleene, [held[each] for each in where])
        for at, value in enumerate(self.values):
            made[f"v{at}"] = self._argument(value, columns, made)
        for at, guard in enumerate(self.guards):
            made[f"e{at}"] = pa.array(valid & _true(_run(guard, columns)))
        for at, filtered in enumerate(self.standing):
            wants = valid if filtered.where is None else valid & _true(_run(filtered.where, columns))
            made[f"q{at}"] = pa.array(wants)
            made |= {f"s{at}_{i}": _run(item, columns, wants) for i, item in enumerate(filtered.items)}
        return pa.table(made)

    def _signatures(self, held: list[pa.Array], rows: int) -> dict[str, pa.Array]:
        """The columns of signatures, from conditions that have been evaluated, each once."""
        return {
            f"{COLUMN}{at}": pa.array(signatures([_true(held[each]) for each in bits], rows))
            for at, bits in enumerate(self.signatures)
        }

    def _status(
        self, columns: dict[str, pa.Array], time: pa.Array, now: Instant | None
    ) -> npt.NDArray[np.int32]:
        status = np.full(len(time), CELL if self.edges is not None else UNWANTED, np.int32)
        if self.wanted is not None:
            status[~_true(_run(self.wanted, columns))] = UNWANTED
        if now is not None and self.ahead is not None:
            status[_true(pc.greater(time, now + self.ahead))] = AHEAD
        if time.null_count:
            status[time.is_null().to_numpy(zero_copy_only=False)] = NO_TIME
        return status

    def _slices(self, time: pa.Array, cell: Bools) -> pa.Array:
        if self.edges is None:
            return pa.nulls(len(time), pa.int64())
        at = time.fill_null(0).to_numpy() if time.null_count else time.to_numpy()
        return array_of(slice_starts(self.edges, at), cell)

    def _argument(
        self, argument: Argument, columns: dict[str, pa.Array], made: dict[str, pa.Array]
    ) -> pa.Array:
        needed: Bools | None = None
        if argument.wheres is not None and argument.value.column is None:  # a bare column cannot fail
            needed = np.logical_or.reduce([_true(made[f"w{at}"]) for at in argument.wheres])
        return _one_zero(_run(argument.value, columns, needed), argument.type)


def slice_starts(edges: Edges, time: Ints) -> Ints:
    """The last edge at or before each time."""
    if edges.grain is not None:
        return time - time % edges.grain
    starts = [time - (time - phase) % slide for slide, phase in edges.pairs]
    found: Ints = np.maximum.reduce(starts)
    return found


def compile_scan(plan: StreamPlan) -> RowScan:
    """The plan over columns as they are read; raises `Unsuited` where Spark must evaluate some of it."""
    types = {column.name: column.type for column in plan.stream.columns if column.type is not None}
    computed = {column.name for column in plan.stream.statement.columns if column.expr is not None}
    time = plan.stream.statement.time_column
    read = dict.fromkeys([*plan.columns, time])
    if computed & set(read) or not set(read) <= set(types) or types[time] != "timestamp":
        raise Unsuited("columns are computed, or its event time is no TIMESTAMP")
    texts = {expr.sql: expr for expr in _expressions(plan)}

    signed = signatures_in(plan)
    with_signatures = types | {f"{COLUMN}{at}": "bigint" for at in range(len(signed))}

    def made(sql: str) -> Compiled:
        compiled = compile(by_columns(texts[sql], signed).tree, with_signatures)
        if compiled is None:
            raise Unsuited(f"only Spark can evaluate {sql}")
        return compiled

    columns = row_columns(plan)
    parts = {where: conjuncts(texts[where]) for where in columns.wheres}
    parts |= {one.key.sql: [expr(bit) for bit in one.key.tree.expressions] for one in signed}
    texts |= {part.sql: part for each in parts.values() for part in each}
    distinct = {
        text: at for at, text in enumerate(dict.fromkeys(p.sql for each in parts.values() for p in each))
    }

    def places(sql: str) -> tuple[int, ...]:
        return tuple(distinct[part.sql] for part in parts[sql])

    return RowScan(
        columns={name: types[name] for name in read},
        time=time,
        edges=plan.edges if plan.roots else None,
        ahead=plan.stream.statement.max_ahead,
        wanted=made(plan.wanted.sql) if plan.wanted is not None and plan.roots else None,
        keys=tuple((made(key), type_) for key, type_ in zip(columns.keys, columns.key_types)),
        conjuncts=tuple(made(part) for part in distinct),
        signatures=tuple(places(one.key.sql) for one in signed),
        wheres=tuple(places(where) for where in columns.wheres),
        values=tuple(
            Argument(
                made(value.sql),
                value.type,
                None if value.wheres is None else tuple(columns.wheres.index(w) for w in value.wheres),
            )
            for value in columns.values
        ),
        guards=tuple(made(guard.fails.sql) for guard in plan.guards),
        standing=tuple(
            Filtered(
                None if one.where is None else made(one.where.sql),
                tuple(made(item.expr.sql) for item in one.items),
            )
            for one in plan.passing
        ),
    )


def _expressions(plan: StreamPlan) -> Iterator[Expr]:
    """All that level 1 evaluates."""
    for root in plan.roots:
        feed = plan.feeds[root]
        yield from feed.keys
        for partial in feed.partials:
            yield from (part for part in (partial.arg, partial.by, partial.where) if part is not None)
    yield from (guard.fails for guard in plan.guards)
    for passing in plan.passing:
        yield from (item.expr for item in passing.items)
        if passing.where is not None:
            yield passing.where
    if plan.wanted is not None:
        yield plan.wanted


def _run(expression: Compiled, columns: dict[str, pa.Array], needed: Bools | None = None) -> pa.Array:
    """Its value in every row, null where it is not needed."""
    value, failed = expression.run(columns)
    if failed is not None and (failed if needed is None else failed & needed).any():
        raise Unsuited("an expression fails")  # Spark finds out on which row, and what to do about it
    return value if needed is None else _where(needed, value)


def _where(kept: Bools, value: pa.Array) -> pa.Array:
    return value if kept.all() else pc.if_else(pa.array(kept), value, pa.scalar(None, value.type))


def _one_zero(value: pa.Array, type_: str | None) -> pa.Array:
    """-0.0 and 0.0 are one value, and must be one bit pattern."""
    return pc.add(value, pa.scalar(0.0, value.type)) if type_ in _FLOATS else value


def _true(condition: pa.Array) -> Bools:
    held: Bools = condition.fill_null(False).to_numpy(zero_copy_only=False)
    return held
