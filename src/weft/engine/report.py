"""How a program stands, put together from the runtime, its sinks and the pace of its streams."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from weft.engine.delivery import SinkStatus
from weft.engine.epochs import failures
from weft.engine.runtime import Runtime
from weft.engine.status import QueryStatus, Status, StreamStatus, TableStatus
from weft.engine.windows import needed_from
from weft.lang.bodies import Emission
from weft.lang.statements import WindowSpec
from weft.log.catalog import QueryVersion
from weft.plan.relationpatterns import has_lives
from weft.plan.relations import AsOf, Emitted, Relation
from weft.plan.relationtree import streams, walk
from weft.share.nodes import Tap, Woven
from weft.share.show import show_window
from weft.times import BEGINNING, Instant, show_duration, show_instant


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a stream comes in."""

    rows_per_second: float
    batch_seconds: float
    state: str


def report(
    runtime: Runtime,
    sinks: Mapping[str, SinkStatus],
    pace: Mapping[str, Pace],
    placed: str = "",
    unread: Mapping[str, str] | None = None,
    state: str = "running",
) -> Status:
    """The status of a program, as of now; `placed` tells where its cells are, `unread` of tables why not."""
    with runtime.lock:  # the program in force does not change meanwhile
        found = replace(_report(runtime, sinks, pace), placement=placed, state=state)
        return replace(found, tables=_table_statuses(runtime, unread or {}))


def _table_statuses(runtime: Runtime, unread: Mapping[str, str]) -> tuple[TableStatus, ...]:
    found = {name: log.last for name, log in runtime.tables.logs.items()}
    flows = tuple(
        TableStatus(flow.table.name, 0, flow.in_force, None, "", stream=flow.made_of.stream)
        for flow in runtime.relations.flows
    )
    return flows + tuple(
        TableStatus(
            name=name,
            version=last.number,
            rows=last.rows,
            since=None if last.since == BEGINNING else last.since,
            read=last.read,
            error=unread.get(name, ""),
        )
        for name, last in found.items()
        if last is not None
    )


def _report(runtime: Runtime, sinks: Mapping[str, SinkStatus], pace: Mapping[str, Pace]) -> Status:
    taps = [(plan.stream.name, tap) for plan in runtime.plan.streams for tap in plan.taps]
    standing = {s.query.name: p.stream.name for p in runtime.plan.streams for s in p.standing}
    running = runtime.running
    queries = [_tap_status(runtime, running[tap.query.name], stream, tap, sinks) for stream, tap in taps]
    queries += [_standing_status(runtime, running[name], stream, sinks) for name, stream in standing.items()]
    queries += [
        _related_status(runtime, running[each.query.name], each, sinks) for each in runtime.plan.related
    ]
    queries += [_failed_status(runtime, name, reason) for name, reason in failures(runtime.catalog).items()]
    saving = runtime.plan.saving
    return Status(
        home=str(runtime.home.path),
        state="",  # whoever runs it knows
        steps=runtime.step_number + 1,
        streams=tuple(_stream_status(runtime, name, pace.get(name)) for name in runtime.states),
        queries=tuple(queries),
        step_seconds=runtime.step_seconds,
        latency_seconds=runtime.latency,
        cells=runtime.cells,
        state_bytes=runtime.state_bytes,
        partials_apart=saving.partials_apart,
        partials_shared=saving.partials_shared,
        row_updates_apart=saving.row_updates_apart,
        row_updates_shared=saving.row_updates_shared,
        updated=time.time(),
    )


def _stream_status(runtime: Runtime, name: str, pace: Pace | None) -> StreamStatus:
    latest = runtime.latest.get(name, BEGINNING)
    tally = runtime.tally
    return StreamStatus(
        name=name,
        batches=runtime.logs[name].next,
        rows=tally.get("rows", name),
        rows_per_second=pace.rows_per_second if pace else 0.0,
        max_time=None if latest == BEGINNING else latest,
        watermark=_watermark(runtime, name),
        late=tally.get("late_rows", name),
        no_time=tally.get("no_time", name),
        ahead=tally.get("ahead", name),
        corrupt=tally.get("corrupt", name),
        batch_seconds=pace.batch_seconds if pace else 0.0,
        state=pace.state if pace else "stopped",
    )


def _watermark(runtime: Runtime, stream: str) -> Instant | None:
    reach = runtime.states[stream].reach.watermark
    return None if reach == BEGINNING else reach


def _tap_status(
    runtime: Runtime, version: QueryVersion, stream: str, tap: Tap, sinks: Mapping[str, SinkStatus]
) -> QueryStatus:
    next_end = _next_end(runtime, stream, version, tap)
    return QueryStatus(
        window=show_window(tap.window),
        next_end=next_end,
        waits_for=_waits_for(runtime, stream, next_end),
        **_common(runtime, version, stream, tap.query.sink.format if tap.query.sink else "store", sinks),
    )


def _standing_status(
    runtime: Runtime, version: QueryVersion, stream: str, sinks: Mapping[str, SinkStatus]
) -> QueryStatus:
    query = next(query for query in runtime.program.queries if query.name == version.name)
    sink = query.sink.format if query.sink else "store"
    return QueryStatus(
        window="each row",
        next_end=None,
        waits_for=f"rows of {stream} that it wants",
        **_common(runtime, version, stream, sink, sinks),
    )


def _related_status(
    runtime: Runtime, version: QueryVersion, woven: Woven, sinks: Mapping[str, SinkStatus]
) -> QueryStatus:
    read = streams(woven.relation)
    sink = woven.query.sink.format if woven.query.sink else "store"
    behind = min(read, key=lambda name: _watermark(runtime, name) or BEGINNING)
    window, next_end, waits_for = _awaited(runtime, woven, behind)
    return QueryStatus(
        window=window,
        next_end=next_end,
        waits_for=waits_for,
        **_common(runtime, version, ", ".join(read), sink, sinks),
    )


def _awaited(runtime: Runtime, woven: Woven, behind: str) -> tuple[str, Instant | None, str]:
    """As of when a relation is answered, the next such end, and what it waits for.

    The stream that is furthest `behind` decides, unless rows are told as they come.
    """
    watermark = _watermark(runtime, behind)
    slides = [node for node in walk(woven.relation) if isinstance(node, AsOf)]
    if slides:
        next_end = None if watermark is None else _next_slide(slides[0], watermark)
        return _show_slide(slides[0]), next_end, _waits_for(runtime, behind, next_end)
    if _is_told_at_once(woven.relation):
        return "each instant", None, f"rows of {' or '.join(streams(woven.relation))} that it wants"
    waits_for = f"the first row of {behind}" if watermark is None else f"later rows of {behind}"
    return "each instant", None, waits_for


def _next_slide(slide: AsOf, watermark: Instant) -> Instant:
    return needed_from(0, slide.slide, slide.offset, watermark)


def _show_slide(slide: AsOf) -> str:
    if not slide.range:
        return f"all, every {show_duration(slide.slide)}"
    return show_window(WindowSpec(slide.range, slide.slide, slide.offset))


def _is_told_at_once(relation: Relation) -> bool:
    """Does it go out with the batch that brings it, however far the other streams are?"""
    match relation:
        case Emitted(emission=Emission.CHANGES):
            return True
        case Emitted(source=source, emission=Emission.LIVES | Emission.WSTREAM):
            return has_lives(source)
        case _:
            return False


def _failed_status(runtime: Runtime, name: str, reason: str) -> QueryStatus:
    version = runtime.catalog.versions(name)[-1]
    common = _common(runtime, version, "", "", {})
    return QueryStatus(
        window="", next_end=None, waits_for="", **(common | {"state": "failed", "error": reason})
    )


def _common(
    runtime: Runtime, version: QueryVersion, stream: str, sink: str, sinks: Mapping[str, SinkStatus]
) -> dict[str, Any]:
    tally, key, at = runtime.tally, version.key, sinks.get(version.key)
    return {
        "name": version.name,
        "version": version.version,
        "stream": stream,
        "state": "running",
        "windows": tally.get("windows", key),
        "answers": tally.get("answers", key),
        "late": tally.get("late", key),
        "dead": tally.get("dead", key),
        "sink": sink,
        "sink_state": at.state if at else "ok",
        "sink_error": at.error if at else "",
        "delivered": at.delivered if at else -1,
    }


def _next_end(runtime: Runtime, stream: str, version: QueryVersion, tap: Tap) -> Instant | None:
    """The end of the first window that is not answered yet; None before the first row."""
    window, reach = tap.window, runtime.states[stream].reach
    upto = reach.upto(window.range)
    if version.bound is not None:
        upto = max(upto, version.bound + window.range)
    if upto == BEGINNING:
        return None
    return needed_from(window.range, window.slide, window.offset, upto) + window.range


def _waits_for(runtime: Runtime, stream: str, next_end: Instant | None) -> str:
    """Why there is no newer answer yet."""
    watermark, delay = _watermark(runtime, stream), runtime.program.stream(stream).statement.delay
    if watermark is None or next_end is None:
        return f"the first row of {stream}"
    ahead, left = f" (DELAY {show_duration(delay)})" if delay else "", show_duration(next_end - watermark)
    return f"{stream} to reach {show_instant(next_end + delay)}{ahead}, {left} to go"
