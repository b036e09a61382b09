"""Operators that count: what is there depends on how often rows are on either side."""

from __future__ import annotations

from collections.abc import Sequence

from weft.engine.relations.calendar import Calendar
from weft.engine.relations.evaluate import schema_of
from weft.engine.relations.operator import Carried, Told, as_changes, renamed
from weft.kernels.relations.counted import (
    Counting,
    Function,
    distinct,
    except_all,
    except_distinct,
    intersect_all,
    intersect_distinct,
)
from weft.kernels.relations.tables import Changes
from weft.lang.bodies import SetKind
from weft.plan.relations import Distinct, Merged
from weft.plan.relationtree import columns, reach_back
from weft.times import Instant

_MERGED: dict[tuple[SetKind, bool], Function] = {
    (SetKind.EXCEPT, True): except_all,
    (SetKind.EXCEPT, False): except_distinct,
    (SetKind.INTERSECT, True): intersect_all,
    (SetKind.INTERSECT, False): intersect_distinct,
}


class Comparing(Carried):
    """DISTINCT, EXCEPT and INTERSECT of rows that change."""

    def __init__(self, relation: Distinct | Merged) -> None:
        super().__init__(columns(relation))
        self._schema = schema_of(self.columns)
        function = distinct if isinstance(relation, Distinct) else _MERGED[(relation.kind, relation.all)]
        self._counts = Counting(function, len(self.columns))
        sides = 1 if isinstance(relation, Distinct) else 2
        self._later = [Calendar(self._schema, reach_back(relation)) for _ in range(sides)]

    @property
    def rows(self) -> int:
        return len(self._counts)

    @property
    def nbytes(self) -> int:
        return self._counts.nbytes + sum(each.nbytes for each in self._later)

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        due: list[Changes] = []
        for rows, later in zip(told, self._later, strict=True):
            later.put(renamed(as_changes(rows), self._schema))
            due.append(later.take(upto))
        return self._counts.step(*due)
