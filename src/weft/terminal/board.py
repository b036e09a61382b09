"""The live board: what a running program does, on one screen of a terminal.

80 x 24     three panels, what sharing saves, the answers of a dozen queries
120 wide    sharing in a panel of its own, more columns; a taller screen shows more queries
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.box import ROUNDED
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from weft.engine.status import QueryStatus, Status
from weft.terminal.figures import bar, clock, count, many, of_day, size, span, spark_line, times
from weft.terminal.pace import ILL, Rates, Totals, lag, troubles, watermark
from weft.times import Instant

WIDE = 120
_FRAME = "bright_black"
_PANEL_ROWS = 5


@dataclass(frozen=True, slots=True)
class Tick:
    """The newest answer of a query: one group of its last window."""

    query: str
    window_end: Instant | None = None
    group: str = ""
    values: tuple[tuple[str, str], ...] = ()  # (column, value)
    trend: int = 0  # of the first value against the answer before: -1, 0, 1


@dataclass(frozen=True, slots=True)
class View:
    """All that the board shows at one moment."""

    title: str
    status: Status
    rates: Rates
    elapsed: float
    left: float | None = None  # seconds after which it ends by itself
    ticks: tuple[Tick, ...] = ()


def board(view: View, width: int, height: int) -> RenderableType:
    """The view, fitted into the given size."""
    wide = width >= WIDE
    parts: list[RenderableType] = [_header(view), _panels(view, wide)]
    used = 1 + _PANEL_ROWS + 2
    if not wide:
        parts.append(_sharing_lines(view.status, width))
        used += 2
    parts.append(_queries(view, wide, rows=max(1, height - used - 2)))
    room = height - used - 2 - min(len(_chosen(view)), height - used - 2)
    parts += [Text()] * room
    parts.append(_footer(view))
    return Group(*parts)


def starting(title: str) -> RenderableType:
    """What is shown while Spark starts."""
    return Group(
        Text.assemble((" weft ", "bold reverse"), " ", (title, "bold")),
        Text(),
        Text("  starting Spark: about ten seconds the first time", style="dim"),
    )


def _header(view: View) -> Text:
    status = view.status
    colour = {"running": "green", "idle": "yellow", "stopped": "yellow"}.get(status.state, "red")
    text = Text.assemble(
        (" weft ", "bold reverse"), " ", (view.title, "bold"), f"  {len(status.queries)} queries  "
    )
    waiting = status.state == "running" and not Totals.of(status).rows
    text.append("● ", style=colour).append("warming up" if waiting else status.state)
    text.append(f"  {clock(view.elapsed)}", style="bold")
    if view.left is not None:
        text.append(f"  {clock(max(0.0, view.left))} left", style="dim")
    return _one_line(text)


def _footer(view: View) -> Text:
    trouble = troubles(view.status)
    if trouble:
        more = f"  (and {len(trouble) - 1} more: weft status)" if len(trouble) > 1 else ""
        return _one_line(Text(f" {trouble[0]}{more}", style="bold red"))
    return _one_line(Text(f" Ctrl-C stops.  Answers: {view.status.home}/results", style="dim"))


def _panels(view: View, wide: bool) -> Table:
    panels = [_stream_panel(view, wide), _answers_panel(view), _state_panel(view.status)]
    if wide:
        panels.append(_sharing_panel(view.status))
    grid = Table.grid(expand=True)
    for at in range(len(panels)):
        grid.add_column(ratio=8 if at == 3 else 5)
    grid.add_row(*panels)
    return grid


def _stream_panel(view: View, wide: bool) -> Panel:
    status, streams = view.status, view.status.streams
    behind = lag(status)
    rate = sum(stream.rows_per_second for stream in streams) or view.rates.rows
    name = streams[0].name if len(streams) == 1 else f"{len(streams)} streams"
    facts = [
        ("rows/s", count(rate), "bold green"),
        ("rows", count(sum(stream.rows for stream in streams)), ""),
        ("watermark", of_day(watermark(status)), "cyan"),
        ("lag", "-" if behind is None else span(behind[0]), ""),
    ]
    if wide:
        return _panel(name, facts, Text(spark_line(view.rates.history, 25), style="green", no_wrap=True))
    return _panel(name, [*facts, ("batches", count(sum(stream.batches for stream in streams)), "")])


def _answers_panel(view: View) -> Panel:
    totals = Totals.of(view.status)
    return _panel(
        "answers",
        [
            ("answers/s", count(view.rates.answers), "bold green"),
            ("answers", count(totals.answers), ""),
            ("windows", count(totals.windows), ""),
            ("latency", span(view.status.latency_seconds) if view.status.latency_seconds else "-", "cyan"),
            ("step", span(view.status.step_seconds) if view.status.step_seconds else "-", ""),
        ],
    )


def _state_panel(status: Status) -> Panel:
    totals = Totals.of(status)
    ill = sum(query.sink_state in ILL for query in status.queries)
    return _panel(
        "state",
        [
            ("live cells", count(status.cells), ""),
            ("memory", size(status.state_bytes), ""),
            ("late rows", count(totals.late), "yellow" if totals.late else ""),
            ("dead letters", count(totals.dead + totals.bad), "yellow" if totals.dead + totals.bad else ""),
            ("sinks", f"{ill} ill" if ill else f"{len(status.queries)} ok", "bold red" if ill else "green"),
        ],
    )


def _savings(status: Status) -> tuple[tuple[str, float, float], ...]:
    return (
        ("partial aggregates", float(status.partials_shared), float(status.partials_apart)),
        ("updates per row", status.row_updates_shared, status.row_updates_apart),
    )


def _sharing_panel(status: Status) -> Panel:
    body = Table.grid(expand=True, padding=(0, 1))
    body.add_column(no_wrap=True)
    body.add_column(justify="right", no_wrap=True)
    for name, shared, apart in _savings(status):
        body.add_row(
            Text(name), Text.assemble((f"{count(shared)}", "bold green"), f" instead of {count(apart)}")
        )
        body.add_row(_bar(shared, apart, 22), Text(_saved(shared, apart), style="bold"))
    return _framed(
        "sharing saves", body, Text("against each query by itself with window()", style="dim", no_wrap=True)
    )


def _sharing_lines(status: Status, width: int) -> RenderableType:
    lines = Table.grid(padding=(0, 1))
    lines.add_column(no_wrap=True)
    for _ in range(3):
        lines.add_column(no_wrap=True)
    for name, shared, apart in _savings(status):
        lines.add_row(
            Text(f" {name}"),
            _bar(shared, apart, max(8, width - 62)),
            Text.assemble((count(shared), "bold green"), f" shared, {count(apart)} apart"),
            Text(_saved(shared, apart), style="bold"),
        )
    return lines


def _bar(part: float, whole: float, width: int) -> Text:
    drawn = bar(part, whole, width)
    filled = drawn.count("█")
    return Text.assemble((drawn[:filled], "green"), (drawn[filled:], "bright_black"))


def _saved(shared: float, apart: float) -> str:
    return f"{times(apart / shared)} less" if shared > 0 and apart > shared else ""


def _panel(title: str, facts: list[tuple[str, str, str]], *below: RenderableType) -> Panel:
    body = Table.grid(expand=True)
    body.add_column(no_wrap=True)
    body.add_column(justify="right", no_wrap=True)
    for name, value, style in facts:
        body.add_row(Text(name, style="dim"), Text(value, style=style))
    return _framed(title, body, *below)


def _framed(title: str, *body: RenderableType) -> Panel:
    return Panel(
        Group(*body),
        title=title,
        title_align="left",
        box=ROUNDED,
        border_style=_FRAME,
        height=_PANEL_ROWS + 2,
    )


def _chosen(view: View) -> list[tuple[QueryStatus, Tick]]:
    """The queries on the board: those that have ticks in that order, else the first of the program."""
    by_name = {query.name: query for query in view.status.queries}
    ticks = view.ticks or tuple(Tick(name) for name in by_name)
    return [(by_name[tick.query], tick) for tick in ticks if tick.query in by_name]


def _queries(view: View, wide: bool, rows: int) -> Table:
    table = Table(box=None, expand=True, padding=(0, 1), header_style="dim", pad_edge=True)
    table.add_column("query", no_wrap=True, style="bold", overflow="ellipsis", max_width=30)
    table.add_column("window", no_wrap=True, overflow="ellipsis")
    if wide:
        table.add_column("answers", justify="right", no_wrap=True)
    table.add_column("at", no_wrap=True)
    table.add_column("latest answer", no_wrap=True, overflow="ellipsis", ratio=1)
    if wide:
        table.add_column("next", no_wrap=True)
    for query, tick in _chosen(view)[:rows]:
        answer = _answer(query, tick)
        cells: list[RenderableType] = [query.name, Text(query.window, style="dim")]
        if wide:
            cells.append(count(query.answers))
        cells += [Text(of_day(tick.window_end), style="cyan"), answer]
        if wide:
            cells.append(Text(of_day(query.next_end), style="dim"))
        table.add_row(*cells)
    return table


def _answer(query: QueryStatus, tick: Tick) -> Text:
    if query.state == "failed":
        return Text(f"failed: {query.error}", style="red")
    if not tick.values and query.answers and query.sink != "store":
        return Text(f"{many(query.answers, 'answer')} into {query.sink}")
    if not tick.values:
        return Text(f"waits for {query.waits_for}", style="dim")
    text = Text(f"{tick.group}  " if tick.group else "")
    for at, (name, value) in enumerate(tick.values):
        text.append(f"{name} ", style="dim")
        if at == 0:
            text.append(value, style={1: "bold green", -1: "bold red"}.get(tick.trend, "bold"))
            text.append(
                {1: " ▲  ", -1: " ▼  "}.get(tick.trend, "    "), style="green" if tick.trend > 0 else "red"
            )
        else:
            text.append(f"{value}  ")
    text.rstrip()
    return text


def _one_line(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "ellipsis"
    return text
