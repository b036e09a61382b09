"""A table that revises answers: what differs from one version to the next, as changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.engine.relations.editions import Editions, Version
from weft.engine.relations.operator import Carried, Told
from weft.kernels.relations.changes import consolidate
from weft.kernels.relations.tables import Changes
from weft.plan.nodes import Column
from weft.times import BEGINNING, Instant


class Revising(Carried):
    """The rows of a table: those of the first version from the beginning on, then what is another."""

    def __init__(self, columns: Sequence[Column], editions: Editions, settled: Instant = BEGINNING) -> None:
        """`settled`: what is in force after this time at the latest counts as having been there always."""
        super().__init__(columns)
        self.editions, self._settled = editions, settled
        self._told = -1  # the last version that was told

    @property
    def rows(self) -> int:
        return sum(version.count for version in self.editions.versions[-1:])

    @property
    def nbytes(self) -> int:
        return sum(int(version.rows.nbytes) for version in self.editions.versions[-1:])

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        versions = self.editions.versions
        new = [at for at, version in enumerate(versions) if version.number > self._told]
        made = [self._revised(versions[at - 1] if at else None, versions[at]) for at in new]
        if new:
            self._told = versions[-1].number
            self.note(sum(versions[at].failed for at in new))
            self.editions.versions = versions[-1:]
        return Changes.concat(made) if made else Changes.empty(self.editions.schema)

    def _revised(self, before: Version | None, now: Version) -> Changes:
        """What differs, as bags, from when the version is in force."""
        old = self.editions.schema.empty_table() if before is None else before.rows
        counts = [0 if before is None else before.count, now.count]
        always = before is None or now.since <= self._settled
        times = np.full(sum(counts), BEGINNING if always else now.since + 1)
        rows = pa.concat_tables([old, now.rows]).combine_chunks()
        return consolidate(Changes(rows, times, np.repeat(np.array([-1, 1]), counts)))
