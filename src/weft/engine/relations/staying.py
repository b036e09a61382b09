"""A window over a result: its rows, each for as long as the window says from when it begins to hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.engine.relations.calendar import Calendar
from weft.engine.relations.evaluate import schema_of
from weft.engine.relations.operator import Carried, Told, as_changes, ends_of
from weft.kernels.relations.changes import consolidate
from weft.kernels.relations.tables import Lives
from weft.plan.relationpatterns import has_lives
from weft.plan.relations import Lasting
from weft.plan.relationtree import columns, reach_back
from weft.times import Instant


class Staying(Carried):
    """Rows with lives of their own begin when these do. Of others, what begins is what is there and was not
    the instant before: that is known with the watermark.
    """

    def __init__(self, relation: Lasting) -> None:
        super().__init__(columns(relation))
        self._range = relation.range
        self._own = has_lives(relation.source)
        self._later = Calendar(schema_of(self.columns), reach_back(relation.source))

    @property
    def rows(self) -> int:
        return len(self._later)

    @property
    def nbytes(self) -> int:
        return self._later.nbytes

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        (rows,) = told
        if self._own and isinstance(rows, Lives):
            return Lives(rows.table, rows.begins, ends_of(rows.begins, self._range))
        self._later.put(as_changes(rows))
        due = consolidate(self._later.take(upto))
        begun = due.filter(due.weights > 0)
        begun = begun.take(np.repeat(np.arange(len(begun)), begun.weights))
        return Lives(begun.table, begun.times, ends_of(begun.times, self._range))
