"""A running query is switched to another treatment: it picks its groups by other keys from some time on.

    rows taken in    . . . . . . . . . .|. . . . . . . . . . . . . . . . .
                                        B
    windows    [ . . . . . )                      start up to B: of cells by the keys from before
                     [ . . . . . )
                           [ . . . . . )
                                   [ . . . . . )
                                         [ . . . . . )     start after B: of cells by the new keys
    both are fed                        |. . . . . |       until the last that starts up to B is answered

A window is answered by one of the two, so no cell of the one is ever combined with one of the other, and late
rows need no care: those before B concern windows of the earlier half alone, which goes on being fed. The new
half begins as a query that is added does, with the first window that the live cells hold in full (`held`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.engine.epochs import SETTLED, SWITCHED, PicksBy
from weft.engine.force import bound
from weft.engine.held import Held
from weft.log.catalog import QueryVersion, Switch
from weft.share.nodes import StreamPlan, Tap

if TYPE_CHECKING:
    from weft.engine.runtime import Runtime


def switch(runtime: Runtime, picks_by: PicksBy, why: str) -> None:
    """Record that queries pick by other keys, and go on so; those that are still being switched stay."""
    there: dict[str, Held] = {}
    found = []
    for query in runtime.program.queries:
        version = runtime.running.get(query.name)
        if version is None or _is_turning(version) or picks_by.get(query.name) in (None, version.picks_by):
            continue
        at = bound(runtime, query, there, picks_by)
        if at is not None:
            found.append(Switch(query.name, picks_by[query.name], at))
    if found:
        runtime.catalog.change(
            effective=runtime.next_batches(),
            switch=found,
            reason=SWITCHED + why,
            buckets=runtime.buckets,
        )
        runtime.renew()


def settle(runtime: Runtime) -> None:
    """Let go of what queries were answered from before, once none of a stream needs it any more."""
    done = [
        tap.query.name
        for plan in runtime.plan.streams
        if (turning := [tap for tap in plan.taps if tap.earlier is not None])
        and all(_is_answered(runtime, plan, tap) for tap in turning)
        for tap in turning
    ]
    if done:
        with runtime.lock:
            runtime.catalog.change(
                effective=runtime.next_batches(), settle=done, reason=SETTLED, buckets=runtime.buckets
            )
            runtime.renew()


def _is_answered(runtime: Runtime, plan: StreamPlan, tap: Tap) -> bool:
    """Are all windows of the earlier half?"""
    reach = runtime.states[plan.stream.name].reach
    return reach.upto(tap.window.range) >= tap.after + tap.window.range


def _is_turning(version: QueryVersion) -> bool:
    return version.switched is not None and version.switched.before is not None
