"""Snapshots of the live state, and its rebuilding after a stop of any kind.

    snapshot ── batches of committed steps ── intended step ── batches not yet stepped
       load            fold only               do again           the next step

A snapshot stands for all batches before it, so their files can go.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from weft.engine.bucketed import Bucketed
from weft.engine.census import Census
from weft.engine.ingest import feed_key
from weft.engine.relations.bucket import Moment, moment_of, saved_table
from weft.engine.relations.state import Relations
from weft.engine.step import StreamState
from weft.engine.tally import Tally
from weft.engine.windows import Reach
from weft.log.bundle import Bundle
from weft.log.durable import damaged
from weft.log.snapshots import Snapshot
from weft.times import BEGINNING

if TYPE_CHECKING:
    from weft.engine.runtime import Runtime


def save(runtime: Runtime) -> None:
    """Write a snapshot of the state after the last step, and drop the batches it stands for."""
    tables: dict[str, pa.Table] = {}
    written: list[Bundle] = []
    feeds: list[dict[str, Any]] = []
    for stream, state in runtime.states.items():
        own, others = state.save(runtime.snapshots.stem(runtime.step_number))
        tables |= own
        written += others
        feeds += _described(stream, state, runtime.buckets)
    tables |= runtime.relations.save()
    written += runtime.spreads.save(runtime.snapshots.stem(runtime.step_number))
    meta = {
        "step": runtime.step_number,
        "epoch": runtime.epoch,
        "positions": runtime.positions,
        "tables": runtime.tables.taken,
        "reach": {name: [s.reach.watermark, s.reach.drained] for name, s in runtime.states.items()},
        "folded": runtime.folded,
        "first": runtime.first,
        "settled": runtime.relations.settled,
        "flows": sorted(runtime.relations.flows.names),
        "feeds": feeds,
        "tally": runtime.tally.to_json(),
        "census": runtime.census.to_json(),
    }
    runtime.snapshots.write(runtime.step_number, meta, tables, written)
    for held in (*runtime.states.values(), runtime.spreads):
        held.saved_as(runtime.step_number)
    horizon = runtime.snapshots.horizon() or {}
    _expire_tables(runtime, horizon)
    for stream, position in horizon.get("positions", {}).items():
        if stream in runtime.logs:
            gone = min(position, _before_needed(runtime, stream, horizon))
            runtime.logs[stream].expire(gone)
            runtime.relations.arrivals.forget(stream, gone)


def _expire_tables(runtime: Runtime, horizon: Mapping[str, Any]) -> None:
    if horizon:
        reach = {name: Reach(*pair) for name, pair in horizon["reach"].items()}
        runtime.tables.expire(lambda table: runtime.relations.seen_from(table, reach))


def _before_needed(runtime: Runtime, stream: str, horizon: Mapping[str, Any]) -> int:
    """The last batch before all that hold a row which relations would need, were the snapshot read now."""
    reach = {name: Reach(*pair) for name, pair in horizon["reach"].items()}
    needs = [held.needed_from(stream, reach) for held in (runtime.relations, runtime.spreads)]
    since = min((each for each in needs if each is not None), default=None)
    if since is None:
        return runtime.logs[stream].next - 1
    latest = {one.number: one.meta["max_time"] for one in runtime.logs[stream].records()}
    needed = [number for number, at in latest.items() if at is not None and at >= since]
    return min(needed, default=runtime.logs[stream].next) - 1


def _described(stream: str, state: StreamState | Bucketed, buckets: int) -> list[dict[str, Any]]:
    whole, keys = state.held().partials, [feed_key(feed) for feed in state.plan.feeds]
    return [
        {
            "stream": stream,
            "feed": at,
            "extra": key[0],
            "keys": list(key[1]),
            "inner": key[2],
            "strand": key[3],
            "whole": whole.get(key, {}),
            "buckets": buckets,
        }
        for at, key in enumerate(keys)
    ]


def find(runtime: Runtime) -> Snapshot | None:
    """The snapshot to start from; the log must hold all that came after it."""

    def reaches(meta: Mapping[str, Any]) -> bool:
        positions = meta.get("positions", {})
        follows = all(log.reaches(positions.get(name, -1)) for name, log in runtime.logs.items())
        return follows and runtime.answers.first <= meta.get("step", -1) + 1

    snapshot = runtime.snapshots.latest(reaches)
    _check_together(runtime, snapshot)
    return snapshot


def _check_together(runtime: Runtime, snapshot: Snapshot | None) -> None:
    """Refuse a home of which a part is older than the rest, or gone."""
    answers, ingested = runtime.answers, any(log.next for log in runtime.logs.values())
    if not runtime.catalog.epochs and (answers.next or ingested):
        raise damaged(runtime.catalog.path_of(0), "it is missing")
    if snapshot is not None and answers.next <= snapshot.step:
        raise damaged(answers.path_of(answers.next), "it is missing")
    done = [record.meta["positions"] for record in (answers.last, answers.pending()) if record is not None]
    done += [snapshot.meta["positions"]] if snapshot is not None else []
    for name, log in runtime.logs.items():
        if any(positions.get(name, -1) >= log.next for positions in done):
            raise damaged(log.path_of(log.next), "it is missing")
    steps = [record for record in (answers.last, answers.pending()) if record is not None]
    used = [step.meta.get("tables", {}) for step in steps]
    for name, table in runtime.tables.logs.items():
        if any(versions.get(name, -1) >= table.next for versions in used):
            raise damaged(table.path_of(table.next), "it is missing")


def was_in_buckets(runtime: Runtime, snapshot: Snapshot | None) -> bool:
    """Did the last run leave its cells apart by bucket, so that no bucket needs those of another?"""
    feeds, epoch = (snapshot.meta["feeds"], snapshot.meta["epoch"]) if snapshot is not None else ([], -1)
    batches = [record for log in runtime.logs.values() for record in log.records()] if not feeds else []
    changes = runtime.catalog.epochs[epoch + 1 :]  # one decided elsewhere may count on cells of many buckets
    return (
        all(about["buckets"] for about in feeds)
        and all(record.meta["buckets"] for record in batches)
        and all(change.buckets for change in changes)
    )


def recall(runtime: Runtime, snapshot: Snapshot | None) -> None:
    """What the last run had counted, before a plan is made that may rest on it."""
    if snapshot is not None:
        runtime.folded = dict(snapshot.meta["folded"])
        runtime.first = dict(snapshot.meta["first"])
        runtime.tally = Tally(snapshot.meta["tally"])
        runtime.census = Census(snapshot.meta.get("census"))


def restore(runtime: Runtime, snapshot: Snapshot | None) -> None:
    """Bring a newly opened runtime to where the last one was, and finish what it had begun."""
    if snapshot is not None:
        _load(runtime, snapshot.meta, snapshot)
    for record in runtime.answers.records(after=runtime.step_number):
        runtime.tally.add(record.meta["counts"])
        _set_reach(runtime, record.meta["reach"])
        runtime.tables.take(record.meta.get("tables", {}), runtime.relations.revise)
        _fold(runtime, record.meta["positions"])
        _tell_silently(runtime, record.meta)
        runtime.step_number = record.number
        _take_out(runtime, record.meta["stopped"])
    for state in (*runtime.states.values(), runtime.spreads):
        state.load()
    pending = runtime.answers.pending()
    if pending is not None:
        runtime.do(pending.number, pending.meta)


def _take_out(runtime: Runtime, stopped: Mapping[str, str]) -> None:
    """Queries that stopped with a step are out of force after it, if a crash came between the two."""
    running = runtime.running.values()
    late = {query.name: stopped[query.key] for query in running if query.key in stopped}
    if late:
        runtime.take_out(late)


def _load(runtime: Runtime, meta: Mapping[str, Any], snapshot: Snapshot) -> None:
    runtime.step_number = meta["step"]
    runtime.positions = dict(meta["positions"])
    _set_reach(runtime, meta["reach"])
    load_states(runtime, snapshot)
    runtime.tables.take(meta.get("tables", {}), runtime.relations.revise)
    load_relations(runtime, snapshot)


def load_relations(runtime: Runtime, snapshot: Snapshot) -> None:
    """Bring relations to where they were: their rows lie in the log, and what they told was told."""
    meta, then = snapshot.meta, moment_of(snapshot.meta)
    runtime.spreads.begin(snapshot.step, then)
    if not runtime.relations:
        return
    settled = meta.get("settled", BEGINNING)
    runtime.relations.restore(lambda name: saved_table(snapshot, name), then.reach, settled)
    _read_again(runtime, runtime.relations, meta["positions"])
    runtime.relations.refilled(then.reach, runtime.folded, runtime.first)
    runtime.relations.late()
    runtime.relations.failed()


def warm(runtime: Runtime, queries: Collection[str]) -> None:
    """Bring queries that were just added to where they would be, had they always been there."""
    if not queries:
        return
    aside = runtime.relations.aside(queries)
    _read_again(runtime, aside, runtime.positions)
    aside.refilled(
        {name: state.reach for name, state in runtime.states.items()}, runtime.folded, runtime.first
    )
    runtime.relations.take_over(aside)


def _read_again(runtime: Runtime, relations: Relations, positions: Mapping[str, int]) -> None:
    """The rows of all batches of the log up to some."""
    for stream, position in positions.items():
        records = runtime.logs[stream].records() if stream in runtime.logs else []
        for record in (one for one in records if one.number <= position):
            rows = runtime.fresh.rows(stream, record)
            if rows is not None:
                relations.refill(stream, record.number, rows)


def _tell_silently(runtime: Runtime, meta: Mapping[str, Any]) -> None:
    reach = {name: Reach(*pair) for name, pair in meta["reach"].items()}
    runtime.spreads.catch_up(Moment(dict(meta["positions"]), reach, dict(runtime.folded)))
    runtime.relations.answer(reach, runtime.folded, runtime.first)
    runtime.relations.late()
    runtime.relations.failed()


def load_states(runtime: Runtime, snapshot: Snapshot) -> None:
    """Bring the cells of a snapshot into the states of all streams, or tell those in buckets of it."""
    for state in runtime.states.values():
        state.begin(snapshot)


def _set_reach(runtime: Runtime, reach: dict[str, list[int]]) -> None:
    for name, pair in reach.items():
        runtime.reached[name] = Reach(*pair)
        if name in runtime.states:
            runtime.states[name].reach = Reach(*pair)


def _fold(runtime: Runtime, positions: dict[str, int]) -> None:
    for stream, record in runtime.records_upto(positions):
        runtime.fold(stream, record)
    runtime.positions = dict(positions)
    for state in runtime.states.values():
        state.settle()
