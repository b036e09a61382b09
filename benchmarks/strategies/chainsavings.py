"""What two queries over one join cost, by how they share it: the models of the state-slice paper.

The first query joins all rows over `short`, the second those rows of the left side that pass its filter over
`long`; both streams bring `rate` rows a second. Costs are rows held, and comparisons a second. The paper
prints `rate` for the purges of the slices; a comparison for each row at each slice is counted here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TwoQueries:
    """Windows in seconds; which part of the left rows passes, and which part of the pairs matches."""

    rate: float
    short: float
    long: float
    passes: float
    match: float

    @property
    def ratio(self) -> float:
        return self.short / self.long


@dataclass(frozen=True, slots=True)
class Price:
    """Rows held; comparisons a second that grow with the square of the rate, and those that grow with it."""

    held: float
    pairs: float
    rows: float

    @property
    def work(self) -> float:
        return self.pairs + self.rows


@dataclass(frozen=True, slots=True)
class Saving:
    """Which part of the rows held, and of the comparisons of pairs, slices save."""

    held: float
    work: float


def apart(two: TwoQueries) -> Price:
    """A join for each query, the filter below its own."""
    lam, passes = two.rate, two.passes
    held = 2 * lam * two.short + (1 + passes) * lam * two.long
    return Price(held, 2 * lam**2 * (two.short + passes * two.long), (2 + 1 + 1 + passes) * lam)


def pulled_up(two: TwoQueries) -> Price:
    """One join with the longer window; its results are routed, then filtered."""
    pairs = 2 * two.rate**2 * two.long
    return Price(2 * two.rate * two.long, pairs * (1 + 2 * two.match), 2 * two.rate)


def pushed_down(two: TwoQueries) -> Price:
    """The left stream parted by the filter, a join for each part; the right stream is held twice."""
    lam, passes = two.rate, two.passes
    held = (2 - passes) * lam * two.short + (1 + passes) * lam * two.long
    probed = (1 - passes) * two.short + passes * two.long
    merged = two.match * (passes * two.long + two.short)
    return Price(held, 2 * lam**2 * (probed + merged), (1 + 3) * lam)


def sliced(two: TwoQueries) -> Price:
    """Two slices, the filter between them, and behind the first for what the second query reads of it."""
    lam, passes, longer = two.rate, two.passes, two.long - two.short
    held = 2 * lam * two.short + (1 + passes) * lam * longer
    probed = two.short + passes * longer + two.match * two.short
    return Price(held, 2 * lam**2 * probed, (1 + 3 + passes + 2) * lam)


def over_pulled_up(two: TwoQueries) -> Saving:
    """What slices save over one join for both, terms that grow with the rate alone left out (Equation 4)."""
    shorter, fails = 1 - two.ratio, 1 - two.passes
    work = (shorter * fails + (2 - two.ratio) * two.match) / (1 + 2 * two.match)
    return Saving(shorter * fails / 2, work)


def over_pushed_down(two: TwoQueries) -> Saving:
    """What slices save over a parted stream (Equation 4)."""
    ratio, passes, match = two.ratio, two.passes, two.match
    held = ratio / (1 + 2 * ratio + (1 - ratio) * passes)
    work = passes * match / (ratio * (1 - passes) + passes + passes * match + ratio * match)
    return Saving(held, work)
