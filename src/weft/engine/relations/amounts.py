"""What groups of rows amount to: the aggregates of a relation, from rows with lives to finished columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.engine.ingest import spec
from weft.engine.relations.evaluate import Evaluator, Finisher
from weft.engine.shape import Mask
from weft.errors import Bug
from weft.kernels.arrow import whole
from weft.kernels.columns import ColumnSpec, Values
from weft.kernels.combine import Ints
from weft.kernels.finals import finish
from weft.kernels.groups import GroupIndex
from weft.kernels.relations.asof import Aggregate, Stretches, aggregate
from weft.lang.statements import Expr
from weft.plan.nodes import Aggregation, Column, Named
from weft.share.nodes import Op, Partial
from weft.share.partials import recipe

TIME = "time"  # when a row began, by which FIRST and LAST go
_COUNTED = ("count_distinct", "approx_count_distinct")  # of different values, both exactly


@dataclass(frozen=True, slots=True)
class Cover:
    """Rows: the group of each, and the instants [first, behind) that it covers."""

    groups: Ints
    firsts: Ints
    behinds: Ints

    def aggregate(self, columns: Mapping[str, pa.Array], wanted: Sequence[Aggregate]) -> Stretches:
        return aggregate(columns, self.groups, self.firsts, self.behinds, wanted)


@dataclass(frozen=True, slots=True)
class Amount:
    """One aggregate, and the partials that it is made of."""

    call: Aggregation
    partials: tuple[Aggregate, ...]
    different: str | None = None  # the column whose different values it counts


class Amounts:
    """The aggregates of a GROUP BY over a relation."""

    def __init__(self, calls: Sequence[Aggregation], columns: Sequence[Column], finisher: Finisher) -> None:
        self._names: dict[str, str] = {}  # by the text of an expression, the column that holds it
        self._named: list[Named] = []
        self.amounts = tuple(self._amount(call) for call in calls)
        self._values = Evaluator(self._named, columns, finisher)

    def _amount(self, call: Aggregation) -> Amount:
        if call.function in _COUNTED:
            value = self._column(call.args[0], call.arg_types[0])
            where = None if call.filter is None else self._column(call.filter, "boolean")
            return Amount(call, (Aggregate(spec(Partial(Op.COUNT)), where=where),), value)
        made = recipe(call, call.filter)
        if made.extra is not None:
            raise Bug("no-aggregate", f"{call.function} over several sources has no kernel")
        return Amount(call, tuple(self._partial(partial) for partial in made.partials))

    def _partial(self, partial: Partial) -> Aggregate:
        by = TIME if partial.op in (Op.FIRST, Op.LAST) else None
        return Aggregate(
            spec(partial),
            None if partial.arg is None else self._column(partial.arg, partial.type),
            by if partial.by is None else self._column(partial.by, partial.by_type),
            None if partial.where is None else self._column(partial.where, "boolean"),
        )

    def _column(self, source: Expr, type_: str | None) -> str:
        if source.sql not in self._names:
            self._names[source.sql] = f"v{len(self._named)}"
            self._named.append(Named(self._names[source.sql], source, type_))
        return self._names[source.sql]

    def columns(self, table: pa.Table, begins: Ints) -> tuple[dict[str, pa.Array], Mask | None]:
        """What the aggregates are about, of every row; and where that fails."""
        made, failed = self._values.run(table, len(begins))
        found = {name: whole(made.column(name)) for name in made.column_names}
        return found | {TIME: pa.array(begins)}, failed

    def stretches(self, columns: Mapping[str, pa.Array], cover: Cover) -> Stretches:
        """The partials of each group at each instant."""
        wanted = {part.spec: part for each in self.amounts if not each.different for part in each.partials}
        made = cover.aggregate(columns, [_PRESENT, *wanted.values()])
        different = {
            each.call.name: _different(each, columns, cover, made)
            for each in self.amounts
            if each.different is not None
        }
        values: dict[ColumnSpec, Values] = dict(made.values)
        values |= {_counted_as(name): (counts,) for name, counts in different.items()}
        return Stretches(made.groups, made.firsts, made.behinds, values)

    def finish(self, values: Mapping[ColumnSpec, Values]) -> tuple[list[pa.Array], Mask | None]:
        """The aggregates themselves, and where one of them has no value that fits its type."""
        made: list[pa.Array] = []
        failed: Mask | None = None
        for each in self.amounts:
            if each.different is not None:
                made.append(pa.array(values[_counted_as(each.call.name)][0]))
                continue
            parts = [values[part.spec] for part in each.partials]
            column, wrong = finish(each.call.function, each.partials[0].spec.type, each.call.type, parts)
            made.append(column)
            if wrong is not None:
                failed = wrong if failed is None else failed | wrong
        return made, failed


_PRESENT = Aggregate(ColumnSpec("present", str(Op.COUNT)))


def _counted_as(name: str) -> ColumnSpec:
    return ColumnSpec(f"different values of {name}", str(Op.COUNT))


def _different(amount: Amount, columns: Mapping[str, pa.Array], cover: Cover, made: Stretches) -> Ints:
    """How many different values a group has in each of its stretches.

    First the stretches of every value, in which it is there at least once; each then counts for one.
    """
    assert amount.different is not None
    where = amount.partials[0].where
    known = columns[amount.different].is_valid().to_numpy(zero_copy_only=False)
    if where is not None:
        known = known & columns[where].fill_null(False).to_numpy(zero_copy_only=False)
    at = np.flatnonzero(known)
    index = GroupIndex(2)
    values = index.add([pa.array(cover.groups[at]), columns[amount.different].take(pa.array(at))])
    there = Cover(values, cover.firsts[at], cover.behinds[at]).aggregate({}, [_PRESENT])
    owner = whole(index.take(there.groups)[0]).to_numpy() if len(there) else there.groups
    _, part = made.within(owner, there.firsts, there.behinds)
    counts: Ints = np.bincount(part, minlength=len(made))
    return counts
