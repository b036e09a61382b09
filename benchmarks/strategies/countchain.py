"""A chain of slices over windows that are counted in rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from benchmarks.strategies.slicechain import Copy, both_ways
from benchmarks.strategies.windowjoin import Pair, Row


class CountChain:
    """Slices by how many rows of the same side came later: each row that comes pushes the oldest on."""

    def __init__(self, counts: Sequence[int]) -> None:
        self.lengths = [count - before for before, count in zip((0, *counts), counts)]
        self.held: list[tuple[deque[Row], deque[Row]]] = [(deque(), deque()) for _ in counts]
        self.queues: list[deque[Copy]] = [deque() for _ in counts]
        self.found: list[list[Pair]] = [[] for _ in counts]  # by slice

    def arrive(self, row: Row) -> None:
        self.queues[0].extend(both_ways(row))

    def waiting(self) -> list[int]:
        return [at for at, queue in enumerate(self.queues) if queue]

    def step(self, at: int) -> None:
        copy = self.queues[at].popleft()
        passed = copy if copy.male else self._insert(at, copy.row)
        if copy.male:
            self.found[at] += self._pairs(at, copy.row)
        if passed is not None and at + 1 < len(self.queues):
            self.queues[at + 1].append(passed)

    def _insert(self, at: int, row: Row) -> Copy | None:
        held = self.held[at][row.side]
        held.append(row)
        return Copy(held.popleft(), False) if len(held) > self.lengths[at] else None

    def _pairs(self, at: int, male: Row) -> Iterator[Pair]:
        for female in self.held[at][1 - male.side]:
            left, right = (female, male) if male.side else (male, female)
            yield Pair(left, right, male.key)
