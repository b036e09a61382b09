"""What another treatment for queries that run is worth: what it saves, and what the switch takes.

    now    ________
                   |‾‾‾‾‾‾‾‾‾‾‾‾|  both are fed until the last window from before is answered: the price
    then                        |____________________  what is saved from then on, second by second

The price is what feeding both takes, for as long as the longest window is, and the code of level 1, which is
made and compiled anew twice. A switch pays if the price is saved again within the horizon. It must also save
a good part of what depends on treatments at all: the model is not true to the last tenth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.share.model.figures import cpu
from weft.times import SECOND, show_duration

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """When a switch pays."""

    horizon: float = 3600.0  # seconds of stream within which it is to be paid for, or the longest window
    gain: float = 0.2  # of what the stream takes, batches and steps that hold nothing aside
    code: float = 10.0  # CPU-seconds that new code of level 1 takes, in the beginning and in the end
    rest: float = 3600.0  # seconds of stream from one switch to the next
    looks: int = 2  # in a row at which it has to pay


@dataclass(frozen=True, slots=True)
class Offer:
    """Other treatments for some queries. Costs are CPU-seconds for each second of stream."""

    picks_by: Mapping[str, Keys]  # by query that changes
    what: str  # from what to what
    now: float
    then: float
    both: float  # while both are fed
    fixed: float  # of each of them, whatever batches and steps hold
    seconds: float  # of stream for which both are fed

    @property
    def gain(self) -> float:
        return self.now - self.then

    def price(self, limits: Limits) -> float:
        """CPU-seconds that the switch takes."""
        return max(0.0, self.both - self.now) * self.seconds + limits.code

    def paid_within(self, limits: Limits) -> float:
        """Seconds of stream, from when the new treatment is alone."""
        return self.price(limits) / self.gain if self.gain > 0 else float("inf")

    def pays(self, limits: Limits) -> bool:
        """Is it worth the switch?"""
        saves_much = self.gain >= limits.gain * (self.now - self.fixed)
        return saves_much and self.paid_within(limits) <= max(limits.horizon, self.seconds)

    def show(self, limits: Limits) -> str:
        """`20 queries from key sym to rows asked: 12 ms instead of 80 ms CPU time for each second ...`."""
        count = len(self.picks_by)
        queries = "1 query" if count == 1 else f"{count} queries"
        then, now = cpu(self.then - self.fixed), cpu(self.now - self.fixed)
        saved = f"{then} instead of {now} CPU time for each second of stream, what is fixed aside"
        paid = show_duration(max(1, round(self.paid_within(limits))) * SECOND)
        return f"{queries} from {self.what}: {saved}, paid for within {paid}"
