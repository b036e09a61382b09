"""ORDER BY ... LIMIT: the first rows of each window."""

from __future__ import annotations

from collections.abc import Sequence

from weft.engine.relations.evaluate import Evaluator, Finisher
from weft.engine.relations.operator import Carried, Told
from weft.kernels.arrow import whole
from weft.kernels.relations.tables import Lives
from weft.kernels.top import top
from weft.plan.nodes import Named
from weft.plan.relations import Leading
from weft.plan.relationtree import columns
from weft.times import Instant


class Choosing(Carried):
    """The rows of one window come together; ties go by all columns, in order."""

    def __init__(self, relation: Leading, finisher: Finisher) -> None:
        super().__init__(columns(relation))
        self._limit, self._order = relation.limit, relation.order
        named = [Named(f"_order{at}", key.expr, None) for at, key in enumerate(relation.order)]
        self._keys = Evaluator(named, self.columns, finisher)

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        (rows,) = told
        assert isinstance(rows, Lives)
        if not len(rows):
            return rows
        values, failed = self._keys.run(rows.table, len(rows))
        if failed is not None:
            self.note(int(failed.sum()))
            rows, values = rows.filter(~failed), values.filter(~failed)
        order = [
            (whole(column), key.descending, key.nulls_first)
            for column, key in zip(values.columns, self._order, strict=True)
        ]
        ties = [whole(column) for column in rows.table.columns]
        return rows.take(top(rows.ends, order, ties, self._limit))
