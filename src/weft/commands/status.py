"""`weft status`."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict

import click
from rich.console import Console

from weft.commands.homes import find_home, home_of_answers_option
from weft.engine.status import QueryStatus, Status
from weft.errors import RunError, nearest_or_all
from weft.log.paths import AnyPath
from weft.terminal.report import as_text, read_status, report


@click.command("status")
@click.argument("queries", nargs=-1, metavar="[QUERY]...")
@home_of_answers_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(queries: tuple[str, ...], home: AnyPath | None, form: str) -> None:
    """Show where a program and its queries stand, the next window of each, and what it waits for.

    Reads what the running program reports about once a second; of one that has ended, its last report.

    \b
    --format json: one object
      home, state (running|idle|stopped; idle: no query reads a stream), updated (seconds since 1970), steps,
      cells, state_bytes, placement, step_seconds, latency_seconds, partials_apart, partials_shared,
      row_updates_apart, row_updates_shared
      streams: [name, state (running|idle|stopped|failed), error, batches, rows, rows_per_second, max_time,
                watermark, late, no_time, ahead, corrupt, batch_seconds]
      measured: what was counted and used during the last minute, CPU time in seconds; switches: [at, why,
                queries, settled], the last times that running queries were given another treatment
      queries: [name, version, stream, state (running|failed), error, window, next_end, waits_for, windows,
                answers, late, dead, sink, sink_state (ok|retrying|failed|done), sink_error, delivered]
    Event times are whole microseconds since 1970.
    """
    place = find_home(home)
    status = read_status(place)
    if status is None:
        raise RunError(
            "no-report", f"{place} has no report of a run", help="start the program with `weft run`"
        )
    chosen = _chosen(status, queries)
    if form == "json":
        click.echo(json.dumps(asdict(status) | {"queries": [asdict(query) for query in chosen]}))
        return
    shown = report(status, time.time(), chosen)
    if sys.stdout.isatty():
        Console().print(shown)
    else:
        click.echo(as_text(shown))


def _chosen(status: Status, names: tuple[str, ...]) -> tuple[QueryStatus, ...]:
    by_name = {query.name.lower(): query for query in status.queries}
    for name in names:
        if name.lower() not in by_name:
            known = [query.name for query in status.queries]
            raise RunError("unknown-query", f"there is no query `{name}`", help=nearest_or_all(name, known))
    return tuple(by_name[name.lower()] for name in names) or status.queries
