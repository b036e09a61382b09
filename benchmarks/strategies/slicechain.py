"""A chain of sliced window joins, a row at a time, as the state-slice paper runs it.

Every row comes twice: its *male* copy purges and probes the other side of each slice in turn, its *female*
copy is held, and moves to the next slice when a male finds it too old. Between slices lies a queue, first in
first out: a female that was purged goes before the male that purged her.

    rows ─► queue ─► [0,2) ─► queue ─► [2,5) ─► ...        a query reads the slices up to its window

Slices are half-open. What a query is given is in the order of the males that found it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge as merged

from benchmarks.strategies.windowjoin import Matches, Pair, Query, Row, every


@dataclass(frozen=True, slots=True)
class Copy:
    row: Row
    male: bool


@dataclass
class Counters:
    """Work done, in the paper's units."""

    probes: int = 0  # pairs compared
    purges: int = 0  # females looked at for their age: the one that stays, and those that go
    steps: int = 0  # copies that an operator was run for
    routes: int = 0  # tests of results, of windows and conditions
    unions: int = 0  # punctuations


@dataclass
class Slice:
    """One join: what is held of either side, and what comes in."""

    start: float
    end: float
    held: tuple[deque[Row], deque[Row]] = field(default_factory=lambda: (deque(), deque()))
    queue: deque[Copy] = field(default_factory=deque)
    readers: list[tuple[int, Query]] = field(default_factory=list)  # queries with windows beyond its start
    ending: list[int] = field(default_factory=list)  # those whose windows do not go beyond its end

    @property
    def rows(self) -> int:
        return len(self.held[0]) + len(self.held[1])


def both_ways(row: Row) -> tuple[Copy, ...]:
    """Male first, so that in a join with itself a row does not meet itself."""
    return Copy(row, True), Copy(row, False)


def one_way(row: Row) -> tuple[Copy, ...]:
    """Only the left side is held, only the right side probes."""
    return (Copy(row, bool(row.side)),)


class SliceChain:
    """Slices in a row, and the queries that read them."""

    def __init__(
        self,
        ends: Sequence[float],
        queries: Sequence[Query],
        matches: Matches = every,
        copies: Callable[[Row], tuple[Copy, ...]] = both_ways,
        keeps_equal: bool = False,  # the printed purge: a row as old as the slice is long stays
        probed: Callable[[Slice, Row], None] | None = None,  # called after a purge, before the probe
    ) -> None:
        self.slices = [Slice(start, end) for start, end in zip((0, *ends), ends)]
        self.queries = list(queries)
        self.matches, self.copies, self.keeps_equal, self.probed = matches, copies, keeps_equal, probed
        self.answers: list[list[Pair]] = [[] for _ in queries]
        self.made: list[Pair] = []  # all pairs, as they are found
        self.counters = Counters()
        self._waiting: list[dict[int, list[Pair]]] = [{} for _ in queries]  # by slice
        self._subscribe()

    @property
    def rows(self) -> int:
        """Rows held, of all slices and sides."""
        return sum(each.rows for each in self.slices)

    def arrive(self, row: Row) -> None:
        """Put a row that some query wants before the first slice; who wants it is asked once."""
        reach = max((query.window for query in self.queries if query.wants(row)), default=0)
        if reach > 0:
            self.slices[0].queue.extend(self.copies(replace(row, reach=reach)))

    def feed(self, row: Row) -> None:
        """Put a row in, and run until nothing waits."""
        self.arrive(row)
        self.run()

    def run(self) -> None:
        for at, slice_ in enumerate(self.slices):
            while slice_.queue:
                self.step(at)

    def step(self, at: int) -> None:
        """Run one slice for the first copy that waits for it."""
        slice_ = self.slices[at]
        copy = slice_.queue.popleft()
        self.counters.steps += 1
        if not copy.male:
            slice_.held[copy.row.side].append(copy.row)
            return
        self._purge(at, copy.row)
        if self.probed is not None:
            self.probed(slice_, copy.row)
        self._probe(at, copy.row)
        self._pass_on(at, copy)
        self._punctuate(at, copy.row)

    def _purge(self, at: int, male: Row) -> None:
        held, end = self.slices[at].held[1 - male.side], self.slices[at].end
        while held:
            self.counters.purges += 1
            age = male.at - held[0].at
            if age < end or (self.keeps_equal and age == end):
                return
            self._pass_on(at, Copy(held.popleft(), False))

    def _pass_on(self, at: int, copy: Copy) -> None:
        if at + 1 < len(self.slices) and copy.row.reach > self.slices[at].end:
            self.slices[at + 1].queue.append(copy)

    def _probe(self, at: int, male: Row) -> None:
        for female in self.slices[at].held[1 - male.side]:
            self.counters.probes += 1
            left, right = (female, male) if male.side else (male, female)
            if self.matches(left, right):
                pair = Pair(left, right, male.key)
                self.made.append(pair)
                self._route(at, pair)

    def _route(self, at: int, pair: Pair) -> None:
        """To every query whose window ends in the slice or beyond; inside it the window is asked."""
        slice_ = self.slices[at]
        for number, query in slice_.readers:
            if query.window < slice_.end:
                self.counters.routes += 1
                if pair.apart >= query.window:
                    continue
            self.counters.routes += query.left is not every or query.right is not every
            if query.left(pair.left) and query.right(pair.right):
                self._waiting[number].setdefault(at, []).append(pair)

    def _punctuate(self, at: int, male: Row) -> None:
        """A male that has left the last slice of a query: nothing earlier can come for it any more."""
        for number in self.slices[at].ending:
            self.counters.unions += at > 0
            self._release(number, male.key)

    def _release(self, number: int, upto: tuple[float, int]) -> None:
        waiting = self._waiting[number]
        if not waiting:
            return
        due = [[pair for pair in pairs if pair.key <= upto] for pairs in waiting.values()]
        self._waiting[number] = {
            at: rest for at, pairs in waiting.items() if (rest := [pair for pair in pairs if pair.key > upto])
        }
        self.answers[number] += merged(*due, key=lambda pair: pair.key)

    def split(self, at: float) -> None:
        """Cut a slice: the new one is empty, and the next male moves what is too old for the old one."""
        number = next(n for n, each in enumerate(self.slices) if each.start < at < each.end)
        old = self.slices[number]
        self.slices.insert(number + 1, Slice(at, old.end))
        old.end = at
        self._renumber(lambda one: one + (one > number))

    def merge(self, at: float) -> None:
        """Join the two slices that meet at `at`, once what waits between them has gone through."""
        number = next(n for n, each in enumerate(self.slices[:-1]) if each.end == at)
        first, second = self.slices[number], self.slices[number + 1]
        while second.queue:
            self.step(number + 1)
        for side in (0, 1):
            first.held[side].extendleft(reversed(second.held[side]))
        first.end = second.end
        del self.slices[number + 1]
        self._renumber(lambda one: one - (one > number))

    def _subscribe(self) -> None:
        for each in self.slices:
            each.readers = [(n, query) for n, query in enumerate(self.queries) if query.window > each.start]
            each.ending = [n for n, query in each.readers if query.window <= each.end]

    def _renumber(self, change: Callable[[int], int]) -> None:
        self._subscribe()
        for number, waiting in enumerate(self._waiting):
            renumbered: dict[int, list[Pair]] = {}
            for at, pairs in waiting.items():
                renumbered.setdefault(change(at), []).extend(pairs)
            self._waiting[number] = {at: sorted(each, key=lambda p: p.key) for at, each in renumbered.items()}

    def add(self, query: Query) -> None:
        """A query that comes: a slice ends at its window, at the end a new one if it is the longest."""
        self.queries.append(query)
        self.answers.append([])
        self._waiting.append({})
        if query.window > self.slices[-1].end:
            self.slices.append(Slice(self.slices[-1].end, query.window))
        elif all(query.window != each.end for each in self.slices):
            self.split(query.window)
        self._subscribe()
