"""The price of a stream's plan: how often each thing is done, times what it takes.

    level 1     every row, once: read, asked for each predicate, added to each partial of each root feed
    state       the cells of each batch are folded; windows are answered from them, and the answers written
    per job     what a batch and a step take whatever they hold

Windows come out of slices by the final method of each partial: of running sums a window is the difference of
two, however many slices it has; of blocks it is a few more with every doubling of the slices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from weft.plan.nodes import Query
from weft.share.model.answering import Answering, Together, is_dense
from weft.share.model.constants import Constants, kind_of
from weft.share.model.cost import Charge, Cost, Level, Own, by_level, summed
from weft.share.model.load import Floats, Load, occupied
from weft.share.model.readers import Readers, readers
from weft.share.nodes import Feed, StreamPlan
from weft.share.parts import parts
from weft.share.signatures import Signature, signatures_in
from weft.share.weave.rates import fine_rate, rate_of, rated


@dataclass(frozen=True, slots=True)
class Priced:
    """A plan of one stream under a load. `fine` is the edge rate of the cells of level 1."""

    plan: StreamPlan
    readers: Readers
    answering: Answering
    constants: Constants
    load: Load
    fine: float

    @staticmethod
    def of(plan: StreamPlan, constants: Constants, load: Load, together: Together | None = None) -> Priced:
        """`together`: which of its queries, or of these and others, are answered so; None: looked up."""
        plan = rated(plan)
        fine = rate_of(plan.edges).value if _by_columns(plan) else fine_rate(plan.edges)
        return Priced(plan, readers(plan), Answering.of(plan, together), constants, load, fine)

    def under(self, load: Load) -> Priced:
        return replace(self, load=load)

    def cost(self) -> Cost:
        """All of it, in one job."""
        return summed(self._charges())

    def levels(self) -> dict[Level, float]:
        """The same by level alone."""
        return by_level(self._charges())

    def _charges(self) -> Iterator[Charge | Own]:
        yield from self.level1()
        yield from self.state()
        yield from self.per_job()

    # -- level 1

    def level1(self) -> Iterator[Charge]:
        rows, c = self.load.rows * self._by_row, self.constants
        yield Charge(Level.READ, self.reading, self.readers.everyone)
        for askers in self.readers.predicates.values():
            yield Charge(Level.READ, rows * c.predicate, askers)
        for signature in signatures_in(self.plan):
            users = [
                name
                for at in self.plan.roots
                if self._is_by(signature, at)
                for name in self.readers.feeds[at]
            ]
            yield Charge(Level.READ, rows * c.predicate * len(signature.bits), tuple(dict.fromkeys(users)))
        for root in self.plan.roots:
            cells = self.cells(root)
            yield Charge(Level.AGGREGATE, rows * c.key + cells * c.made, self.readers.feeds[root])
            for partial in self.plan.feeds[root].partials:
                seconds = rows * c.partial[kind_of(partial)] + cells * c.made_part
                yield Charge(Level.AGGREGATE, seconds, self.readers.partials[root, partial])

    def _is_by(self, signature: Signature, feed: int) -> bool:
        return signature.key in self.plan.feeds[feed].keys

    @property
    def reading(self) -> float:
        """What a job takes to read the rows, whatever it does with them."""
        return self.load.rows * self._by_row * self.constants.row

    @property
    def _by_row(self) -> float:
        """Which part of the work by row is done: files of columns are read as such."""
        return self.constants.by_columns if _by_columns(self.plan) else 1.0

    # -- the state

    def state(self) -> Iterator[Charge | Own]:
        for at in range(len(self.plan.feeds)):
            yield from self._folding(at)
        answered, written = self.answering.seconds(self.load, self.constants, self._groups, self._rates)
        yield Own(Level.FINAL, answered, self.answering.names)
        yield Own(Level.OUTPUT, written, self.answering.names)
        for standing in self.plan.standing:
            part = 1.0 if standing.where is None else self.load.passing.get(standing.where.sql, 1.0)
            seconds = self.load.rows * part * self._written(standing.query)
            yield Charge(Level.OUTPUT, seconds, [standing.query.name])

    def _folding(self, at: int) -> Iterator[Charge]:
        feed, c = self.plan.feeds[at], self.constants
        held = {part: users for part in feed.partials if (users := self.readers.held[at, part])}
        if not held:
            return
        cells = self.cells(at)
        idle = max(0.0, self._kept(feed) - cells)
        everyone = tuple(dict.fromkeys(name for users in held.values() for name in users))
        yield Charge(Level.FOLD, c.feed / self.load.batch + cells * c.cell, everyone)
        for partial, users in held.items():
            kind = kind_of(partial)
            seconds = c.part / self.load.batch + cells * c.fold[kind] + idle * c.place[kind]
            yield Charge(Level.FOLD, seconds, users)

    def _written(self, query: Query) -> float:
        """What a row of its answers takes."""
        return self.constants.answer + len(parts(query).items) * self.constants.value

    # -- per job

    def per_job(self) -> Iterator[Charge]:
        c, load = self.constants, self.load
        yield Charge(Level.FIXED, c.batch / load.batch + c.step / load.step, self.readers.everyone)

    # -- how often

    def answers(self) -> dict[str, float]:
        """Rows of answers a second, by query."""
        found = self.answering.answers(self.load)
        return dict(zip(self.answering.names, found.tolist(), strict=True))

    @property
    def _groups(self) -> Floats:
        """Of each feed."""
        return np.array([self.load.groups_of(feed) for feed in self.plan.feeds], np.float64)

    @property
    def _rates(self) -> Floats:
        """The edges a second of the slices of each feed."""
        return np.array([self._rate(feed) for feed in self.plan.feeds], np.float64)

    def _rate(self, feed: Feed) -> float:
        return rate_of(feed.edges or self.plan.edges).value

    def _kept(self, feed: Feed) -> float:
        """Places a second that the state keeps of a matrix; of a list there are none but its cells."""
        groups, rate = self.load.groups_of(feed), self._rate(feed)
        return groups * occupied(rate, self.load.rows) if is_dense(groups, rate, self.load.rows) else 0.0

    def cells(self, at: int) -> float:
        """Cells a second that a feed takes in, batch by batch: a batch begins and ends within a slice."""
        feed = self.plan.feeds[at]
        root = feed if feed.parent is None else self.plan.feeds[feed.parent]
        batch, groups = self.load.batch, self.load.groups_of(root)
        return occupied((1 + self.fine * batch) * groups, self.load.rows * batch) / batch


def _by_columns(plan: StreamPlan) -> bool:
    """Are files of columns read as such, and rows cut where windows are?"""
    return plan.stream.statement.format == "parquet"
