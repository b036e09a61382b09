"""Three ways to run a plan over windows, a row at a time: negative tuples, direct, by update pattern.

    NegativeTuples   every window sends a row back when it leaves: all operators see every row twice
    Direct           nobody does; whoever keeps rows looks for those that have left; not for absence
    ByPattern        rows leave by themselves, out of structures that fit their pattern; only what leaves
                     before its time is sent back

A strategy is fed rows in order of time, and asked for the answer as of a time not before the last row's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

from benchmarks.strategies.lives import (
    Distinct,
    Join,
    Latest,
    Life,
    Message,
    Minus,
    Plan,
    Total,
    Values,
    Window,
    label,
    longest,
    sources,
)
from benchmarks.strategies.operators import (
    Counting,
    DeltaStar,
    Joining,
    Lacks,
    LatestOf,
    Naive,
    Operator,
    Totalling,
    WindowOf,
)
from benchmarks.strategies.structures import Bucketed, Calendar, Fifo, Hashed, Listing, Structure
from weft.plan.relationpatterns import Pattern

LAZY = 0.05  # of the window: how often joins put away rows that have left


@dataclass
class Counts:
    """What a strategy has done."""

    messages: int = 0  # that operators and the answer were given
    taken_back: int = 0  # of them


@dataclass
class Node:
    """An operator, what it reads, and where its rows go."""

    plan: Plan
    operator: Operator
    up: tuple[Node, int] | None = None
    given: Counter[bool] = field(default_factory=Counter)  # messages, by whether they take back


class Strategy(ABC):
    """A plan that runs."""

    def __init__(self, plan: Plan, partitions: int = 10, internal: bool = False) -> None:
        self.plan, self.partitions = plan, partitions
        self.length = max(longest(plan), 1)
        self.internal = internal  # what has been told stays
        self.counts = Counts()
        self.events: list[tuple[float, Message]] = []
        self.nodes: list[Node] = []  # those below first
        self.now = -inf
        self._fed = 0
        self._build(plan, self.telling())
        self.view: Structure = Hashed() if internal else self.keeping(plan, self.telling())
        self.view_given: Counter[bool] = Counter()

    @abstractmethod
    def telling(self) -> bool:
        """Does the answer have to be told of every row that leaves?"""

    @abstractmethod
    def keeping(self, source: Plan, told_all: bool) -> Structure:
        """What rows of `source` are kept in."""

    @abstractmethod
    def sieve(self, plan: Distinct, tells_all: bool) -> tuple[Operator, bool]:
        """How rows are told once, and whether what it reads has to tell all."""

    def told_below(self, plan: Minus) -> bool:
        """Does absence have to be told of every row that leaves?"""
        return self.telling()

    def feed(self, stream: str, values: Values, ts: float) -> None:
        """Give it a row of a stream: a window over it takes it if its condition holds."""
        self.advance(ts)
        for node in self.nodes:
            match node.plan:
                case Window(stream=name, length=length, where=where) if name == stream:
                    if where is None or where(values):
                        self._give(node, 0, Message(self._life(values, ts, ts + length)))
                case Latest(stream=name) if name == stream:
                    self._give(node, 0, Message(self._life(values, ts, inf)))

    def advance(self, now: float) -> None:
        """Let everything leave that has to by `now`."""
        if now <= self.now:
            return
        self.now = now
        for node in self.nodes:
            for message in node.operator.expire(now):
                self._send(node, message)
        if not self.internal:
            self.view.expire(now)

    def answer(self, t: float) -> Counter[Values]:
        self.advance(t)
        return Counter(life.values for life in self.view if self.internal or life.exp > t)

    @property
    def rows(self) -> int:
        kept = sum(len(each) for node in self.nodes for each in node.operator.structures())
        return kept + len(self.view)

    @property
    def touches(self) -> int:
        """Rows looked at to put rows away and have them leave."""
        kept = sum(each.touches for node in self.nodes for each in node.operator.structures())
        return kept + self.view.touches

    def _life(self, values: Values, ts: float, exp: float) -> Life:
        self._fed += 1
        return Life(values, ts, exp, (self._fed,))

    def _give(self, node: Node, side: int, message: Message) -> None:
        node.given[message.taken_back] += 1
        self._count(message)
        for out in node.operator.take(side, message, self.now):
            self._send(node, out)

    def _send(self, node: Node, message: Message) -> None:
        if node.up is not None:
            self._give(node.up[0], node.up[1], message)
            return
        self.view_given[message.taken_back] += 1
        self._count(message)
        self.events.append((self.now, message))
        if not message.taken_back:
            self.view.insert(message.life)
        elif not self.internal:
            self.view.remove(message.life)

    def _count(self, message: Message) -> None:
        self.counts.messages += 1
        self.counts.taken_back += message.taken_back

    def _build(self, plan: Plan, tells_all: bool) -> Node:
        operator, told_all = self._operator(plan, tells_all)
        below = [self._build(each, told_all) for each in sources(plan)]
        node = Node(plan, operator)
        for side, each in enumerate(below):
            each.up = node, side
        self.nodes.append(node)
        return node

    def _operator(self, plan: Plan, tells_all: bool) -> tuple[Operator, bool]:
        """The operator, and whether what it reads has to tell all."""
        match plan:
            case Window():
                return WindowOf(tells_all), False
            case Latest(count=count):
                return LatestOf(count), False
            case Join(left=left, right=right):
                one, other = (self.keeping(each, tells_all) for each in (left, right))
                lazy = 0 if label(plan) is Pattern.STRICT else LAZY * self.length
                return Joining(one, other, lazy, tells_all), tells_all
            case Distinct():
                return self.sieve(plan, tells_all)
            case Minus(left=left, right=right, lacking=lacking):
                told_all = self.told_below(plan)
                one, other = (self.keeping(each, told_all) for each in (left, right))
                return Lacks(one, other, lacking, tells_all), told_all
            case Total(grouped=grouped):
                return Totalling(grouped), True


class NegativeTuples(Strategy):
    """`buckets`: of its hash tables; as many as it takes, unless told."""

    def __init__(
        self, plan: Plan, partitions: int = 10, internal: bool = False, buckets: int | None = None
    ) -> None:
        self.buckets = buckets
        super().__init__(plan, partitions, internal)

    def telling(self) -> bool:
        return True

    def keeping(self, source: Plan, told_all: bool) -> Structure:
        replaced = label(source) is Pattern.STRICT and _needs_messages(source)
        return Hashed() if self.buckets is None or replaced else Bucketed(self.buckets)

    def sieve(self, plan: Distinct, tells_all: bool) -> tuple[Operator, bool]:
        return Counting(plan.columns), True


class Direct(Strategy):
    """Only where rows leave when they said."""

    def __init__(self, plan: Plan, partitions: int = 10, internal: bool = False) -> None:
        if label(plan) is Pattern.STRICT:
            raise ValueError("rows that are taken back need messages: the direct way cannot run this plan")
        super().__init__(plan, partitions, internal)

    def telling(self) -> bool:
        return False

    def keeping(self, source: Plan, told_all: bool) -> Structure:
        return Listing()

    def sieve(self, plan: Distinct, tells_all: bool) -> tuple[Operator, bool]:
        return Naive(plan.columns), False


class ByPattern(Strategy):
    """`often`: rows of strict plans leave early so often that they are told of each, and kept by row."""

    def __init__(self, plan: Plan, partitions: int = 10, internal: bool = False, often: bool = False) -> None:
        self.often = often
        super().__init__(plan, partitions, internal)

    def telling(self) -> bool:
        """Strict plans where that was chosen; counted windows and sums know no other way."""
        strict = label(self.plan) is Pattern.STRICT
        return strict and (self.often or _needs_messages(self.plan))

    def keeping(self, source: Plan, told_all: bool) -> Structure:
        match label(source):
            case _ if told_all:
                return Hashed()
            case Pattern.MONOTONIC | Pattern.WEAKEST:
                return Fifo()
            case _:
                return Calendar(self.length, self.partitions)

    def sieve(self, plan: Distinct, tells_all: bool) -> tuple[Operator, bool]:
        if tells_all or label(plan.source) is Pattern.STRICT:
            return Counting(plan.columns), True
        return DeltaStar(plan.columns, self.length, self.partitions), False

    def told_below(self, plan: Minus) -> bool:
        """Rows of windows leave by themselves, also where those above it are told of each that leaves."""
        return self.telling() and Pattern.STRICT in (label(plan.left), label(plan.right))


def _needs_messages(plan: Plan) -> bool:
    match plan:
        case Latest() | Total():
            return True
        case Distinct(source=source) if label(source) is Pattern.STRICT:
            return True
        case _:
            return any(_needs_messages(each) for each in sources(plan))


def run(strategy: Strategy, rows: Iterable[tuple[str, Values, float]]) -> None:
    for stream, values, ts in rows:
        strategy.feed(stream, values, ts)


def each_instant(
    strategy: Strategy, rows: Sequence[tuple[str, Values, float]], until: int
) -> list[Counter[Values]]:
    """The answers as of 0, 1, 2, ..., with the rows fed as they come."""
    answers, coming = [], list(rows)
    for t in range(until + 1):
        strategy.advance(t)
        while coming and coming[0][2] <= t:
            strategy.feed(*coming.pop(0))
        answers.append(strategy.answer(t))
    return answers
