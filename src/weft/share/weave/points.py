"""Edges as points: each stands for a part of the time line, and knows which classes have an edge there.

    every 4 s   |       |       |       |        a period of 12 s has three kinds of points:
    every 6 s   |           |           |        both (1), the first alone (2), the second alone (1)

The edge rate of any union of classes is the sum of the weights of the points that one of them has. Where
the slides have a short common period all of its edges are there, and rates are exact. Elsewhere points are
drawn at random from the edges of each class, and weighted so that every rate is right on the average.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd, lcm

import numpy as np
import numpy.typing as npt

from weft.share.slicing import Pair
from weft.share.weave.classes import EdgeClass
from weft.times import SECOND

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LONGEST = 1 << 17  # points of a period that are looked at one by one
SAMPLED = 1 << 14  # points in all, where there are too many,
FEWEST = 12  # but at least so many of each class
_FAR = 1 << 51  # sampled points lie up to here, in units of the common divisor,
_EDGES = 1 << 12  # or among so many edges
_END = 1 << 62  # of which none lies further
_SMALL = 1 << 30  # below, numbers are divided several times as fast
_WHOLE = 1 << 52  # below, floating-point numbers tell whole numbers from others


@dataclass(frozen=True, slots=True)
class Points:
    """`owners[at]` has an edge at the point `points[at]`; sorted by owner, then point."""

    weights: Floats  # of each point, in edges a second
    points: Ints
    owners: Ints
    exact: bool

    def rate(self, classes: Sequence[int]) -> float:
        """Edges a second of some classes together."""
        return float(self.weights[self.held(classes)].sum())

    def held(self, classes: Sequence[int]) -> Bools:
        """The points that one of the classes has."""
        held = np.zeros(len(self.weights), bool)
        starts, ends = (np.searchsorted(self.owners, classes, side) for side in ("left", "right"))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            held[self.points[start:end]] = True
        return held


def points_of(
    classes: Sequence[EdgeClass], seed: int = 0, longest: int = LONGEST, sampled: int = SAMPLED
) -> Points:
    """All points of one period if it is not too long, else a sample."""
    unit = gcd(*(part for one in classes for pair in one.pairs for part in pair)) or 1
    scaled = [tuple((s // unit, p // unit) for s, p in one.pairs) for one in classes]
    period = period_of((pairs[0][0] for pairs in scaled), longest)
    if period is None:
        return _sample(scaled, SECOND / unit, seed, max(FEWEST, sampled // max(1, len(classes))))
    return _enumerate(scaled, SECOND / unit, period)


def _enumerate(classes: Sequence[tuple[Pair, ...]], units: float, period: int) -> Points:
    """One point for each set of classes that have a common edge, weighted by how often they do."""
    names = np.random.default_rng(1).integers(1, 1 << 62, len(classes))
    who = np.zeros(period, np.int64)  # by its name, which of the sets has an edge there: 0, none
    for name, pairs in zip(names, classes, strict=True):
        for slide, phase in pairs:
            who[phase % slide :: slide] ^= name
    places = np.flatnonzero(who)
    _, first, counts = np.unique(who[places], return_index=True, return_counts=True)
    points, owners = _edges_at(places[first], classes)
    return Points(np.asarray(counts * (units / period), np.float64), points, owners, True)


def _sample(classes: Sequence[tuple[Pair, ...]], units: float, seed: int, each: int) -> Points:
    """Points from the edges of each class; the more classes could have drawn a point, the less it weighs."""
    times = _draw(classes, seed, each)
    points, owners = _edges_at(times, classes)
    rates = np.array([sum(units / slide for slide, _ in pairs) for pairs in classes])
    chances = np.bincount(points, weights=(each / rates)[owners], minlength=len(times))
    return Points(1.0 / chances, points, owners, False)


def _draw(classes: Sequence[tuple[Pair, ...]], seed: int, each: int) -> Ints:
    """So many edges of each class, at random."""
    random = np.random.default_rng(seed)
    drawn = []
    for pairs in classes:
        slides, phases = np.array(pairs).T
        pick = random.integers(0, len(pairs), each)
        drawn.append(an_edge_of(slides[pick], phases[pick], random))
    return np.concatenate(drawn)


def an_edge_of(slides: Ints, phases: Ints, random: np.random.Generator) -> Ints:
    """Of each of these one edge, any; of very long slides not just the first, which all may have."""
    count = np.maximum(_FAR // slides, np.clip(_END // slides, 1, _EDGES))
    return phases + slides * random.integers(0, count)


def entries_at(first: Ints, points: Ints) -> tuple[Ints, Ints]:
    """The entries of these points, where those of one begin at its `first`; and how many of each."""
    starts, lengths = first[points], first[points + 1] - first[points]
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum())), lengths


@dataclass(frozen=True, slots=True)
class Probes:
    """Edges of some classes at known times, to be looked for among those of others."""

    times: Ints
    weights: Floats  # in edges a second; their sum is the rate of the classes together
    unit: int  # of the times, in microseconds

    @property
    def rate(self) -> float:
        return float(self.weights.sum())

    def common(self, others: Iterable[Sequence[Pair]]) -> float:
        """Edges a second that these have in common with one of the others."""
        held = np.zeros(len(self.times), bool)
        for pairs in others:
            held |= has_edge(self.times, [(slide // self.unit, phase // self.unit) for slide, phase in pairs])
        return float(self.weights[held].sum())


def probes_of(
    classes: Sequence[Sequence[Pair]], others: Iterable[Sequence[Pair]], seed: int = 0, most: int = 1 << 10
) -> Probes:
    """Edges of `classes`: all in the common period with the others if that is short, else a sample."""
    everything = [pair for pairs in (*classes, *others) for pair in pairs]
    unit = gcd(*(part for pair in everything for part in pair)) or 1
    mine = [tuple((s // unit, p // unit) for s, p in pairs) for pairs in classes]
    period = period_of((slide // unit for slide, _ in everything), most)
    if period is not None:
        times = np.flatnonzero(np.any([has_edge(np.arange(period), pairs) for pairs in mine], axis=0))
        return Probes(times, np.full(len(times), SECOND / unit / period), unit)
    each = max(FEWEST, most // len(mine))
    times = _draw(mine, seed, each)
    chances = sum(
        has_edge(times, pairs) * (each / sum(SECOND / unit / slide for slide, _ in pairs)) for pairs in mine
    )
    return Probes(times, 1.0 / np.asarray(chances), unit)


def period_of(slides: Iterable[int], longest: int) -> int | None:
    """The least common multiple; None if it is longer."""
    period = 1
    for slide in slides:
        period = lcm(period, slide)
        if period > longest:
            return None
    return period


def _edges_at(times: Ints, classes: Sequence[tuple[Pair, ...]]) -> tuple[Ints, Ints]:
    """Which classes have an edge at which of the times: places of times, and of classes."""
    at = _quick(times)
    found = [np.flatnonzero(has_edge(at, pairs)) for pairs in classes]
    owners = np.repeat(np.arange(len(classes)), [len(at) for at in found])
    return np.concatenate(found) if found else np.zeros(0, np.int64), owners


def has_edge(times: Floats | Ints, pairs: Sequence[Pair]) -> Bools:
    """Whether a class has an edge at each of the times, which are whole numbers, whatever their type."""
    found = np.zeros(len(times), bool)
    at = _quick(times)
    for slide, phase in pairs:
        found |= _divides(at - phase, slide)
    return found


def _quick(times: Floats | Ints) -> Floats | Ints:
    """The same whole numbers, as floating-point ones if these are told apart."""
    as_they_are = times.dtype == np.float64 or times.max(initial=0) >= _WHOLE
    return times if as_they_are else times.astype(np.float64)


def _divides(numbers: Floats | Ints, by: int) -> Bools:
    """Which whole numbers are multiples; of floating-point numbers that is told several times as fast.

    Below 2^52 a quotient that is not whole lies further from a whole number than it is rounded.
    """
    if numbers.dtype == np.int64:
        return np.asarray(numbers % by == 0)
    quotient = numbers / by
    return np.asarray(quotient == np.floor(quotient))


def common_rates(classes: Sequence[EdgeClass]) -> Floats:
    """Edges a second that each two classes have in common, exactly: see `density.common`."""
    unit = gcd(*(part for one in classes for pair in one.pairs for part in pair)) or 1
    scaled = [[(slide // unit, phase // unit) for slide, phase in one.pairs] for one in classes]
    small = all(slide < _SMALL for pairs in scaled for slide, _ in pairs)
    whole = np.dtype(np.int32 if small else np.int64)
    slides, which = np.unique(np.array([pairs[0][0] for pairs in scaled], whole), return_inverse=True)
    phases = [column.astype(whole) for column in _columns([[p for _, p in pairs] for pairs in scaled])]
    long, rates = slides.astype(np.int64) * unit, np.empty((len(classes), len(classes)))
    for at, slide in enumerate(slides):  # the classes of one slide: what follows from slides is found once
        mine = np.flatnonzero(which == at)
        steps = np.gcd(slide, slides)
        # how often two phases meet, if they ever do
        once = SECOND * (steps.astype(np.int64) * unit / long[at] / long)
        rates[mine] = once[which] * _meetings([column[mine] for column in phases], phases, steps[which])
    return rates


def _meetings(mine: Sequence[Ints], others: Sequence[Ints], steps: Ints) -> Floats:
    """How many phases of each class of the one and of each of the other meet."""
    meet = np.zeros((len(mine[0]), len(steps)), np.int8)
    for one in mine:
        for other in others:
            both = (one[:, None] >= 0) & (other >= 0)
            meet += both & ((one[:, None] - other) % steps == 0)
    return meet.astype(np.float64)


def _columns(phases: Sequence[Sequence[int]]) -> list[Ints]:
    """The first phase of each class, the second of each; -1 where it has none."""
    most = max((len(each) for each in phases), default=0)
    return [np.array([each[at] if at < len(each) else -1 for each in phases], np.int64) for at in range(most)]
