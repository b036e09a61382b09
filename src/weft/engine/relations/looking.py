"""What is there as of each slide, and what groups of it amount to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.engine.relations.calendar import Calendar
from weft.engine.relations.evaluate import schema_of
from weft.engine.relations.operator import Carried, Told
from weft.kernels.arrow import TIME
from weft.kernels.combine import Ints
from weft.kernels.relations.holding import Holding
from weft.kernels.relations.tables import NEVER, NOTHING, Changes, Lives, take
from weft.plan.relations import AsOf
from weft.plan.relationtree import columns, last_change, reach_back
from weft.times import BEGINNING, Instant


class Beat:
    """The ends of the windows of a relation: `e = offset (mod slide)`; it is looked at as of `e - 1`."""

    def __init__(self, relation: AsOf) -> None:
        self.slide, self._offset, self.range = relation.slide, relation.offset, relation.range

    def after(self, at: Instant) -> Instant:
        """The end of the first window that ends after this."""
        return self._last(at) + self.slide

    def any(self, since: Instant, upto: Instant) -> bool:
        """Does one of the instants lie in [since, upto)?"""
        return self._last(upto) > since

    def covered(self, begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """For each life the end of the first window that it is seen in, and in how many."""
        first = begins - (begins - self._offset) % self.slide + self.slide
        last = ends - (ends - self._offset) % self.slide
        return first, np.maximum((last - first) // self.slide + 1, 0)

    def windows(self, ends: Ints) -> list[pa.Array]:
        """`window_start` and `window_end`."""
        return [pa.array(at).cast(TIME) for at in (ends - self.range, ends)]

    def _last(self, upto: Instant) -> Instant:
        return upto - (upto - self._offset) % self.slide


@dataclass(frozen=True, slots=True)
class Seen:
    """Rows, for each the end of the first window that it is seen in, and in how many it is."""

    lives: Lives
    first: Ints
    counts: Ints

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: Ints) -> Seen:
        return Seen(self.lives.take(rows), self.first[rows], self.counts[rows])


class Seeing:
    """The rows of a relation that may be seen as of some slide to come."""

    def __init__(self, relation: AsOf) -> None:
        self.columns = columns(relation.source)
        self.schema = schema_of(self.columns)
        self.beat = Beat(relation)
        self._held = Lives.empty(self.schema)
        self._changing = Holding(self.schema)
        self._later = Calendar(self.schema, reach_back(relation))
        self._since, self._first, self._end = BEGINNING, BEGINNING, NEVER
        self._source = relation.source

    @property
    def rows(self) -> int:
        return len(self._held) + len(self._changing) + len(self._later)

    @property
    def nbytes(self) -> int:
        held = int(self._held.table.nbytes) + 16 * len(self._held)
        return held + self._changing.nbytes + self._later.nbytes

    def begin(self, first: Instant) -> None:
        """Nothing is seen as of before this time: what a table holds is there from the beginning of time."""
        self._first = first

    def end(self, latest: Mapping[str, Instant]) -> None:
        """No rows come any more: what stays for ever is seen up to the first slide after the last change."""
        last = last_change(self._source, latest)
        self._end = NEVER if last is None else self.beat.after(last)

    def seen(self, rows: Told, upto: Instant) -> Seen:
        """The rows that are seen in the span that ends with `upto`."""
        upto = min(upto, self._end)
        since, self._since = self._since, upto
        if upto == BEGINNING or not self._looks(since, upto):
            self._hold(rows, upto)
            return Seen(Lives.empty(self.schema), NOTHING, NOTHING)
        if isinstance(rows, Changes):
            self._later.put(rows)
            lives = self._changing.step(self._later.take(upto), since, upto)
        else:
            lives = Lives.concat([self._held, rows])
            self._held = lives.filter(lives.ends > upto)
        begins = np.maximum(lives.begins, max(since, self._first))
        ends = np.minimum(lives.ends, upto)
        some = np.flatnonzero((begins > BEGINNING) & (begins < ends))
        first, counts = self.beat.covered(begins[some], ends[some])
        return Seen(lives.take(some), first, counts).take(np.flatnonzero(counts))

    def _hold(self, rows: Told, upto: Instant) -> None:
        """Nobody looks yet."""
        if isinstance(rows, Lives):
            self._held = Lives.concat([self._held, rows])
        else:
            self._later.put(rows)
            self._changing.skip(self._later.take(upto))

    def _looks(self, since: Instant, upto: Instant) -> bool:
        return since == BEGINNING or self.beat.any(since, upto)


class Looking(Carried):
    """The rows as of each slide, one by one."""

    def __init__(self, relation: AsOf) -> None:
        super().__init__(columns(relation))
        self._schema = schema_of(self.columns)
        self._source = Seeing(relation)

    def begin(self, first: Instant) -> None:
        self._source.begin(first)

    def end(self, latest: Mapping[str, Instant]) -> None:
        self._source.end(latest)

    @property
    def rows(self) -> int:
        return self._source.rows

    @property
    def nbytes(self) -> int:
        return self._source.nbytes

    def advance(self, told: Sequence[Told], upto: Instant) -> Told:
        seen, beat = self._source.seen(told[0], upto), self._source.beat
        rows = np.repeat(np.arange(len(seen)), seen.counts)
        order = np.arange(len(rows)) - np.repeat(np.cumsum(seen.counts) - seen.counts, seen.counts)
        ends = seen.first[rows] + order * beat.slide
        table = pa.table([*beat.windows(ends), *take(seen.lives.table, rows).columns], schema=self._schema)
        return Lives(table, ends - 1, ends)
