"""In which classes the rows of one side of a chain lie: apart by how long they are wanted, or together.

    apart       every row that probes looks into each class, and finds there none but its partners
    together    one look-up less, but what is wanted for short is looked at as long as what is wanted for long

Which rows are looked at is the same as in a chain whose links are cut by age, so its CPU-Opt decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.share.chain import Arrivals, Chain, ChainConstants, Chained, Condition, Reader, cpu_opt, mem_opt
from weft.share.model.load import Load
from weft.share.relations.links import Wanted
from weft.times import SECOND, Duration

# CPU-seconds, by `python -m benchmarks.pairs`: a million rows of 10,000 keys, in 1, 4 and 12 classes.
LOOKUP = 0.12e-6  # for each row that probes, in each class
CANDIDATE = 0.1e-6  # for each row of a class that is looked at
KEYS = 10_000.0  # different keys of a join, assumed where nobody has said how many groups there are
PART = 0.5  # of the rows, assumed to meet a condition of which nothing is known

Classes = tuple[tuple[Duration, ...], ...]


@dataclass(frozen=True, slots=True)
class Shelves:
    """The classes of one side: what is looked at in them, and what that costs a second."""

    classes: Classes
    held: float  # rows, those aside that are wanted for ever
    looked_at: float  # rows of a class, a second
    cost: float
    apart: float  # what a class for each range would cost


def shelves(wanted: Sequence[Wanted], keyed: bool, mine: Load, others: Load) -> Shelves:
    """The cheapest classes for the rows of one side, through which rows of the other look."""
    readers = [Reader(each.range, right=_condition(each, mine)) for each in wanted if each.range is not None]
    if not readers:
        return Shelves((), 0.0, 0.0, 0.0, 0.0)
    keys = max(keys_of(mine), keys_of(others)) if keyed else 1.0
    work = ChainConstants(purge=0.0, compare=CANDIDATE / keys, route=0.0, test=0.0, call=LOOKUP * others.rows)
    chained = Chained(readers, Arrivals(others.rows / 2, mine.rows, 0.0), work)
    best = cpu_opt(chained)
    return Shelves(
        _classes(best, chained.windows),
        _held(chained, mem_opt(chained)),
        _held(chained, best) * others.rows / keys,
        chained.cost_of(best),
        chained.cost_of(mem_opt(chained)),
    )


def keys_of(load: Load) -> float:
    """How many different keys the rows of a stream are joined on."""
    return KEYS if load.groups_by == "assumed" else load.groups


def _held(chained: Chained, chain: Chain) -> float:
    """Rows of the side itself; those that probe are not held here."""
    return sum(chained.entering(start)[1] * (end - start) / SECOND for start, end in chain.links)


def _classes(chain: Chain, ranges: Sequence[Duration]) -> Classes:
    return tuple(tuple(each for each in ranges if start < each <= end) for start, end in chain.links)


def _condition(wanted: Wanted, load: Load) -> Condition | None:
    if wanted.where is None:
        return None
    return Condition(wanted.where.sql, load.passing.get(wanted.where.sql, PART))
