"""The aggregates of a relation as the kernels know them: which columns they are about, and what they want."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from weft.engine.ingest import spec
from weft.engine.relations.evaluate import Evaluator, Finisher
from weft.engine.shape import Mask
from weft.kernels.arrow import whole
from weft.kernels.combine import Ints
from weft.kernels.relations.amounts import Wanted
from weft.kernels.relations.asof import Aggregate
from weft.kernels.sketches import precision_for
from weft.lang.statements import Expr
from weft.plan.nodes import Aggregation, Column, Named
from weft.share.nodes import Op, Partial
from weft.share.partials import deviation, recipe, shares

TIME = "time"  # when a row began, by which FIRST and LAST go


class Wants:
    """The aggregates of a GROUP BY over a relation, and the columns that they are about."""

    def __init__(self, calls: Sequence[Aggregation], columns: Sequence[Column], finisher: Finisher) -> None:
        self._names: dict[str, str] = {}  # by the text of an expression, the column that holds it
        self._named: list[Named] = []
        self.wanted = tuple(self._wanted(call) for call in calls)
        self._values = Evaluator(self._named, columns, finisher)

    @property
    def needs_time(self) -> bool:
        """Does one of them go by when rows began?"""
        return any(partial.by == TIME for each in self.wanted for partial in each.partials)

    def columns(
        self, table: pa.Table, rows: int, begins: Ints | None
    ) -> tuple[dict[str, pa.Array], Mask | None]:
        """What the aggregates are about, of every row; and where that fails."""
        made, failed = self._values.run(table, rows)
        found = {name: whole(made.column(name)) for name in made.column_names}
        return found if begins is None else found | {TIME: pa.array(begins)}, failed

    def _wanted(self, call: Aggregation) -> Wanted:
        made = recipe(call, call.filter)
        return Wanted(
            call.name,
            call.function,
            tuple(self._partial(partial) for partial in made.partials),
            made.partials[0].type,
            call.type,
            None if made.extra is None else self._column(made.extra, _type_of_extra(call)),
            precision_for(deviation(call.params)) if call.function == "approx_count_distinct" else 0,
            shares(call.params) if call.function == "approx_percentile" else (),
        )

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


def _type_of_extra(call: Aggregation) -> str | None:
    """That of the values themselves where they are counted; of a register or bucket it is as it comes."""
    return call.arg_types[0] if call.function == "count_distinct" else None
