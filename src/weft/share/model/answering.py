"""What answering windows takes, of all queries of a plan at once: as columns, by query and by set of keys.

Queries that ask the same are answered together: what is done once for them is split evenly among them.

    family      windows are asked for, whichever groups are picked
    portion     those of it that pick the same: values are read and finished
    query       its rows are written, and handed to its sink
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from weft.kernels.picks import HasAll, OneOf, Pick, Within
from weft.share.model.constants import RUNNING_SUMS, Constants, Kind, kind_of
from weft.share.model.load import Floats, Keys, Load, occupied, occupied_each
from weft.share.nodes import StreamPlan, Tap
from weft.share.parts import parts
from weft.share.same import among, asked
from weft.share.signatures import read_signature
from weft.times import SECOND

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Picks = tuple[tuple[Pick, str], ...]  # each with the key that it picks by
Together = Mapping[str, tuple[int, int]]  # by query the numbers of its family and of its portion
Thing = TypeVar("Thing", bound=Hashable)

_KINDS = {kind: at for at, kind in enumerate(Kind)}
_DISTINCT = len(_KINDS)  # values that are counted distinct, as if that were one kind more
_HAS_BLOCKS = np.array([kind not in RUNNING_SUMS for kind in Kind] + [False], np.float64)
_DENSE = 16  # places a cell: groups that are rarer than this in a slice are kept as a list


def together(taps: Sequence[Tap]) -> Together:
    """Which queries are answered together."""
    _, families = _numbered([(asked(tap), tap.after, among(tap)) for tap in taps])
    picking = [(family, tap.choice) for family, tap in zip(families.tolist(), taps, strict=True)]
    _, portions = _numbered(picking)
    both = zip(families.tolist(), portions.tolist(), strict=True)
    return dict(zip((tap.query.name for tap in taps), both, strict=True))


def is_dense(groups: float, rate: float, rows: float) -> bool:
    """Are cells a matrix, because groups are in many slices?"""
    return occupied(groups, rows / rate) * _DENSE >= groups


@dataclass(frozen=True, slots=True)
class Answering:
    """What of a plan its answers' price rests on; nothing of it depends on the load.

    A query has a set for each of its grouping sets, or one. A set asks for kinds of partials, and has values:
    of each of its aggregates one for each kind of partials of that.
    """

    names: tuple[str, ...]  # of queries,
    slides: Floats  # in seconds,
    ranges: Floats
    columns: Floats  # of a row of their answers
    families: Ints  # those answered together have one number,
    portions: Ints  # and so have those of them that pick the same
    owners: Ints  # of sets: the query,
    feeds: Ints
    wheres: Ints  # which of the predicates
    picks: Ints  # which of the choices
    shown: Ints  # which of the shows
    alike: Ints  # sets of one window, feed and presence have one number
    asking: Ints  # of kinds that are asked for: the set,
    asked: Ints  # the kind
    valued: Ints  # of values: the set,
    valued_feeds: Ints
    valued_kinds: Ints
    predicates: tuple[str | None, ...]
    choices: tuple[Picks, ...]
    shows: tuple[tuple[Keys, Picks], ...]  # the keys that a row of answers shows, and what is picked of those

    @staticmethod
    def of(plan: StreamPlan, known: Together | None = None) -> Answering:
        """`known`: which of its queries, or of these and others, are answered together."""
        kinds = [[_KINDS[kind_of(each)] for each in feed.partials] for feed in plan.feeds]
        sets = [(at, each) for at, tap in enumerate(plan.taps) for each in tap.sets]
        predicates, wheres = _numbered([_where(plan, each) for _, each in sets])
        choices, picks = _numbered([_picks(plan, each) for _, each in sets])
        shows, shown = _numbered([_shown(plan, each) for _, each in sets])
        numbers = together(plan.taps) if known is None else known
        _, families = _numbered([numbers[tap.query.name][0] for tap in plan.taps])
        _, portions = _numbered([numbers[tap.query.name][1] for tap in plan.taps])
        _, alike = _numbered([(each.feed, each.present, each.window) for _, each in sets])
        values = [
            (at, final.feed, kind)
            for at, (_, each) in enumerate(sets)
            for final in each.finals
            for kind in (
                [_DISTINCT]
                if plan.feeds[final.feed].extra
                else dict.fromkeys(kinds[final.feed][part] for part in final.partials)
            )
        ]
        asks = dict.fromkeys((at, kind) for at, _, kind in values if kind != _DISTINCT)
        valued, valued_feeds, valued_kinds = _columns(values, 3)
        asking, asked = _columns(asks, 2)
        return Answering(
            tuple(tap.query.name for tap in plan.taps),
            np.array([tap.window.slide / SECOND for tap in plan.taps]),
            np.array([tap.window.range / SECOND for tap in plan.taps]),
            np.array([len(parts(tap.query).items) for tap in plan.taps], np.float64),
            families,
            portions,
            np.array([at for at, _ in sets], np.int64),
            np.array([each.feed for _, each in sets], np.int64),
            wheres,
            picks,
            shown,
            alike,
            asking,
            asked,
            valued,
            valued_feeds,
            valued_kinds,
            predicates,
            choices,
            shows,
        )

    def answers(self, load: Load) -> Floats:
        """Rows of answers a second, by query: groups that have a row in a window, times windows."""
        passing = np.array([1.0 if p is None else load.passing.get(p, 1.0) for p in self.predicates])
        rows = load.rows * passing[self.wheres] * self._picked(load) * self.ranges[self.owners]
        shown = [load.groups_for(keys) * _part_of(picks, load) for keys, picks in self.shows]
        mine = np.maximum(1.0, np.array(shown, np.float64)[self.shown])
        return self._by_query(self.owners, occupied_each(mine, rows)) / self.slides

    def seconds(
        self, load: Load, constants: Constants, groups: Floats, rates: Floats
    ) -> tuple[Floats, Floats]:
        """CPU-seconds a second, by query, of answering and of writing; groups and edges a second by feed."""
        c = constants
        steps = np.minimum(1 / load.step, 1 / self.slides)  # in which there is something to answer
        called = steps * (c.query + self._asking(c, rates)) / _sharing(self.families)
        answering = called + self._selecting(load, c, groups, rates)
        answering += self._values(load, c, groups, rates) / _sharing(self.portions)
        written = self.answers(load) * (c.answer + self.columns * c.value)
        return answering, steps * (c.told + c.sink) + written

    def _asking(self, c: Constants, rates: Floats) -> Floats:
        """What it takes to ask for windows, whatever these hold: for each kind of partials once."""
        called = np.array([*(c.called[kind] for kind in Kind), 0.0])
        return self._by_query(
            self.owners[self.asking],
            called[self.asked] * (1 + self._blocks(self.asking, self.asked, rates)),
        )

    def _selecting(self, load: Load, c: Constants, groups: Floats, rates: Floats) -> Floats:
        """Which groups are there, found once for all sets that are alike, and split among them."""
        sets = np.arange(len(self.owners))
        alone = self._places(sets, self.feeds, load, c, groups, rates) * c.select
        return self._by_query(self.owners, alone / _sharing(self.alike))

    def _values(self, load: Load, c: Constants, groups: Floats, rates: Floats) -> Floats:
        """What the aggregates take."""
        final = np.array([*(c.final[kind] for kind in Kind), c.distinct])
        each = final[self.valued_kinds] + self._blocks(self.valued, self.valued_kinds, rates) * c.block
        places = self._places(self.valued, self.valued_feeds, load, c, groups, rates)
        return self._by_query(self.owners[self.valued], places * self._picked(load)[self.valued] * each)

    def _blocks(self, sets: Ints, kinds: Ints, rates: Floats) -> Floats:
        """How often the slices of a window double."""
        slices = self.ranges[self.owners[sets]] * rates[self.feeds[sets]]
        return _HAS_BLOCKS[kinds] * np.log2(np.maximum(1.0, slices))

    def _places(
        self, sets: Ints, feeds: Ints, load: Load, c: Constants, groups: Floats, rates: Floats
    ) -> Floats:
        """Windows and groups that are looked at a second: all groups, where most are in most slices.

        Where they are not, only those present are, and each takes as long as some of the others.
        """
        queries, all_ = self.owners[sets], groups[feeds]
        there = c.sparse * occupied_each(all_, load.rows * self.ranges[queries])
        return np.where(self._dense(load, groups, rates)[feeds], all_, there) / self.slides[queries]

    @staticmethod
    def _dense(load: Load, groups: Floats, rates: Floats) -> Bools:
        both = zip(groups.tolist(), rates.tolist(), strict=True)
        return np.array([is_dense(each, rate, load.rows) for each, rate in both], np.bool_)

    def _picked(self, load: Load) -> Floats:
        """Which part of the groups of its feed each set picks."""
        return np.array([_part_of(picks, load) for picks in self.choices], np.float64)[self.picks]

    def _by_query(self, owners: Ints, seconds: Floats) -> Floats:
        return np.bincount(owners, seconds, len(self.names)).astype(np.float64)


def _numbered(things: Sequence[Thing]) -> tuple[tuple[Thing, ...], Ints]:
    """Things, each once, and which of them each was."""
    known: dict[Thing, int] = {}
    places = [known.setdefault(thing, len(known)) for thing in things]
    return tuple(known), np.array(places, np.int64)


def _sharing(numbers: Ints) -> Ints:
    """For each how many have its number."""
    return np.bincount(numbers)[numbers]


def _where(plan: StreamPlan, tap: Tap) -> str | None:
    where = plan.feeds[tap.feed].partials[tap.present].where
    return None if where is None else where.sql


def _picks(plan: StreamPlan, tap: Tap) -> Picks:
    return tuple((pick, plan.feeds[tap.feed].keys[pick.place].sql) for pick in tap.picks)


def _shown(plan: StreamPlan, tap: Tap) -> tuple[Keys, Picks]:
    places = tuple(dict.fromkeys(tap.grouped_by))
    picks = tuple(each for each in _picks(plan, tap) if each[0].place in places)
    return tuple(plan.feeds[tap.feed].keys[at].sql for at in places), picks


def _part_of(picks: Picks, load: Load) -> float:
    """Which part of the groups is picked."""
    return prod(_part_by(pick, key, load) for pick, key in picks)


def _part_by(pick: Pick, key: str, load: Load) -> float:
    match pick:
        case OneOf(values=values):
            taken = len(values)
        case Within(first=first, last=last):
            taken = max(0, last - first + 1)
        case HasAll(mask=mask):
            return load.part_with(text for text, bit in read_signature(key).bits.items() if mask >> bit & 1)
    return min(1.0, taken / (load.values_of(key) or load.groups))


def _columns(rows: Iterable[Sequence[int]], count: int) -> Ints:
    return np.array(list(rows), np.int64).reshape(-1, count).T
