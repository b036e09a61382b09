"""In which classes the rows of one side of a chain lie: apart by how long they are wanted, or together.

    apart       every row that probes looks into each class, and finds there none but its partners
    together    one look-up less, but what is wanted for short is looked at as long as what is wanted for long

Which rows are looked at is the same as in a chain whose links are cut by age, so its CPU-Opt decides, by what
was counted of the streams and what a look-up takes on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.share.chain import Arrivals, Chain, ChainConstants, Chained, Condition, Reader, cpu_opt, mem_opt
from weft.share.model.constants import Constants
from weft.share.model.load import Load
from weft.share.relations.flows import passing
from weft.share.relations.links import Wanted
from weft.times import SECOND, Duration

Classes = tuple[tuple[Duration, ...], ...]


@dataclass(frozen=True, slots=True)
class Shelves:
    """The classes of one side: what is looked at in them, and what that costs a second."""

    classes: Classes
    kept: float = 0.0  # rows put there, a second
    held: float = 0.0  # rows, those aside that are wanted for ever
    looked_at: float = 0.0  # rows of a class, a second
    cost: float = 0.0
    apart: float = 0.0  # what a class for each range would cost


@dataclass(frozen=True, slots=True)
class Probed:
    """Who looks through the rows of a side, how many keys these have, and what it takes to look."""

    others: Load
    keys: float
    constants: Constants


def shelves(wanted: Sequence[Wanted], mine: Load, probed: Probed, classes: Classes | None = None) -> Shelves:
    """What the rows of one side cost in these classes; in the cheapest, if they are of other lengths."""
    readers = [Reader(each.range, right=_condition(each, mine)) for each in wanted if each.range is not None]
    if not readers:
        return Shelves(())
    rate, keys, each = probed.others.rows, probed.keys, probed.constants
    work = ChainConstants(
        purge=0.0, compare=each.looked / keys, route=0.0, test=0.0, call=each.lookup * rate
    )  # fmt: skip
    chained = Chained(readers, Arrivals(rate / 2, mine.rows, 0.0), work)
    least = mem_opt(chained)
    lengths = tuple(each for some in classes or () for each in some)
    best = (
        Chain(tuple(each[-1] for each in classes or ())) if lengths == chained.windows else cpu_opt(chained)
    )
    return Shelves(
        _classes(best, chained.windows),
        chained.entering(0)[1],
        _held(chained, least),
        _held(chained, best) * rate / keys,
        chained.cost_of(best),
        chained.cost_of(least),
    )


def _held(chained: Chained, chain: Chain) -> float:
    """Rows of the side itself; those that probe are not held here."""
    return sum(chained.entering(start)[1] * (end - start) / SECOND for start, end in chain.links)


def _classes(chain: Chain, ranges: Sequence[Duration]) -> Classes:
    return tuple(tuple(each for each in ranges if start < each <= end) for start, end in chain.links)


def _condition(wanted: Wanted, load: Load) -> Condition | None:
    return None if wanted.where is None else Condition(wanted.where.sql, passing(load, wanted.where))
