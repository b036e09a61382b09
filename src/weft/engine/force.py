"""Which program is in force: what of it is new is recorded, and what is held goes on under its plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from weft.engine.bucketed import Bucketed
from weft.engine.buckets import spread
from weft.engine.epochs import PicksBy, Whole, change, recorded
from weft.engine.held import Held, first_bound
from weft.engine.knowledge import basis_of
from weft.engine.recovery import warm
from weft.engine.step import StreamState
from weft.engine.windows import Reach
from weft.plan.nodes import Program, Query, Related
from weft.plan.relationtree import streams, tables
from weft.share.nodes import SharedPlan, StreamPlan
from weft.share.parts import parts
from weft.times import BEGINNING, Instant

if TYPE_CHECKING:
    from weft.engine.runtime import Runtime


def put_in_force(runtime: Runtime, program: Program) -> None:
    """Record what queries of the program are new or gone, and go on with it."""
    plan = planned(runtime, program)
    picked = runtime.planner.hidden()
    there: dict[str, Held] = {}
    changed = change(
        runtime.catalog,
        program,
        runtime.texts,
        lambda query: bound(runtime, query, there, picked),
        picked,
        _whole(runtime, plan),
    )
    if changed:
        runtime.catalog.change(
            effective=runtime.next_batches(),
            add=changed.add,
            drop=changed.drop,
            streams=changed.streams,
            buckets=runtime.buckets,
        )
    if changed or program != runtime.program:
        adopt(runtime, program, plan)
        warm(runtime, [new.name for new in changed.add if new.whole])


def planned(runtime: Runtime, program: Program) -> SharedPlan:
    """The plan of the queries that are to be in force."""
    found = recorded(runtime.catalog, program, runtime.texts)
    return runtime.planner.plan(found.program, found.picks_by, basis_of(runtime), turns=found.turns)


def bound(runtime: Runtime, query: Query, there: dict[str, Held], picked: PicksBy) -> Instant | None:
    """After which time the windows of a query that is added now start; None: there were no rows yet.

    `there` is what streams hold, as far as it was asked for.
    """
    if isinstance(query.plan, Related):
        times = [runtime.latest.get(name, BEGINNING) for name in streams(query.plan.relation)]
        latest = max(times, default=BEGINNING)
        return latest if latest > BEGINNING else None
    name = parts(query).stream
    latest = runtime.latest.get(name, BEGINNING)
    if latest == BEGINNING or name not in runtime.states:
        return None if latest == BEGINNING else latest
    if name not in there:
        there[name] = runtime.states[name].held()
    plan = runtime.planner.alone(query.name, picked[query.name])
    return first_bound(plan, there[name], runtime.states[name].reach, latest)


def _whole(runtime: Runtime, plan: SharedPlan) -> Whole:
    """Which queries over several sources, if added now, begin as if they had always been there.

    Beside buckets none does: what these hold is not filled from the log while they go on.
    """
    asked = {} if runtime.crew else {each.query.name: each.relation for each in plan.related}
    vouching = runtime.relations.vouching({name: state.reach for name, state in runtime.states.items()})
    return lambda query: query.name in asked and vouching.is_whole(asked[query.name])


def adopt(runtime: Runtime, program: Program, plan: SharedPlan) -> None:
    """Bring the live state under the plan of the queries in force."""
    runtime.running = {query.name: query for query in runtime.catalog.queries()}
    runtime.woven = plan
    if runtime.crew is not None:
        plan = replace(plan, streams=tuple(spread(stream) for stream in plan.streams))
    floors = {query.name: query.bound for query in runtime.running.values() if query.bound is not None}
    whole = frozenset(query.name for query in runtime.running.values() if query.whole)
    basis = basis_of(runtime)
    here = runtime.spreads.adopt(plan, program, floors, whole, basis)
    parted = [runtime.spreads.parted(stream, here, program.tables) for stream in plan.streams]
    runtime.program, runtime.plan = program, replace(plan, streams=tuple(parted))
    runtime.epoch = runtime.catalog.epochs[-1].number
    _adopt_streams(runtime, floors)
    runtime.told = max([runtime.told, *(floors[name] + 2 for name in _reading_tables(program, floors))])
    runtime.relations.adopt(here, program, floors, whole, basis)


def _reading_tables(program: Program, floors: Mapping[str, Instant]) -> list[str]:
    """The queries that came later and read tables: what these become from now on is told as a change."""
    return [
        query.name
        for query in (program.queries if program.tables else ())
        if query.name in floors and isinstance(query.plan, Related) and tables(query.plan.relation)
    ]


def _adopt_streams(runtime: Runtime, floors: Mapping[str, Instant]) -> None:
    plans, states = {plan.stream.name: plan for plan in runtime.plan.streams}, runtime.states
    for name, plan in plans.items():
        if name in states:
            states[name].adopt(plan, floors)
        else:
            states[name] = _new_state(runtime, plan, floors)
            states[name].reach = runtime.reached.get(name, Reach())
    for name in states.keys() - plans.keys():
        states[name].adopt(replace(states[name].plan, taps=(), feeds=(), standing=(), intake=None), {})


def _new_state(runtime: Runtime, plan: StreamPlan, floors: Mapping[str, Instant]) -> StreamState | Bucketed:
    if runtime.crew is None:
        return StreamState(plan, floors)
    return Bucketed(plan, floors, runtime.place_of(runtime.crew), runtime.positions.get(plan.stream.name, -1))
