"""Other ways to share a join than slices: conditions asked of its results, or the stream parted."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.strategies.slicechain import SliceChain
from benchmarks.strategies.windowjoin import Matches, Pair, Query, Row, Wants, every


class PulledUp(SliceChain):
    """One join of all rows over the longest window; windows and conditions are asked of its results."""

    def __init__(self, queries: Sequence[Query], matches: Matches = every) -> None:
        super().__init__([max(query.window for query in queries)], queries, matches)

    def arrive(self, row: Row) -> None:
        self.slices[0].queue.extend(self.copies(row))


class PushedDown:
    """The left stream parted by a filter, with a join for each part, each with the right stream of its own.

    The first query wants all rows, the others those that pass: rows that fail are joined over its window, the
    others over the longest; what the first query is given comes of both joins, in order.
    """

    def __init__(
        self, short: float, longer: Sequence[float], passes: Wants, matches: Matches = every
    ) -> None:
        self.passes = passes
        self.failing = SliceChain([short], [Query(short)], matches)
        self.passing = SliceChain([max(longer)], [Query(window) for window in (short, *longer)], matches)
        self._first: list[Pair] = []
        self._taken = [0, 0]

    @property
    def rows(self) -> int:
        return self.failing.rows + self.passing.rows

    @property
    def answers(self) -> list[list[Pair]]:
        return [self._first, *self.passing.answers[1:]]

    def feed(self, row: Row) -> None:
        if row.side == 1 or not self.passes(row):
            self.failing.feed(row)
        if row.side == 1 or self.passes(row):
            self.passing.feed(row)
        self._unite()

    def _unite(self) -> None:
        sources = self.failing.answers[0], self.passing.answers[0]
        new = [pair for source, start in zip(sources, self._taken) for pair in source[start:]]
        self._taken = [len(source) for source in sources]
        self._first += sorted(new, key=lambda pair: pair.key)
