"""Where a program and its queries stand, as text: for `weft status` and SHOW QUERIES."""

from __future__ import annotations

import io
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from weft.engine.status import STATUS_FILE, QueryStatus, Status, StreamStatus
from weft.log.paths import AnyPath
from weft.share.model.analyze import show_switch
from weft.share.model.measured import Measured
from weft.terminal.figures import count, size, span
from weft.times import show_instant

SILENT_AFTER = 10.0  # seconds without a report after which a running program is in doubt

_COLOURS = {
    "running": "green",
    "ok": "green",
    "done": "green",
    "idle": "yellow",
    "retrying": "yellow",
    "stopped": "yellow",
}


def read_status(home: AnyPath) -> Status | None:
    """What the program last reported, in this process or another; None if it never has."""
    try:
        return Status.from_json((home / STATUS_FILE).read_text())
    except FileNotFoundError:
        return None


def state(status: Status, now: float) -> str:
    """Its state in words; a program that has not said it ended but is no longer heard has probably died."""
    ago = max(0.0, now - status.updated)
    if status.state != "stopped" and ago > SILENT_AFTER:
        return f"not heard of for {span(ago)}: it has died, or is stuck; start it again and it goes on"
    return f"{status.state}, {span(ago)} ago"


def report(status: Status, now: float, queries: tuple[QueryStatus, ...]) -> RenderableType:
    """The program in a line, its streams and the given queries as tables, then what is wrong in full."""
    head = Text.assemble((status.home, "bold"), "  ", _coloured(status.state, state(status, now)))
    latency, state_size = span(status.latency_seconds), size(status.state_bytes)
    return Group(
        head,
        Text(
            f"{count(status.steps)} steps, latency {latency}, {count(status.cells)} live cells, {state_size}"
        ),
        *([Text(f"placement {status.placement}")] if status.placement else []),
        *(Text(f"switched  {told}") for told in _switches(status)),
        Text(),
        _stream_table(status.streams),
        Text(),
        _query_table(queries),
        *_wrongs(status, queries),
    )


def _switches(status: Status) -> Iterator[str]:
    """The last time that queries were switched to another treatment."""
    if status.measured:
        yield from map(show_switch, Measured.from_json(status.measured).switches[-1:])


def show_queries(status: Status) -> str:
    """SHOW QUERIES of a running program."""
    return as_text(_query_table(status.queries))


def as_text(renderable: RenderableType, width: int = 250) -> str:
    """Without colour and, unless a line is wider than `width`, without a line broken."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as captured:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        last = column == columns[-1]
        table.add_column(column, justify="right" if column in right else "left", no_wrap=not last)
    return table


def _stream_table(streams: tuple[StreamStatus, ...]) -> Table:
    counts = ("batches", "rows", "rows/s", "late", "no time", "ahead", "corrupt")
    table = _table("stream", "state", *counts, "watermark", right=counts)
    for stream in streams:
        numbers = (
            stream.batches, stream.rows, stream.rows_per_second,
            stream.late, stream.no_time, stream.ahead, stream.corrupt,
        )  # fmt: skip
        reached = "none yet" if stream.watermark is None else show_instant(stream.watermark)
        table.add_row(Text(stream.name, style="bold"), _coloured(stream.state), *map(count, numbers), reached)
    return table


def _query_table(queries: tuple[QueryStatus, ...]) -> Table:
    counts = ("windows", "answers", "late", "dead")
    table = _table("query", "window", "state", *counts, "sink", "next end", "waits for", right=counts)
    for query in queries:
        table.add_row(
            Text(query.name if query.version == 1 else f"{query.name} v{query.version}", style="bold"),
            query.window,
            _coloured(query.state),
            *map(count, (query.windows, query.answers, query.late, query.dead)),
            _coloured(query.sink_state, f"{query.sink} {query.sink_state}"),
            "-" if query.next_end is None else show_instant(query.next_end),
            query.waits_for,
        )
    return table


def _wrongs(status: Status, queries: tuple[QueryStatus, ...]) -> list[RenderableType]:
    wrong = [f"stream `{stream.name}`: {stream.error}" for stream in status.streams if stream.error]
    wrong += [f"table `{table.name}`: {table.error}" for table in status.tables if table.error]
    wrong += [f"query `{query.name}`: {query.error}" for query in queries if query.error]
    wrong += [f"sink of `{query.name}`: {query.sink_error}" for query in queries if query.sink_error]
    return [Text(), *(Text(line, style="red") for line in wrong)] if wrong else []


def _coloured(state: str, text: str | None = None) -> Text:
    return Text(text or state, style=_COLOURS.get(state, "red"))
