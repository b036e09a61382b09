"""While a program runs: are its queries still treated as they should be, by what its streams bring now?

Looked at after every sixteenth batch, which is when values of keys are counted. A switch has to pay at two
looks in a row; while one is under way, and for an hour of the stream after it began, there is no other. So a
load that goes up and down costs one switch an hour at most.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from weft.engine.calibration import constants_of
from weft.engine.census import LOOK
from weft.engine.knowledge import ENOUGH
from weft.engine.runtime import Runtime
from weft.share.model.forecast import Basis
from weft.share.model.measured import Measured
from weft.share.model.offer import Limits, Offer
from weft.share.nodes import StreamPlan
from weft.share.reconsider import best_offer
from weft.times import BEGINNING, SECOND

RARELY = 100  # times as long as a look took, until the next: it is to take a hundredth of the time at most

_log = logging.getLogger("weft")


class Replanning:
    """Looks at a runtime, in a thread of its own, and switches queries where that pays."""

    def __init__(self, limits: Limits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits or Limits(), clock
        self._looked: dict[str, int] = {}  # by stream: how many batches it had
        self._found: dict[
            str, list[Offer]
        ] = {}  # by stream: what paid at the last looks, one after the other
        self._not_before = 0.0

    def review(self, runtime: Runtime, measured: Callable[[], Measured]) -> None:
        """Now and then: switch queries of a stream if that pays, as it did when it was last looked at."""
        with runtime.lock:
            due = [plan.stream.name for plan in runtime.plan.streams if self._is_due(runtime, plan)]
        if not due or self._clock() < self._not_before:
            return
        began, counted = self._clock(), measured()
        for stream in due:
            self._look(runtime, stream, counted)
        self._not_before = self._clock() + RARELY * (self._clock() - began)

    def _is_due(self, runtime: Runtime, plan: StreamPlan) -> bool:
        name = plan.stream.name
        batches = runtime.positions.get(name, -1) // LOOK
        return bool(plan.taps) and batches != self._looked.get(name) and not self._rests(runtime, plan)

    def _rests(self, runtime: Runtime, plan: StreamPlan) -> bool:
        """Is a switch under way, or was there one not long ago?"""
        since = max((tap.after for tap in plan.taps), default=BEGINNING)
        if since == BEGINNING:
            return False
        passed = (runtime.folded.get(plan.stream.name, since) - since) / SECOND
        return any(tap.earlier is not None for tap in plan.taps) or passed < self._limits.rest

    def _look(self, runtime: Runtime, name: str, measured: Measured) -> None:
        self._looked[name] = runtime.positions.get(name, -1) // LOOK
        try:
            offer, epoch = self._offer(runtime, name, measured)
        except Exception:  # a price that cannot be told is no reason to end a run that answers
            _log.exception("stream %s: whether another plan is better cannot be told", name)
            return
        before = self._found.pop(name, [])
        if offer is None:
            return
        same = [each for each in before if each.picks_by == offer.picks_by]
        if len(same) + 1 < self._limits.looks:
            self._found[name] = [*same, offer]
            return
        why = offer.show(self._limits)
        if runtime.switch(offer.picks_by, why, epoch):
            _log.info("stream %s is planned anew: %s", name, why)

    def _offer(self, runtime: Runtime, stream: str, measured: Measured) -> tuple[Offer | None, int]:
        """What pays, and the epoch that it was found of: in another, queries may be others by their names."""
        counted = measured.streams.get(stream)
        with runtime.lock:
            epoch, plan, _ = runtime.terms(stream)
            if plan is None or counted is None or counted.rows < ENOUGH:
                return None, epoch
            hidden = {name: query.picks_by for name, query in runtime.running.items()}
            taken = runtime.taken(stream)
        basis = Basis(measured.loads(), constants_of(runtime.home.path))
        return best_offer(taken, plan, hidden, basis, self._limits), epoch
