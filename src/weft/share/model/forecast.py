"""What a program is predicted to cost: everything that EXPLAIN tells of it, as values."""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.share.model.change import BreakEven, break_evens
from weft.share.model.constants import SHIPPED, Constants
from weft.share.model.cost import Cost, added
from weft.share.model.load import Load, Loads
from weft.share.model.plans import SHARED, TRIWEAVE, Way, Ways
from weft.share.model.price import Priced
from weft.share.model.subplans import some_taps
from weft.share.nodes import SharedPlan, StreamPlan


@dataclass(frozen=True, slots=True)
class Basis:
    """What a prediction rests on: what streams bring, and what work takes on the machine."""

    loads: Loads = field(default_factory=Loads)
    constants: Constants = SHIPPED


@dataclass(frozen=True, slots=True)
class StreamForecast:
    """One stream: what its plan costs, what other ways to share would, and from when on they would win."""

    stream: str
    load: Load
    cost: Cost
    ways: tuple[Way, ...]
    break_evens: tuple[BreakEven, ...]
    runs: str  # the way that the plan is


@dataclass(frozen=True, slots=True)
class Forecast:
    """All streams, per second of each."""

    streams: tuple[StreamForecast, ...]
    constants: Constants

    @property
    def cost(self) -> Cost:
        return added(stream.cost for stream in self.streams)


def forecast(plan: SharedPlan, basis: Basis) -> Forecast:
    """What a program costs, and what it would cost otherwise."""
    streams = tuple(_stream(stream, basis) for stream in plan.streams)
    return Forecast(streams, basis.constants)


def cost_of(plan: StreamPlan, basis: Basis) -> Cost:
    """What one stream costs."""
    return Priced.of(plan, basis.constants, basis.loads.of(plan.stream.name)).cost()


def cost_alone(plan: StreamPlan, query: str, basis: Basis) -> float:
    """What a query would cost as a job of its own."""
    taps = [tap for tap in plan.taps if tap.query.name == query]
    return cost_of(some_taps(plan, taps), basis).total


def _stream(plan: StreamPlan, basis: Basis) -> StreamForecast:
    load, ways = basis.loads.of(plan.stream.name), Ways(plan, basis.constants)
    cost, strands = cost_of(plan, basis), {feed.strand for feed in plan.feeds}
    found, runs = ways.all(load), SHARED
    if len(strands) > 1:
        runs = TRIWEAVE
        found = [Way(runs, cost.total, len(strands)) if way.name == runs else way for way in found]
    return StreamForecast(plan.stream.name, load, cost, tuple(found), tuple(break_evens(ways, load)), runs)
