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
from math import log2, prod

from weft.share.model.constants import RUNNING_SUMS, Constants, Kind, kind_of
from weft.share.model.cost import Charge, Cost, Level, summed
from weft.share.model.load import Load, occupied
from weft.share.model.readers import Readers, readers
from weft.share.nodes import Feed, StreamPlan, Tap
from weft.share.signatures import Signature, signatures_in
from weft.share.weave.rates import fine_rate, rate_of
from weft.times import SECOND

_DENSE = 16  # places a cell: groups that are rarer than this in a slice are kept as a list


@dataclass(frozen=True, slots=True)
class Priced:
    """A plan of one stream under a load. `fine` is the edge rate of the cells of level 1."""

    plan: StreamPlan
    readers: Readers
    constants: Constants
    load: Load
    fine: float

    @staticmethod
    def of(plan: StreamPlan, constants: Constants, load: Load, fine: float | None = None) -> Priced:
        cut = rate_of(plan.edges).value if _by_columns(plan) else fine_rate(plan.edges)
        return Priced(plan, readers(plan), constants, load, cut if fine is None else fine)

    def under(self, load: Load) -> Priced:
        return replace(self, load=load)

    def cost(self) -> Cost:
        """All of it, in one job."""
        return summed([*self.level1(), *self.state(), *self.per_job()])

    # -- level 1

    def level1(self) -> Iterator[Charge]:
        rows, c = self.load.rows * self._by_row, self.constants
        yield Charge(Level.READ, rows * c.row, self.readers.everyone)
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
    def _by_row(self) -> float:
        """Which part of the work by row is done: files of columns are read as such."""
        return self.constants.by_columns if _by_columns(self.plan) else 1.0

    # -- the state

    def state(self) -> Iterator[Charge]:
        for at in range(len(self.plan.feeds)):
            yield from self._folding(at)
        yield from self._selecting()
        for tap in self.plan.taps:
            yield from self._answering(tap)
        for standing in self.plan.standing:
            name = standing.query.name
            part = 1.0 if standing.where is None else self.load.passing.get(standing.where.sql, 1.0)
            yield Charge(Level.OUTPUT, self.load.rows * part * self._written(name), [name])

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

    def _selecting(self) -> Iterator[Charge]:
        alike: dict[tuple[int, int, object], list[Tap]] = {}
        for tap in (each for first in self.plan.taps for each in first.sets):
            alike.setdefault((tap.feed, tap.present, tap.window), []).append(tap)
        for (feed, _, _), taps in alike.items():
            seconds = self._places(self.plan.feeds[feed], taps[0]) * self.constants.select
            yield Charge(Level.FINAL, seconds, [tap.query.name for tap in taps])

    def _answering(self, tap: Tap) -> Iterator[Charge]:
        name = [tap.query.name]
        steps = min(1 / self.load.step, SECOND / tap.window.slide)  # in which it has something to answer
        finals = sum(seconds for each in tap.sets for seconds in self._finals(each))
        asked = self.constants.query + sum(self._asking(each) for each in tap.sets)
        yield Charge(Level.FINAL, steps * asked + finals, name)
        fixed = self.constants.told + self.constants.sink
        written = steps * fixed + self.answers(tap) * self._written(tap.query.name)
        yield Charge(Level.OUTPUT, written, name)

    def _asking(self, tap: Tap) -> float:
        """What it takes to ask for windows, whatever these hold: for each kind of partials once."""
        feeds = [(self.plan.feeds[final.feed], final.partials) for final in tap.finals]
        kinds = {kind_of(feed.partials[at]) for feed, own in feeds if not feed.extra for at in own}
        return sum(self.constants.called[kind] * (1 + self._blocks(kind, tap)) for kind in kinds)

    def _finals(self, tap: Tap) -> Iterator[float]:
        """What each aggregate of a query takes."""
        for final in tap.finals:
            feed, c = self.plan.feeds[final.feed], self.constants
            places = self._places(feed, tap) * self._picked(tap)
            if feed.extra:
                yield places * c.distinct
                continue
            for kind in {kind_of(feed.partials[at]) for at in final.partials}:
                yield places * (c.final[kind] + self._blocks(kind, tap) * c.block)

    def _blocks(self, kind: Kind, tap: Tap) -> float:
        """How often the slices of a window double."""
        slices = tap.window.range / SECOND * self._rate(self.plan.feeds[tap.feed])
        return 0.0 if kind in RUNNING_SUMS else log2(max(1.0, slices))

    def _written(self, query: str) -> float:
        """What a row of its answers takes."""
        return self.constants.answer + self.readers.columns[query] * self.constants.value

    # -- per job

    def per_job(self) -> Iterator[Charge]:
        c, load = self.constants, self.load
        yield Charge(Level.FIXED, c.batch / load.batch + c.step / load.step, self.readers.everyone)

    # -- how often

    def answers(self, tap: Tap) -> float:
        """Rows of answers a second: groups that have a row in a window, times windows."""
        feed = self.plan.feeds[tap.feed]
        rows = self.load.rows * self.load.part_of(feed.partials[tap.present]) * tap.window.range / SECOND
        return sum(occupied(self._groups(each), rows) for each in tap.sets) * SECOND / tap.window.slide

    def _groups(self, tap: Tap) -> float:
        """Of its feed, those that are the query's."""
        return max(1.0, self.load.groups_of(self.plan.feeds[tap.feed]) * self._picked(tap))

    def _picked(self, tap: Tap) -> float:
        """Which part of the groups of its feed a query picks."""
        return prod(pick.part_of(self.load.groups) for pick in tap.picks)

    def _places(self, feed: Feed, tap: Tap) -> float:
        """Windows and groups that are looked at a second: all groups, where most are in most slices.

        Where they are not, only those present are, and each takes as long as some of the others.
        """
        groups = self.load.groups_of(feed)
        if not self._is_dense(feed):
            groups = self.constants.sparse * occupied(groups, self.load.rows * tap.window.range / SECOND)
        return groups * SECOND / tap.window.slide

    def _rate(self, feed: Feed) -> float:
        """The edges a second of its slices."""
        return rate_of(feed.edges or self.plan.edges).value

    def _is_dense(self, feed: Feed) -> bool:
        """Are cells a matrix, because groups are in many slices?"""
        groups = self.load.groups_of(feed)
        return occupied(groups, self.load.rows / self._rate(feed)) * _DENSE >= groups

    def _kept(self, feed: Feed) -> float:
        """Places a second that the state keeps of a matrix; of a list there are none but its cells."""
        if not self._is_dense(feed):
            return 0.0
        return self.load.groups_of(feed) * occupied(self._rate(feed), self.load.rows)

    def cells(self, at: int) -> float:
        """Cells a second that a feed takes in, batch by batch: a batch begins and ends within a slice."""
        feed = self.plan.feeds[at]
        root = feed if feed.parent is None else self.plan.feeds[feed.parent]
        batch, groups = self.load.batch, self.load.groups_of(root)
        return occupied((1 + self.fine * batch) * groups, self.load.rows * batch) / batch


def _by_columns(plan: StreamPlan) -> bool:
    """Are files of columns read as such, and rows cut where windows are?"""
    return plan.stream.statement.format == "parquet"
